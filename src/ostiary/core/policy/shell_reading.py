"""Reading a shell command line as far as it can be read without running it: its words, and the programs it would start.

Nothing here permits anything. What cannot be decided from the text alone (a program named by a variable, code in another
language, a file that is sourced) is said to be uncertain.
"""

import re

from ostiary.contracts.records import dataclass

MAX_COMMAND = 20_000
_MAX_NESTING = 16

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash"})
INTERPRETERS = frozenset(
    {"python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "tclsh", "wish", "expect", "awk", "gawk"}
    | {"mawk", "nawk", "sed", "ed", "ex", "vi", "vim", "nvim", "emacs", "m4", "gdb", "r", "rscript", "julia", "java", "jshell"}
    | {"groovy", "scala", "ghci", "runghc", "osascript", "pwsh", "powershell", "tsx", "npx", "uvx", "uv", "pipx", "go", "make"}
)
# What runs the command that follows among its arguments, and the options of it that take a value.
WRAPPERS: dict[str, str] = {
    "env": "uSCP",
    "nice": "n",
    "ionice": "cnp",
    "chrt": "TPD",
    "taskset": "",
    "timeout": "ks",
    "flock": "wEc",
    "xargs": "aEdIiLlnPs",
    "parallel": "jIaN",
    "sudo": "ugChpRrTtUD",
    "doas": "uC",
    "su": "csgG",
    "runuser": "ugGcs",
    "setpriv": "",
    "nohup": "",
    "setsid": "",
    "stdbuf": "ioe",
    "unbuffer": "",
    "time": "of",
    "command": "",
    "builtin": "",
    "exec": "a",
    "eval": "",
    "watch": "nd",
    "strace": "eopsuEPaIOSX",
    "ltrace": "eopsunalA",
    "chroot": "",
    "unshare": "SGRw",
    "nsenter": "tSG",
    "script": "cEmoBIOT",
    "busybox": "",
    "toybox": "",
    "systemd-run": "pEMutGHd",
    "dbus-run-session": "",
    "xvfb-run": "nsepfw",
    "fakeroot": "lsib",
    "proot": "rbwq",
    "bwrap": "",
    "ssh-agent": "",
    "catchsegv": "",
    "coproc": "",
    "trap": "",
    "numactl": "",
    "prlimit": "",
    "choom": "np",
    "start-stop-daemon": "",
    "entr": "",
    "tini": "",
    "dumb-init": "",
    "rlwrap": "",
    "faketime": "",
}
_OPERANDS_FIRST = {"timeout": 1, "flock": 1, "taskset": 1, "chrt": 1, "chroot": 1, "faketime": 1}
_BY_DASH_C = frozenset({"flock", "su", "runuser", "script"})
_SOURCES = frozenset({".", "source"})
_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time", "coproc", "esac", "in"}
)
_UNDECIDED = frozenset({"case", "for", "select", "function", "alias", "[["})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
_SEPARATORS = ("&&", "||", ";;", "|&", "|", ";", "&", "\n", "(", ")")
_VERSIONED = re.compile(r"[0-9.]+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`programs` are the names (without folders) in the order they stand; `is_certain` says that there can be no other."""

    programs: tuple[str, ...]
    is_certain: bool


def programs(command: str) -> Reading:
    """What this command line would start. Never raises: what it cannot read is uncertain."""
    if len(command) > MAX_COMMAND:
        return Reading(programs=(), is_certain=False)
    names: list[str] = []
    is_certain = _read(command, names, 0)
    return Reading(programs=tuple(dict.fromkeys(names)), is_certain=is_certain)


def program_name(word: str) -> str:
    """The name alone, without folder; versions of interpreters are one program (python3.11 is python)."""
    name = word.rpartition("/")[2].casefold()
    plain = _VERSIONED.sub("", name)
    return plain if plain in INTERPRETERS or plain in SHELLS else name


class _Word:
    """A word under way: its text without quotes, and whether something in it is only known when it runs."""

    __slots__ = ("is_open", "is_started", "text")

    def __init__(self) -> None:
        self.text = ""
        self.is_started = False
        self.is_open = False


class _Lexer:
    """One pass over the text. `commands` are lists of (word, is known); nested commands are collected in `inner`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._word = _Word()
        self._is_target = False
        self.commands: list[list[tuple[str, bool]]] = [[]]
        self.inner: list[str] = []
        self.is_sound = True

    def run(self) -> None:
        text = self._text
        while self._place < len(text):
            character = text[self._place]
            separator = next((sign for sign in _SEPARATORS if text.startswith(sign, self._place)), "")
            if separator:
                # A function may take any program's name.
                self.is_sound = self.is_sound and not (separator == "(" and text[self._place + 1 :].lstrip().startswith(")"))
                self._end_word()
                self.commands.append([])
                self._place += len(separator)
            elif character in " \t":
                self._end_word()
                self._place += 1
            elif character == "#" and not self._word.is_started:
                end = text.find("\n", self._place)
                self._place = len(text) if end < 0 else end
            elif character in "<>":
                self._redirection()
            else:
                self._piece(character)
        self._end_word()

    def _piece(self, character: str) -> None:
        word = self._word
        word.is_started = True
        if character == "\\":
            following = self._text[self._place + 1 : self._place + 2]
            word.text += "" if following == "\n" else following
            self._place += 2
        elif character == "'":
            word.text += self._until("'", self._place + 1)
        elif character == '"':
            self._place += 1
            self._double()
        elif character in "$`":
            self._expansion()
        else:
            word.is_open = word.is_open or character in "*?[{~"
            word.text += character
            self._place += 1

    def _until(self, sign: str, start: int) -> str:
        end = self._text.find(sign, start)
        if end < 0:
            self.is_sound = False
            end = len(self._text)
        self._place = end + 1
        return self._text[start:end]

    def _double(self) -> None:
        while self._place < len(self._text):
            character = self._text[self._place]
            if character == '"':
                self._place += 1
                return
            if character == "\\":
                following = self._text[self._place + 1 : self._place + 2]
                self._word.text += following if following in '$`"\\' else "" if following == "\n" else "\\" + following
                self._place += 2
            elif character in "$`":
                self._expansion()
            else:
                self._word.text += character
                self._place += 1
        self.is_sound = False

    def _expansion(self) -> None:
        """`$(…)` and backquotes run what is in them; a variable may hold anything."""
        self._word.is_open = True
        text = self._text
        if text[self._place] == "`":
            self.inner.append(self._until("`", self._place + 1).replace("\\`", "`"))
        elif text.startswith("$(", self._place):
            self.inner.append(self._balanced(self._place + 2, "(", ")"))
        elif text.startswith("${", self._place):
            self.inner.append(_substituted(self._balanced(self._place + 2, "{", "}")))
        elif text.startswith("$'", self._place):
            self.is_sound = False
            self._place += 1
        else:
            self._place += 1

    def _balanced(self, start: int, opening: str, closing: str) -> str:
        depth = 1
        place = start
        while place < len(self._text):
            character = self._text[place]
            if character in "'\"\\":
                # Quotes inside may hide a bracket: what is in there is read by itself, but its end is then a guess.
                self.is_sound = False
            depth += (character == opening) - (character == closing)
            if depth == 0:
                self._place = place + 1
                return self._text[start:place]
            place += 1
        self.is_sound = False
        self._place = len(self._text)
        return self._text[start:]

    def _redirection(self) -> None:
        text = self._text
        if text.startswith(("<(", ">("), self._place):
            self._word.is_started = self._word.is_open = True
            self.inner.append(self._balanced(self._place + 2, "(", ")"))
            return
        if self._word.text.isdigit():
            self._word = _Word()
        self._end_word()
        if text.startswith("<<", self._place) and not text.startswith("<<<", self._place):
            # The text of a here-document would be taken for commands.
            self.is_sound = False
        while text[self._place : self._place + 1] in ("<", ">", "&", "|", "-"):
            self._place += 1
        self._is_target = True

    def _end_word(self) -> None:
        word = self._word
        if word.is_started and not self._is_target:
            self.commands[-1].append((word.text, not word.is_open or word.text == "{"))
        if word.is_started:
            self._is_target = False
            self._word = _Word()


def _substituted(inside: str) -> str:
    """`${x:-$(cmd)}`: only what runs in there matters."""
    start = inside.find("$(")
    return inside[start:] if start >= 0 else ""


def _read(command: str, names: list[str], depth: int) -> bool:
    if depth > _MAX_NESTING:
        return False
    lexer = _Lexer(command)
    lexer.run()
    is_certain = lexer.is_sound
    for words in lexer.commands:
        is_certain = _command(words, names, depth) and is_certain
    for inner in lexer.inner:
        is_certain = (not inner or _read(inner, names, depth + 1)) and is_certain
    return is_certain


def _command(words: list[tuple[str, bool]], names: list[str], depth: int) -> bool:
    """One simple command, its wrappers taken off one by one."""
    is_certain = True
    while words:
        word, is_known = words[0]
        if is_known and word in _RESERVED:
            words = words[1:]
            continue
        if _ASSIGNMENT.match(word):
            # PATH=, LD_PRELOAD= and their kind change what the next word means.
            is_certain = is_certain and len(words) == 1
            words = words[1:]
            continue
        if not is_known or (word in _UNDECIDED):
            return False
        name = program_name(word)
        names.append(name)
        if name in SHELLS:
            return _shell(words[1:], names, depth) and is_certain
        if name in INTERPRETERS or name in _SOURCES:
            return False
        if name == "find":
            return _find(words[1:], names, depth) and is_certain
        if name not in WRAPPERS:
            return is_certain
        if name == "eval":
            return all(known for _, known in words) and _read(" ".join(text for text, _ in words[1:]), names, depth + 1)
        if name in _BY_DASH_C and (code := _after(words, "-c")) is not None:
            return code[1] and _read(code[0], names, depth + 1) and is_certain
        if name == "env" and any(text.startswith(("-S", "--split-string", "--s")) for text, _ in words):
            return False
        words = _unwrapped(name, words[1:])
        is_certain = is_certain and name not in ("xargs", "parallel", "start-stop-daemon", "bwrap", "trap")
    return is_certain


def _shell(words: list[tuple[str, bool]], names: list[str], depth: int) -> bool:
    """`sh -c text` runs the text; what follows it are $0, $1 and so on, which the text may run."""
    for place, (word, _) in enumerate(words):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            if place + 1 >= len(words):
                return False
            text, is_known = words[place + 1]
            return is_known and _read(text, names, depth + 1)
        if not word.startswith("-"):
            return False
    return False


def _find(words: list[tuple[str, bool]], names: list[str], depth: int) -> bool:
    is_certain = True
    for place, (word, _) in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            is_certain = _command(list(words[place + 1 :]), names, depth) and is_certain
    return is_certain


def _after(words: list[tuple[str, bool]], option: str) -> tuple[str, bool] | None:
    texts = [text for text, _ in words]
    place = texts.index(option) if option in texts else -1
    return words[place + 1] if 0 <= place < len(words) - 1 else None


def _unwrapped(name: str, words: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """The arguments from the wrapped command on: without options, their values, assignments and leading operands."""
    takes_value = WRAPPERS[name]
    operands = _OPERANDS_FIRST.get(name, 0)
    place = 0
    while place < len(words):
        word = words[place][0]
        if word == "--" or word.startswith("--"):
            place += 1
        elif word.startswith("-") and len(word) > 1:
            place += 2 if word[-1] in takes_value and len(word) == 2 else 1
        elif name in ("env", "sudo") and _ASSIGNMENT.match(word):
            place += 1
        elif operands:
            operands -= 1
            place += 1
        else:
            break
    return words[place:]
