"""Command lines as grants see them: which ones are simple enough to be covered by a pattern.

A pattern covers a command only if the words that would be run are exactly the words that are read: no expansion, redirection,
substitution, second command, wrapper or assignment. A grant limits how often a person is asked; the fence around every
command is the sandbox.
"""

import re

from ostiary.contracts.programs import PLAIN
from ostiary.core.policy.shell_reading import SHELLS, WRAPPERS, program_name

MAX_SIMPLE = 500
EXACT = "="

_ANY = "*"
_SPECIAL = frozenset("$`;&|<>(){}*?[]\\#!^%")
_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "case", "esac", "in", "select", "function"}
    | {".", "source", "alias", "unalias", "set", "shopt", "export", "declare", "typeset", "local", "readonly", "unset", "enable"}
    | {"hash", "bind", "complete", "let", "read", "mapfile", "readarray", "printf", "getopts", "ulimit", "umask"}
)
# Programs that people run again and again on whatever the files are: tests, checks and the like. An open pattern says so.
_RUNNERS = frozenset(
    {"pytest", "tox", "nox", "ruff", "mypy", "pyright", "black", "isort", "flake8", "eslint", "prettier", "tsc", "jest", "vitest"}
    | {"rspec", "rubocop", "phpunit"}
)
# With these programs the subcommand says what is done, whatever follows.
_SUBCOMMANDS = {
    "git": frozenset(
        {"status", "log", "diff", "show", "blame", "shortlog", "describe", "ls-files", "ls-tree", "rev-parse", "rev-list", "add"}
        | {"commit", "cat-file", "merge-base", "name-rev", "reflog", "whatchanged", "count-objects"}
    ),
    "npm": frozenset({"test", "ls", "outdated"}),
    "cargo": frozenset({"build", "check", "test", "clippy", "fmt"}),
}
# Options that run, load or write something of their own. Programs take any unambiguous beginning of a long option's name.
_RISKY = (
    *("output", "ext-diff", "textconv", "open-files-in-pager", "upload-pack", "receive-pack", "exec", "config", "config-env"),
    *("pre", "compress-program", "use-compress-program", "checkpoint-action", "to-command", "rsh", "files0-from", "template"),
    *("gpg-sign", "edit", "fixup", "interactive", "manifest-path", "prefix", "userconfig", "globalconfig", "script-shell"),
    *("target-dir", "work-tree", "git-dir", "hostname-bin", "pager"),
)
_RISKY_SHORT = {"git": "cCOSe", "sort": "oT", "shuf": "o", "tree": "o", "npm": "C", "cargo": "CZ"}
_SUBCOMMAND = re.compile(r"[a-z][a-z-]{1,30}")


def simple_argv(command: str) -> tuple[str, ...] | None:
    """The words of a simple command, None for every other: also for one that begins with a shell, a wrapper, an assignment or
    a word of the shell's own language."""
    if not command or len(command) > MAX_SIMPLE or not command.isprintable():
        return None
    words = _words(command)
    if not words or not words[0] or "=" in words[0] or words[0] in _RESERVED:
        return None
    name = program_name(words[0])
    if name in SHELLS or name in WRAPPERS or name in _RESERVED:
        return None
    return words


def is_simple(command: str) -> bool:
    return simple_argv(command) is not None


def _words(text: str) -> tuple[str, ...] | None:
    """Split as every shell would, None where shells could see anything but plain words."""
    words: list[str] = []
    word: str | None = None
    place = 0
    while place < len(text):
        character = text[place]
        if character == " ":
            if word is not None:
                words.append(word)
            word = None
            place += 1
            continue
        if character in "'\"":
            end = text.find(character, place + 1)
            inside = text[place + 1 : end]
            if end < 0 or (character == '"' and any(sign in inside for sign in "$`\\!")):
                return None
            word = (word or "") + inside
            place = end + 1
            continue
        if character in _SPECIAL or (character == "~" and (word is None or word.endswith(("=", ":")))):
            return None
        word = (word or "") + character
        place += 1
    if word is not None:
        words.append(word)
    return tuple(words)


def offers(command: str) -> tuple[str, ...]:
    """Patterns to grant, the narrowest first: this very command; if it is simple and of a program that is known to do what its
    words say, also the program with its subcommand and any further arguments. None for what nobody would read to the end."""
    if not command.strip() or len(command) > MAX_SIMPLE or not command.isprintable():
        return ()
    argv = simple_argv(command)
    if argv is None or command.startswith(EXACT):
        return (EXACT + command,)
    wider = _wider(argv)
    return (command, wider) if wider else (command,)


def _wider(argv: tuple[str, ...]) -> str:
    program = argv[0]
    second = argv[1] if len(argv) > 1 and _SUBCOMMAND.fullmatch(argv[1]) else ""
    for prefix in ((program, second) if second else (), (program,)):
        if prefix and simple_argv(" ".join(prefix)) == prefix and _may_be_open(prefix) and _is_harmless(argv, prefix):
            return " ".join(prefix) + _ANY
    return ""


def matches(pattern: str, command: str) -> bool:
    """Whether a granted pattern covers the command.

    `=text` covers exactly that text. Words cover the simple command of the same words, however it is quoted. Words with `*`
    at the end cover simple commands that begin with these words and have any further ones, never a longer last word. A
    pattern that would leave open which program runs covers nothing."""
    if pattern.startswith(EXACT):
        return pattern[len(EXACT) :] == command and command.isprintable()
    argv = simple_argv(command)
    if argv is None:
        return False
    if not pattern.endswith(_ANY):
        return simple_argv(pattern) == argv
    prefix = simple_argv(pattern[: -len(_ANY)].rstrip(" "))
    if prefix is None or not _may_be_open(prefix):
        return False
    return argv[: len(prefix)] == prefix and _is_harmless(argv, prefix)


def runs_what_it_finds(pattern: str) -> bool:
    """Whether an open pattern covers more than its words say: the code that files around the program make it run, such as a
    test of the workspace or a program that the settings of git name."""
    if pattern.startswith(EXACT) or not pattern.endswith(_ANY):
        return False
    argv = simple_argv(pattern[: -len(_ANY)].rstrip(" "))
    return argv is None or argv[0] not in PLAIN


def _may_be_open(prefix: tuple[str, ...]) -> bool:
    """Whether these words alone say which program does what, so that its other arguments may be anything. Of a program that
    nobody here knows they do not: its arguments may name another one."""
    name = prefix[0]
    if name in _SUBCOMMANDS:
        return len(prefix) > 1 and prefix[1] in _SUBCOMMANDS[name]
    return name in PLAIN or name in _RUNNERS


def _is_harmless(argv: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    """No further argument makes the program run, load or write something that the pattern does not show."""
    short = _RISKY_SHORT.get(program_name(argv[0]), "")
    return not any(_is_risky(word, short) for word in argv[len(prefix) :])


def _is_risky(word: str, short: str) -> bool:
    if not word.startswith("-"):
        return False
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        return bool(name) and any(risky.startswith(name) for risky in _RISKY)
    return any(letter in short for letter in word[1:])
