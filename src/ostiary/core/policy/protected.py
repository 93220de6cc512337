"""Paths that are not touched because of what they are called: keys, logins, environment files, our own state.

The rule that keeps it usable: a name that only mentions a secret (tokenizer.py, password-reset.html, token.go) is fine when its
ending says that it is code or a page; the content is still redacted. Names of key files and their folders have no exception.
"""

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

_FOLDERS = {
    ".ssh": "it is where SSH keys are",
    ".aws": "it is where AWS keys are",
    ".azure": "it is where Azure logins are",
    ".gnupg": "it is where GnuPG keys are",
    ".kube": "it is where cluster logins are",
    ".gcloud": "it is where Google Cloud logins are",
    "gcloud": "it is where Google Cloud logins are",
    ".password-store": "it is a password store",
    ".docker": "it is where registry logins are",
    "keyrings": "it is a key ring",
    "keychains": "it is a key chain",
    ".ostiary": "it is the gateway's own state",
    ".openclaw": "it is a gateway's own state",
    ".safeclaw": "it is a gateway's own state",
}
# Folders that hold keys, but also code about keys.
_MIXED_FOLDERS = frozenset({"keys", "secrets", "credentials", ".secrets", "private-keys", "tokens", "passwords"})
_NAMES = {
    **dict.fromkeys((".npmrc", ".pypirc", ".netrc", "_netrc", ".pgpass", "pgpass.conf", ".my.cnf", ".boto", ".s3cfg"), "a login"),
    **dict.fromkeys((".git-credentials", ".dockercfg", ".htpasswd", ".vault-token", "rclone.conf", ".fetchmailrc"), "a login"),
    **dict.fromkeys(
        (".msmtprc", ".mbsyncrc", ".smbcredentials", "credentials.toml", "hosts.yml.bak", ".cargo-credentials"), "a login"
    ),
    **dict.fromkeys(("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "identity"), "a private key"),
    **dict.fromkeys(("shadow", "gshadow", "master.passwd", "shadow-", "gshadow-", "sam", "ntds.dit"), "a password file"),
    **dict.fromkeys(("kubeconfig", "admin.conf", "service-account.json", "service_account.json"), "a login"),
    **dict.fromkeys(("application_default_credentials.json", "client_secret.json", "terraform.tfstate"), "a login"),
    **dict.fromkeys(
        (".bash_history", ".zsh_history", ".sh_history", ".python_history", ".psql_history"), "a history of commands"
    ),
    **dict.fromkeys((".mysql_history", ".node_repl_history", ".irb_history", "consolehost_history.txt"), "a history of commands"),
    **dict.fromkeys(("login data", "cookies.sqlite", "key4.db", "logins.json", "login.keychain-db"), "a browser's logins"),
    **dict.fromkeys(("credentials.db", "credentials.key", "gateway.db", "store.key", "store.db"), "the gateway's own state"),
    **dict.fromkeys(("audit.heads", "ostiary.json5", "ostiary.json5.last-good", "profiles.state"), "the gateway's own state"),
}
_KEY_ENDINGS = frozenset(
    [
        "pem",
        "key",
        "p12",
        "pfx",
        "pkcs12",
        "jks",
        "keystore",
        "kdbx",
        "kdb",
        "ppk",
        "p8",
        "asc",
        "gpg",
        "agekey",
        "ovpn",
        "kubeconfig",
        "tfvars",
        "tfstate",
        "keychain",
        "htpasswd",
    ]
)
_OFTEN_PUBLIC = frozenset({"pem", "key", "asc", "gpg"})
# What is published: certificates and public halves.
_PUBLIC = re.compile(r"(?:^|[^a-z])(?:pub|public|cert|certs|certificate|ca|cacert|chain|fullchain|bundle|csr|crt)(?:[^a-z]|$)")
_EXAMPLES = frozenset(["example", "sample", "template", "dist", "defaults", "default", "schema", "tpl"])
_MENTIONS = re.compile(
    r"secret(?!ar|ion)|passw(?:or)?d|passphrase|credential|token(?!i[sz])|api[_-]?keys?(?![a-z])|(?<![a-z])creds(?![a-z])"
)
_HARMLESS = re.compile(
    r"(?:special|added|design|max|min|count|usage|style|theme|css|colou?r|vocab|stop|num|tokens?[_-]?(?:count|usage|limit))"
)
_CODE = frozenset(
    [
        "py",
        "pyi",
        "pyx",
        "ts",
        "tsx",
        "js",
        "jsx",
        "mjs",
        "cjs",
        "go",
        "rs",
        "java",
        "kt",
        "kts",
        "scala",
        "groovy",
        "gradle",
        "c",
        "h",
        "cc",
        "cpp",
        "cxx",
        "hpp",
        "hh",
        "cs",
        "fs",
        "vb",
        "rb",
        "erb",
        "php",
        "swift",
        "m",
        "mm",
        "pl",
        "pm",
        "lua",
        "r",
        "jl",
        "dart",
        "ex",
        "exs",
        "erl",
        "hrl",
        "hs",
        "lhs",
        "ml",
        "mli",
        "clj",
        "cljs",
        "elm",
        "nim",
        "zig",
        "v",
        "sv",
        "vhd",
        "sol",
        "move",
        "sh",
        "bash",
        "zsh",
        "fish",
        "ps1",
        "bat",
        "cmd",
        "sql",
        "css",
        "scss",
        "sass",
        "less",
        "vue",
        "svelte",
        "astro",
        "proto",
        "thrift",
        "graphql",
        "gql",
        "tf",
        "hcl",
        "cmake",
        "mk",
        "bzl",
        "nix",
        "snap",
        "map",
        "wasm",
        "svg",
        "png",
        "jpg",
        "jpeg",
        "gif",
        "webp",
        "ico",
        "woff",
        "woff2",
    ]
)
_PAGES = frozenset(["md", "mdx", "markdown", "rst", "adoc", "html", "htm", "xhtml", "tex", "pdf", "org"])
_ONLY_THE_WORD = re.compile(r"(?:my|the|all|our)?[_. -]?(?:secrets?|passwords?|credentials?|tokens?|creds|api[_-]?keys?)")
_ENVIRONMENT = re.compile(r"(?:.*\.)?env(?:rc|\..*|-.*|_.*)?", re.DOTALL)
_PROCESS = re.compile(r"/proc/[^/]+/(?:environ|mem|maps|cmdline|auxv|fd(?:/.*)?|root(?:/.*)?)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GLOB = frozenset("*?[")
_BRACKETS = re.compile(r"\[[^\]]*\]")
_LONGEST = 4096
_SPELLED_OUT = (
    ".env",
    ".env.local",
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".npmrc",
    ".git-credentials",
)


def protected_path(path: str, *, state: Sequence[str] = (), is_folder: bool = False, by_mention: bool = True) -> str:
    """Why nobody but the owner touches this path, else empty. Case does not count, nor how the path is spelled.

    `state` are further folders of ours. `is_folder`: it is looked into, so a word in its own name says nothing of a secret.
    `by_mention` False leaves out names that only mention secrets."""
    if len(path) > _LONGEST:
        return "its name is too long to be judged"
    steps = _steps(path)
    if not steps:
        return ""
    plain = "/".join(steps)
    if path.lstrip().startswith("/") and _PROCESS.fullmatch("/" + plain):
        return f"{path} is the inside of a process"
    if any(plain == own or plain.startswith(own + "/") for own in map(_folder, state) if own):
        return f"{path} is the gateway's own state"
    # In a folder the name's own camel case is still wanted, so the words are taken from the path as it was given.
    return _judged(path.replace("\\", "/").rstrip("/ ").rpartition("/")[2], tuple(steps), is_folder, by_mention)


def protected_glob(pattern: str) -> str:
    """The same of a name with wild cards, for those that can only mean a few files: `.en*` means .env."""
    literal = _BRACKETS.sub("", pattern).replace("*", "").replace("?", "")
    if not _GLOB & set(pattern) or len(literal) < 2:
        return ""
    matcher = re.compile(translate(pattern.removeprefix("~/").removeprefix("./").casefold()))
    found = next((each for each in _SPELLED_OUT if matcher.fullmatch(each) or matcher.fullmatch(each.rpartition("/")[2])), "")
    return f"{pattern} may mean {found}" if found else ""


@lru_cache(maxsize=4096)
def _judged(shown: str, steps: tuple[str, ...], is_folder: bool, by_mention: bool) -> str:
    *folders, name = steps
    for folder in (*folders, name):
        if folder in _FOLDERS:
            return f"{folder} is protected: {_FOLDERS[folder]}"
    if name in _NAMES and not (name == "identity" and ".ssh" not in folders):
        return f"{name} is {_NAMES[name]}"
    stem, _, ending = name.rpartition(".")
    if _is_environment(name):
        return f"{name} holds an environment, and so keys"
    if (
        ending in _KEY_ENDINGS
        and stem
        and not (ending in _OFTEN_PUBLIC and _PUBLIC.search(stem))
        and not (ending in ("asc", "gpg") and "key" not in stem)
    ):
        return f"{name} is a key, a login or a store of them"
    if name.startswith(("id_rsa", "id_ed25519", "id_ecdsa", "id_dsa")) and ending != "pub":
        return f"{name} is a private key"
    if is_folder or not by_mention or (stem and ending in _CODE) or _is_example(name):
        return ""
    if any(folder in _MIXED_FOLDERS for folder in folders) and ending not in _PAGES and ending != "pub":
        return f"{name} lies among secrets"
    return _mentioning(shown, stem, ending)


def _mentioning(shown: str, stem: str, ending: str) -> str:
    spelled = _CAMEL.sub("_", shown).casefold()
    found = _MENTIONS.search(spelled)
    if found is None or _HARMLESS.search(spelled):
        return ""
    if stem and ending in _PAGES and not _ONLY_THE_WORD.fullmatch(stem):
        return ""
    return f"{shown} has a name that secrets have"


def _is_environment(name: str) -> bool:
    if not _ENVIRONMENT.fullmatch(name) or not (name.startswith(".env") or name.endswith(".env")):
        return False
    return not _is_example(name)


def _is_example(name: str) -> bool:
    return bool(_EXAMPLES & set(name.split(".")[1:]))


def _steps(path: str) -> list[str]:
    steps: list[str] = []
    for step in path.replace("\\", "/").casefold().split("/"):
        step = step.strip(" \t\r\n\0")
        if step in ("", ".", "~"):
            continue
        if step == "..":
            steps[-1:] = []
        else:
            steps.append(step)
    return steps


def _folder(state: str) -> str:
    return "/".join(_steps(state))
