"""The shape of a document's path, and the globs that select some."""

import re
import unicodedata
from fnmatch import translate
from functools import lru_cache

from ostiary.contracts.errors import BadInput

_MAX_BYTES = 1024
_MAX_COLLECTION = 256


def check_path(path: str) -> str:
    """Give the path back. Raises BadInput unless it is relative, NFC, at most 1024 bytes, and cannot be written another way."""
    problem = _problem(path, _MAX_BYTES) or _folder_problem(path)
    if problem:
        raise BadInput(f"{path[:80]!r} is not a document path: {problem}", hint="Write it like notes/2026/plan.md.")
    return path


def check_collection(name: str) -> str:
    problem = _problem(name, _MAX_COLLECTION)
    if problem:
        raise BadInput(f"{name[:80]!r} is not a collection: {problem}")
    return name


def _problem(text: str, limit: int) -> str:
    if not text:
        return "it is empty"
    if "\0" in text:
        return "it holds a NUL"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if size > limit:
        return f"it is longer than {limit} bytes"
    if not unicodedata.is_normalized("NFC", text):
        return "it is not in Unicode form NFC"
    return ""


def _folder_problem(path: str) -> str:
    if path.startswith("/"):
        return "it begins with a slash"
    segments = path.split("/")
    if ".." in segments:
        return "it holds a .. segment"
    if "." in segments or "" in segments:
        return "it holds an empty or . segment"
    return ""


def fold(path: str) -> str:
    """The same text for two paths that a disk may take for one: case and compatibility forms do not count."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def folders_of(path: str) -> list[str]:
    """Every folder the path lies in, the outermost first."""
    return [path[: place.start()] for place in re.finditer("/", path)]


def literal_prefix(pattern: str) -> str:
    """What every match begins with: lets a store look at a range of paths instead of all."""
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0]


def range_end(prefix: str) -> str | None:
    """The first text, in the order of code points, after all that begin with the prefix; None if there is none."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    # Surrogates are not text.
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)


def matches(pattern: str, path: str) -> bool:
    """`*`, `?` and `[a-z]` stay within a folder; a segment `**` stands for any number of them. Case counts."""
    reachable = {0}
    steps = _steps(pattern)
    for segment in path.split("/"):
        reachable = _advance(steps, _through_stars(steps, reachable), segment)
    return len(steps) in _through_stars(steps, reachable)


@lru_cache(maxsize=64)
def _steps(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    """One matcher per segment, None for `**`. Raises BadInput for a pattern too long to be meant."""
    if not pattern or len(pattern) > _MAX_BYTES:
        raise BadInput("A path pattern has 1 to 1024 characters")
    parts = pattern.split("/")
    # Several `**` in a row say no more than one.
    needed = [part for part, before in zip(parts, [None, *parts], strict=False) if part != "**" or before != "**"]
    return tuple(None if part == "**" else re.compile(translate(part)) for part in needed)


def _through_stars(steps: tuple[re.Pattern[str] | None, ...], places: set[int]) -> set[int]:
    """`**` may stand for no folder at all."""
    reached = set(places)
    for place in sorted(places):
        while place < len(steps) and steps[place] is None:
            place += 1
            reached.add(place)
    return reached


def _advance(steps: tuple[re.Pattern[str] | None, ...], places: set[int], segment: str) -> set[int]:
    after = set()
    for place in places:
        if place < len(steps):
            step = steps[place]
            if step is None:
                after.add(place)
            elif step.match(segment):
                after.add(place + 1)
    return after
