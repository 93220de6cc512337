"""Cutting a reply to a channel's limit without breaking code fences."""

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n`]*)")
_SHORTEST = 16


def split_text(text: str, limit: int) -> list[str]:
    """Pieces of at most `limit` characters (16 at the least), cut at a paragraph, else a line, else a word, else anywhere.

    A fence that is open at a cut is closed there and opened again in the next piece."""
    rest, opened, limit = text.strip(), "", max(limit, _SHORTEST)
    pieces: list[str] = []
    while len(opened) + len(rest) > limit:
        at = _cut_at(rest, limit - len(opened) - _reserve(opened + rest[:limit], limit))
        fence = _open_fence(opened + rest[:at], limit)
        sign = _sign(fence)
        if rest[:at].strip():
            pieces.append(opened + rest[:at].rstrip() + (f"\n{sign}" if fence else ""))
        rest = rest[at:].lstrip("\n") if fence else rest[at:].lstrip()
        line, _, after = rest.partition("\n")
        if fence and _closes(line, sign):
            # It was closed at the cut already.
            fence, rest = "", after.lstrip()
        opened = f"{fence if len(fence) < limit // 2 else sign}\n" if fence else ""
    return [*pieces, opened + rest] if rest else pieces


def _cut_at(text: str, room: int) -> int:
    at = next((at for mark in ("\n\n", "\n", " ") if (at := text.rfind(mark, room // 2, room + 1)) > 0), room)
    # A fence's line is neither cut nor left behind as the last one of a piece.
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", start)
    is_fence = _FENCE.fullmatch(text[start : end if end >= 0 else len(text)]) is not None
    return start if is_fence and text[:start].strip() else at


def _reserve(text: str, limit: int) -> int:
    """Room for the longest line that could have to be added at a cut."""
    signs = [_sign(line) for line in text.split("\n") if _is_fence(line, limit)]
    return 1 + max(map(len, signs)) if signs else 0


def _open_fence(text: str, limit: int) -> str:
    """The opening line of a fence that is still open at the end of `text`."""
    fence = ""
    for line in text.split("\n"):
        if not fence and _is_fence(line, limit):
            fence = line.strip()
        elif fence and _closes(line, _sign(fence)):
            fence = ""
    return fence


def _is_fence(line: str, limit: int) -> bool:
    """A sign so long that repeating it would fill the pieces counts as text."""
    match = _FENCE.fullmatch(line)
    return match is not None and len(match[1]) < limit // 4


def _sign(line: str) -> str:
    match = _FENCE.fullmatch(line)
    return match[1] if match is not None else ""


def _closes(line: str, sign: str) -> bool:
    match = _FENCE.fullmatch(line)
    return match is not None and match[1].startswith(sign) and not match[2].strip()
