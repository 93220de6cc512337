"""Commands whose purpose is to show secrets, and commands that name a protected file. A convenience, not a fence: whoever writes
the command can hide what it does. What a command cannot reach is decided by the sandbox; what it prints is redacted."""

import re
from collections.abc import Iterator, Sequence

from ostiary.contracts.records import dataclass
from ostiary.core.policy.protected import protected_glob, protected_path
from ostiary.core.policy.shell_reading import SHELLS, WRAPPERS, program_name

_LONGEST = 100_000
_DEEPEST = 6
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|credential")
_SECRET_VARIABLE = re.compile(r"\$\{?[A-Za-z0-9_]*(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL)[A-Za-z0-9_]*")
_WHOLE_ENVIRONMENT = re.compile(
    r"(?:print|dict|str|repr|dumps|items|list|pprint)\(?\s*\(?\s*(?:dict\()?os\.environ\b(?!\s*[\[.](?!items|copy))"
    r"|JSON\.stringify\(\s*process\.env\s*[,)]|console\.\w+\(\s*process\.env\s*\)|\bENV\.(?:to_h|each|inspect|to_a)\b|\bputs\s+ENV\b"
    r"|%ENV\b|getenv\(\s*\)"
)
_RESERVED = frozenset(["if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "in", "time", "coproc"])
_NAMES_ONLY = frozenset(
    [
        "ls",
        "stat",
        "test",
        "[",
        "[[",
        "du",
        "basename",
        "dirname",
        "mkdir",
        "realpath",
        "readlink",
        "which",
        "type",
        "file",
        "touch-d",
    ]
)
_SAYERS = frozenset({"echo", "printf"})
_PATTERN_FIRST = frozenset(
    ["grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "mawk", "perl", "jq", "yq", "find-name"]
)
_PACKAGES = frozenset(
    [
        "pip",
        "pip3",
        "npm",
        "pnpm",
        "yarn",
        "apt",
        "apt-get",
        "brew",
        "cargo",
        "go",
        "uv",
        "poetry",
        "pipx",
        "gem",
        "docker",
        "podman",
    ]
)
_READERS = frozenset(
    [
        "cat",
        "tac",
        "head",
        "tail",
        "less",
        "more",
        "nl",
        "rev",
        "base64",
        "base32",
        "xxd",
        "od",
        "hexdump",
        "strings",
        "sort",
        "cut",
        "paste",
        "tee",
        "cp",
        "mv",
        "scp",
        "rsync",
        "tar",
        "zip",
        "gzip",
        "curl",
        "wget",
        "nc",
        "diff",
        "cmp",
        "openssl",
        "vim",
        "vi",
        "nano",
        "dd",
        "split",
        "source",
        ".",
        "awk",
        "sed",
        "grep",
        "bat",
        "xargs",
        "sha256sum",
        "md5sum",
        "age",
        "gpg",
        "iconv",
        "tr",
    ]
)
_MESSAGE_OPTIONS = frozenset({"-m", "--message", "-e", "--regexp", "--title", "--body", "-name", "-iname", "--grep", "-S", "-G"})

_PRINTS = "it prints secrets"
_ASKS_FOR: tuple[tuple[str, str, str], ...] = (
    ("git", r"credential(?:-\w+)?\b(?! (?:reject|approve))|credential-\w+ get", "it asks git for stored passwords"),
    ("gpg", r".*--export-secret|.*--export-ssh-key", "it exports private keys"),
    ("gpg2", r".*--export-secret", "it exports private keys"),
    ("security", r"(?:find-(?:generic|internet)-password|dump-keychain|export)\b", "it reads the key chain"),
    ("secret-tool", r"(?:lookup|search)\b", "it reads the key ring"),
    ("keyring", r"get\b", "it reads the key ring"),
    ("kwallet-query", r".*", "it reads the wallet"),
    ("pass", r"(?!(?:ls|list|find|git|help|version|init|insert|generate|rm)\b).+", "it shows stored passwords"),
    ("gopass", r"(?!(?:ls|list|find|git|help|version)\b).+", "it shows stored passwords"),
    ("op", r"(?:read|run|inject|item get|document get|signin)\b", "it shows stored passwords"),
    ("bw", r"(?:get|list|export|unlock)\b", "it shows stored passwords"),
    ("lpass", r"(?:show|export)\b", "it shows stored passwords"),
    (
        "aws",
        r".*\b(?:configure (?:get|export-credentials|list)|get-secret-value|get-session-token|assume-role|get-login-password)"
        r"|.*--with-decryption",
        _PRINTS,
    ),
    ("gcloud", r".*(?:print-(?:access|identity)-token|secrets versions access|config-helper)", _PRINTS),
    ("az", r".*(?:get-access-token|keyvault secret show|keys list)", _PRINTS),
    ("gh", r"auth (?:token|status.*(?:-t\b|--show-token))|secret\b.*\bview", _PRINTS),
    ("glab", r"auth status.*(?:-t\b|--show-token)", _PRINTS),
    ("heroku", r"(?:auth:token|config)\b", _PRINTS),
    ("vault", r"(?:read|kv get|print token|unwrap|token create)\b", _PRINTS),
    ("kubectl", r".*(?:get (?:-\S+ \S+ )*secrets?\b.*-o|config view.*--raw|describe secret|create token)", _PRINTS),
    ("oc", r"(?:whoami (?:-t|--show-token)|get secrets?\b.*-o)", _PRINTS),
    ("npm", r"(?:token\b|config (?:get|ls|list).*(?:_auth|-l\b)|config get .*token)", _PRINTS),
    ("sops", r".*(?:-d\b|--decrypt|exec-env|decrypt)", "it decrypts secrets"),
    ("ansible-vault", r"(?:view|decrypt|edit)\b", "it decrypts secrets"),
    ("age", r".*(?:-d\b|--decrypt)", "it decrypts secrets"),
    ("chezmoi", r"secret\b", _PRINTS),
    ("getent", r"(?:shadow|gshadow)\b", "it reads password hashes"),
    ("unshadow", r".*", "it reads password hashes"),
    ("systemctl", r"(?:--user )?show-environment", "it prints the environment"),
    ("launchctl", r"(?:getenv|export)\b", "it prints the environment"),
    ("ps", r"(?:-?[a-z]*e[wf]*w\b|e\b|-E|aux?e|axe|-[a-z]* e\b)", "it prints other programs' environment"),
    ("history", r".*", "it prints the history of commands"),
    ("fc", r".*-l", "it prints the history of commands"),
    (
        "ostiary",
        r"(?:config|models|gateway|porter|devices|backup|vault|doctor|up|service)\b",
        "it is the gateway's own command line",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Simple:
    """One command: its words without quotes, and the files it is connected to."""

    words: tuple[str, ...]
    targets: tuple[str, ...]


def secret_command(command: str, *, state: Sequence[str] = ()) -> str:
    """Why this command line would show secrets, else empty. What is too long or too deep to be read is refused."""
    return _judged(command, tuple(state), 0)


def _judged(command: str, state: tuple[str, ...], depth: int) -> str:
    if len(command) > _LONGEST or depth > _DEEPEST:
        return "the command is too long or too deep to be judged"
    if _WHOLE_ENVIRONMENT.search(command):
        return "it prints the environment"
    simple, inner = _read(command)
    for each in inner:
        if reason := _judged(each, state, depth + 1):
            return reason
    goes_on = any(word in ("xargs", "parallel", "-exec", "-execdir", "-ok") for one in simple for word in one.words)
    for one in simple:
        for target in one.targets:
            if reason := _path(target, state, by_mention=True):
                return reason
        if reason := _simple(one.words, state, depth, goes_on):
            return reason
    return ""


def _simple(words: tuple[str, ...], state: tuple[str, ...], depth: int, goes_on: bool) -> str:
    while words and (words[0] in _RESERVED or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if not words:
        return ""
    name = program_name(words[0])
    if reason := _asking(name, words[1:]) or _naming(name, words[1:], state, goes_on):
        return reason
    if name in SHELLS or name == "eval":
        code = _code_of(name, words[1:])
        return _judged(code, state, depth + 1) if code else ""
    if name in WRAPPERS or name in ("find", "fd", "ssh", "tmux", "screen", "docker", "podman", "make"):
        # Which of the words is the wrapped command depends on the wrapper's options: each of them is tried.
        for place in range(1, len(words)):
            inner = words[place:]
            known = program_name(inner[0])
            if known in SHELLS or known == "eval":
                return _simple(inner, state, depth + 1, goes_on) if depth < _DEEPEST else "the command is too deep to be judged"
            if reason := _asking(known, inner[1:]):
                return reason
    return ""


def _code_of(name: str, words: tuple[str, ...]) -> str:
    if name == "eval":
        return " ".join(words)
    for place, word in enumerate(words[:-1]):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return words[place + 1]
    return ""


def _asking(name: str, rest: tuple[str, ...]) -> str:
    if name == "env" and all(word.startswith("-") or _ASSIGNMENT.match(word) for word in rest):
        return "it prints the environment"
    if name == "printenv" and (not rest or all(word.startswith("-") for word in rest) or _SECRET_NAME.search(" ".join(rest))):
        return "it prints the environment"
    if name in ("export", "declare", "typeset", "set", "compgen") and (
        not rest or rest in (("-p",), ("-x",), ("-px",), ("-xp",), ("-e",), ("-v",))
    ):
        return "" if name == "set" and rest else "it prints the environment"
    if name in _SAYERS and _SECRET_VARIABLE.search(" ".join(rest)):
        return "it prints a variable that is called a secret"
    said = " ".join(rest)
    for program, pattern, reason in _ASKS_FOR:
        if program == name and re.match(pattern, said):
            return reason
    return ""


def _naming(name: str, rest: tuple[str, ...], state: tuple[str, ...], goes_on: bool) -> str:
    """A protected file among the arguments."""
    if name in _SAYERS or name in _NAMES_ONLY:
        return ""
    if name in ("find", "fd", "locate") and not goes_on:
        return ""
    if (name == "git" and rest[:2] in (("rm", "--cached"),)) or (name == "git" and rest[:1] == ("check-ignore",)):
        return ""
    by_mention = name not in _PACKAGES
    has_pattern = name in _PATTERN_FIRST and "-e" not in rest and "-f" not in rest
    skips = False
    for word in rest:
        if skips or word in _MESSAGE_OPTIONS:
            skips = word in _MESSAGE_OPTIONS and not skips and name not in ("find", "fd")
            continue
        if has_pattern and not word.startswith("-"):
            has_pattern = False
            continue
        if reason := _word(word, name, state, by_mention=by_mention):
            return reason
    return ""


def _word(word: str, name: str, state: tuple[str, ...], *, by_mention: bool) -> str:
    if word.startswith("-"):
        option, equals, value = word.partition("=")
        # A short option may have its value attached: -K.netrc
        word = value if equals else option[2:] if not option.startswith("--") else ""
    if not word or any(letter in " \n\t" for letter in word):
        return ""
    candidates = {word, word.lstrip("@<"), word.rpartition("=")[2].lstrip("@<"), word.rpartition(":")[2]}
    for each in candidates:
        if each.startswith("file://"):
            each = each.removeprefix("file://")
        if not each or ("://" in word and not word.startswith("file://")):
            continue
        is_path = "/" in each or "." in each or each.startswith("~")
        if reason := _path(each, state, by_mention=by_mention and (is_path or name in _READERS)):
            return reason
    return ""


def _path(path: str, state: tuple[str, ...], *, by_mention: bool) -> str:
    return protected_path(path, state=state, by_mention=by_mention) or protected_glob(path)


def _read(text: str) -> tuple[list[_Simple], list[str]]:
    """The simple commands, and the texts in `$(…)`, backquotes and brackets that are commands too."""
    return _Lexer(text).run()


class _Lexer:
    """Reads loosely: what is not closed is taken as closed at the end, and every bracket as a border between commands."""

    def __init__(self, text: str) -> None:
        self._letters: Iterator[str] = iter(text)
        self._found: list[_Simple] = []
        self._inner: list[str] = []
        self._words: list[str] = []
        self._targets: list[str] = []
        self._word: str | None = None
        self._is_target = False

    def run(self) -> tuple[list[_Simple], list[str]]:
        for letter in self._letters:
            if letter in " \t":
                self._end_word()
            elif letter in ";&|\n()`":
                self._end_command()
            elif letter in "<>":
                if self._word is not None and self._word.isdigit():
                    self._word = None
                self._end_word()
                self._is_target = True
            else:
                self._add(letter)
        self._end_command()
        return self._found, self._inner

    def _add(self, letter: str) -> None:
        if letter == "\\":
            following = next(self._letters, "")
            self._word = (self._word or "") + ("" if following == "\n" else following)
        elif letter == "'":
            self._word = (self._word or "") + "".join(self._until("'"))
        elif letter == '"':
            inside = "".join(self._until('"'))
            self._word = (self._word or "") + inside
            # What a double quote holds may run commands of its own.
            if "$(" in inside or "`" in inside:
                self._inner.append(re.sub(r"\$\(|`|\)", "\n", inside))
        else:
            self._word = (self._word or "") + letter

    def _until(self, sign: str) -> Iterator[str]:
        for letter in self._letters:
            if letter == sign:
                return
            if letter == "\\" and sign == '"':
                letter = next(self._letters, "")
            yield letter

    def _end_word(self) -> None:
        if self._word is not None:
            (self._targets if self._is_target else self._words).append(self._word)
            self._is_target = False
        self._word = None

    def _end_command(self) -> None:
        self._end_word()
        self._is_target = False
        if self._words or self._targets:
            # `$(` leaves the dollar sign at the end of the word before.
            self._found.append(_Simple(words=tuple(self._words), targets=tuple(self._targets)))
        self._words, self._targets = [], []
