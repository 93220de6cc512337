"""Programs that do what their words say and nothing else: they start no other program and take no code or settings from the
files that lie around them. Of every other program nobody knows that, so it counts as running what it finds."""

PLAIN: frozenset[str] = frozenset(
    {"ls", "dir", "tree", "stat", "file", "du", "df", "pwd", "basename", "dirname", "realpath", "readlink"}
    | {"cat", "head", "tail", "tac", "rev", "nl", "wc", "cut", "tr", "fold", "fmt", "column", "paste", "join", "expand"}
    | {"unexpand", "sort", "uniq", "comm", "cmp", "diff", "grep", "egrep", "fgrep", "rg", "jq", "od", "xxd", "hexdump", "strings"}
    | {"md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum", "cksum", "sum", "base64", "base32", "seq", "shuf", "numfmt"}
    | {"echo", "date", "cal", "sleep", "true", "false", "uname", "hostname", "whoami", "id", "groups", "nproc", "uptime", "free"}
    | {"ps", "which", "whereis", "mkdir", "rmdir", "touch", "cp", "mv"}
)
