"""Regular expressions in time linear in the text, whatever the pattern: no backtracking.

A pattern becomes a set of states that are followed all at once; sets already met are remembered, so most characters cost one
lookup. Understands literals, `.`, classes, `\\d \\w \\s \\b` and their opposites, groups, `|`, `* + ? {m,n}`, `^ $`. Back
references and look-around do not exist here: they are what makes other engines slow.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_PATTERN = 500
MAX_STATES = 1_000
MAX_WORK = 1_000_000
_MAX_REPEAT = 100
_MAX_REMEMBERED = 20_000
_MAX_NESTING = 50

Test = Callable[[str], bool]
_CLASSES: dict[str, str] = {"d": r"\d", "D": r"\D", "w": r"\w", "W": r"\W", "s": r"\s", "S": r"\S"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


class BadPattern(Exception):
    """The pattern is malformed, too large, or asks for something this engine does not do."""


@dataclass(slots=True, eq=False)
class _State:
    """Moves to `after` on a character that passes `test`; without a test it is a fork, an anchor or the end."""

    test: Test | None = None
    after: "list[_State]" = field(default_factory=list)
    anchor: str = ""


@dataclass(slots=True)
class _Piece:
    start: _State
    ends: list[_State]


class _Node:
    """A set of states behind one kind of character, with the moves from here that were met so far."""

    __slots__ = ("accepts_at_end", "before", "moves", "states")

    def __init__(self, states: frozenset[_State], before: str) -> None:
        self.states = states
        self.before = before
        self.moves: dict[str, _Node] = {}
        self.accepts_at_end: bool | None = None


_FOUND = _Node(frozenset(), "")
_DEAD = _Node(frozenset(), "")


class Automaton:
    """A compiled pattern: `search` tells whether it occurs in a text, `fullmatch` whether it is all of it.

    They raise BadPattern once the pattern has cost more than MAX_WORK in all: a few patterns need a new set of states for
    almost every character, which is linear too, but slow.
    """

    __slots__ = ("_moves", "_nodes", "_start", "_work")

    def __init__(self, start: _State) -> None:
        self._start = frozenset((start,))
        self._nodes: dict[tuple[frozenset[_State], str, bool], _Node] = {}
        self._moves = 0
        self._work = 0

    def search(self, text: str) -> bool:
        return self.reach(text) >= 0

    def reach(self, text: str) -> int:
        """Where the first occurrence ends, -1 if there is none."""
        return self._run(text, floating=True)

    def fullmatch(self, text: str) -> bool:
        return self._run(text, floating=False) >= 0

    def _run(self, text: str, *, floating: bool) -> int:
        node = self._node(self._start, "", floating=floating)
        for place, character in enumerate(text):
            after = node.moves.get(character)
            if after is None:
                after = self._move(node, character, floating=floating)
            if after is _FOUND:
                return place
            if after is _DEAD:
                return -1
            node = after
        if node.accepts_at_end is None:
            node.accepts_at_end = _reaches_end(self._closure(node.states, node.before, ""))
        return len(text) if node.accepts_at_end else -1

    def _node(self, states: frozenset[_State], before: str, *, floating: bool) -> _Node:
        return self._nodes.setdefault((states, before, floating), _Node(states, before))

    def _move(self, node: _Node, character: str, *, floating: bool) -> _Node:
        here = self._closure(node.states, node.before, character)
        if floating and _reaches_end(here):
            after = _FOUND
        else:
            moved = {after for state in here if state.test is not None and state.test(character) for after in state.after}
            if floating:
                moved |= self._start
            before = "w" if _is_word(character) else "x"
            after = self._node(frozenset(moved), before, floating=floating) if moved else _DEAD
        self._moves += 1
        if self._moves > _MAX_REMEMBERED:
            # Nodes under way keep working; they are only no longer found again.
            self._nodes.clear()
            self._moves = 0
        node.moves[character] = after
        return after

    def _closure(self, states: frozenset[_State], before: str, character: str) -> set[_State]:
        reached = _closure(states, before, character)
        self._work += len(reached)
        if self._work > MAX_WORK:
            raise BadPattern("the pattern takes too long on these files; make it simpler")
        return reached


def _closure(waiting: frozenset[_State], before: str, character: str) -> set[_State]:
    """Every state that can be reached without reading a character, between `before` ("" at the start of the text, "w"
    behind a word character, else "x") and `character` ("" at the end)."""
    reached: set[_State] = set()
    todo = list(waiting)
    while todo:
        state = todo.pop()
        if state in reached:
            continue
        reached.add(state)
        if state.test is None and (not state.anchor or _holds(state.anchor, before, character)):
            todo.extend(state.after)
    return reached


def _holds(anchor: str, before: str, character: str) -> bool:
    if anchor == "^":
        return not before
    if anchor == "$":
        return not character
    at_edge = (before == "w") != (bool(character) and _is_word(character))
    return at_edge if anchor == "b" else not at_edge


def _reaches_end(states: set[_State]) -> bool:
    return any(state.test is None and not state.after and not state.anchor for state in states)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def compile_regex(pattern: str, *, ignore_case: bool = False) -> Automaton:
    """Raises BadPattern with one sentence for the model."""
    if len(pattern) > MAX_PATTERN:
        raise BadPattern(f"the pattern is {len(pattern)} characters long, at most {MAX_PATTERN} are allowed")
    return _Parser(pattern, ignore_case=ignore_case).parse()


def compile_glob(pattern: str) -> Automaton:
    """Paths: `*` and `?` stay within a folder, `**` crosses folders, `{a,b}` is either. Use `fullmatch`. Raises BadPattern."""
    if len(pattern) > MAX_PATTERN:
        raise BadPattern(f"the pattern is {len(pattern)} characters long, at most {MAX_PATTERN} are allowed")
    parts: list[str] = []
    place = closing = 0
    while place < len(pattern):
        if pattern.startswith("**/", place):
            parts.append("(?:.*/)?")
            place += 3
            continue
        if pattern.startswith("**", place):
            parts.append(".*")
            place += 2
            continue
        character = pattern[place]
        end = pattern.find("]", place + 2)
        if character == "[" and end > 0:
            parts.append("[" + pattern[place + 1 : end].replace("\\", "\\\\").replace("!", "^", 1) + "]")
            place = end + 1
            continue
        brace = pattern.find("}", place) if character == "{" and place >= closing else -1
        if brace > 0 and "," in pattern[place:brace]:
            closing = brace
            parts.append("(?:")
        elif place < closing and character == ",":
            parts.append("|")
        elif place == closing and character == "}":
            parts.append(")")
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(character) or re.escape(character))
        place += 1
    return _Parser("".join(parts), ignore_case=False).parse()


class _Parser:
    """Recursive descent over the pattern; each construct becomes a piece with loose ends."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        self._text = pattern.removeprefix("(?i)")
        self._ignore_case = ignore_case or pattern.startswith("(?i)")
        self._place = 0
        self._states = 0
        self._nesting = 0

    def parse(self) -> Automaton:
        piece = self._alternatives()
        if self._place < len(self._text):
            raise BadPattern("a ) without its (")
        end = self._state()
        for loose in piece.ends:
            loose.after.append(end)
        return Automaton(piece.start)

    def _state(self, test: Test | None = None, anchor: str = "") -> _State:
        self._states += 1
        if self._states > MAX_STATES:
            raise BadPattern("the pattern is too large: use smaller repetitions")
        return _State(test=test, anchor=anchor)

    def _peek(self) -> str:
        return self._text[self._place : self._place + 1]

    def _take(self) -> str:
        character = self._peek()
        if not character:
            raise BadPattern("the pattern ends too early")
        self._place += 1
        return character

    def _alternatives(self) -> _Piece:
        branches = [self._sequence()]
        while self._peek() == "|":
            self._place += 1
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        fork = self._state()
        fork.after.extend(branch.start for branch in branches)
        return _Piece(fork, [loose for branch in branches for loose in branch.ends])

    def _sequence(self) -> _Piece:
        first = self._state()
        piece = _Piece(first, [first])
        while self._peek() not in ("", "|", ")"):
            piece = _join(piece, self._repeated())
        return piece

    def _repeated(self) -> _Piece:
        begin = self._place
        piece = self._atom()
        bounds = self._bounds()
        if bounds is None:
            return piece
        end = self._place
        piece = self._repeat(piece, bounds, begin)
        self._place = end
        # Lazy or not makes no difference to whether something is found.
        if self._peek() == "?":
            self._place += 1
        if self._bounds() is not None:
            raise BadPattern("one repetition directly behind another")
        return piece

    def _bounds(self) -> tuple[int, int | None] | None:
        sign = self._peek()
        if sign in ("*", "+", "?") and sign:
            self._place += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        counted = re.compile(r"\{(\d{0,6})(,?)(\d{0,6})\}").match(self._text, self._place)
        if counted is None or not (counted[1] or counted[3]):
            return None
        self._place = counted.end()
        least = int(counted[1] or 0)
        most = least if not counted[2] else int(counted[3]) if counted[3] else None
        if most is not None and most < least:
            raise BadPattern("a repetition {m,n} needs m at most n")
        if max(least, most or 0) > _MAX_REPEAT:
            raise BadPattern(f"a repetition of more than {_MAX_REPEAT} is not supported")
        return least, most

    def _repeat(self, piece: _Piece, bounds: tuple[int, int | None], begin: int) -> _Piece:
        """`piece` is the first copy; more are made by reading its source again."""
        least, most = bounds
        copies = [piece]
        whole = _Piece(self._state(), [])
        whole.ends.append(whole.start)

        def copy() -> _Piece:
            if copies:
                return copies.pop()
            self._place = begin
            return self._atom()

        for _ in range(least):
            whole = _join(whole, copy())
        if most is None:
            loop = self._state()
            body = copy()
            loop.after.append(body.start)
            for loose in body.ends:
                loose.after.append(loop)
            return _join(whole, _Piece(loop, [loop]))
        skipped: list[_State] = []
        for _ in range(most - least):
            fork = self._state()
            body = copy()
            fork.after.append(body.start)
            skipped.append(fork)
            whole = _join(whole, _Piece(fork, body.ends))
        whole.ends.extend(skipped)
        return whole

    def _atom(self) -> _Piece:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return self._single(self._class())
        if character == ".":
            return self._single(lambda read: read != "\n")
        if character in "^$":
            return self._anchor(character)
        if character in "*+?":
            raise BadPattern("nothing to repeat")
        if character == "\\":
            return self._escape()
        return self._single(self._literal(character))

    def _group(self) -> _Piece:
        if self._peek() == "?":
            if not self._text.startswith("?:", self._place):
                raise BadPattern("look-around, named groups and flags inside are not supported; (?i) may stand in front")
            self._place += 2
        self._nesting += 1
        if self._nesting > _MAX_NESTING:
            raise BadPattern("groups are nested too deep")
        piece = self._alternatives()
        self._nesting -= 1
        if self._peek() != ")":
            raise BadPattern("a ( without its )")
        self._place += 1
        return piece

    def _escape(self) -> _Piece:
        character = self._take()
        if character in "bB":
            return self._anchor(character)
        if character in "AZ":
            return self._anchor("^" if character == "A" else "$")
        if character in _CLASSES:
            return self._single(_one_of(re.compile(_CLASSES[character])))
        if character.isdigit():
            raise BadPattern("back references are not supported")
        if character in _ESCAPES:
            return self._single(self._literal(_ESCAPES[character]))
        if character.isalpha():
            raise BadPattern(f"\\{character} is not supported")
        return self._single(self._literal(character))

    def _class(self) -> Test:
        """The class is read with its own brackets and tested by the standard engine, one character at a time."""
        begin = self._place
        if self._peek() == "^":
            self._place += 1
        if self._peek() == "]":
            self._place += 1
        while self._take() != "]":
            if self._text[self._place - 1] == "\\":
                self._take()
        inside = self._text[begin : self._place - 1]
        # Signs that newer versions may read as set operations are meant literally.
        source = "[" + re.sub(r"(?<!\\)([\[~&|])", r"\\\1", inside) + "]"
        try:
            return _one_of(re.compile(source, re.IGNORECASE if self._ignore_case else 0))
        except (re.error, OverflowError) as error:
            raise BadPattern(f"the class [{inside}] is not valid ({error})") from None

    def _literal(self, character: str) -> Test:
        if self._ignore_case:
            return _one_of(re.compile(re.escape(character), re.IGNORECASE))
        return lambda read: read == character

    def _single(self, test: Test) -> _Piece:
        state = self._state(test)
        return _Piece(state, [state])

    def _anchor(self, sign: str) -> _Piece:
        state = self._state(anchor=sign)
        return _Piece(state, [state])


def _join(first: _Piece, second: _Piece) -> _Piece:
    for loose in first.ends:
        loose.after.append(second.start)
    return _Piece(first.start, second.ends)


def _one_of(pattern: "re.Pattern[str]") -> Test:
    return lambda read: pattern.match(read) is not None
