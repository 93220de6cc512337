"""Cutting a reply to a channel's limit without breaking code fences."""

import re

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)([^\n`]*)$", re.MULTILINE)
_SHORTEST = 16


def split_text(text: str, limit: int) -> list[str]:
    """Pieces of at most `limit` characters, cut at a paragraph, else a line, else a word, else anywhere.

    A fence that is open at a cut is closed there and opened again in the next piece."""
    text = text.strip()
    limit = max(limit, _SHORTEST)
    pieces: list[str] = []
    opened = ""
    while len(opened) + len(text) > limit:
        room = limit - len(opened)
        at = _cut_at(text, room)
        fence = _open_fence(opened + text[:at])
        closing = "\n" + fence.split()[0].strip() if fence else ""
        if closing and at + len(closing) > room:
            at = _cut_at(text, max(room - len(closing), 1))
            fence = _open_fence(opened + text[:at])
            closing = "\n" + fence.split()[0].strip() if fence else ""
        pieces.append(opened + text[:at].rstrip() + closing)
        opened = f"{fence}\n" if fence and len(fence) < limit // 2 else ""
        text = text[at:].lstrip("\n") if opened else text[at:].lstrip()
    rest = (opened + text).rstrip()
    return [*pieces, rest] if text.strip() else pieces


def _cut_at(text: str, room: int) -> int:
    room = max(room, 1)
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark, room // 2, room + 1)
        if at > 0:
            return at
    return room


def _open_fence(text: str) -> str:
    """The opening line of a fence that is still open at the end of `text`."""
    fence = ""
    for match in _FENCE.finditer(text):
        if not fence:
            fence = match[0].strip()
        elif match[1].startswith(fence.split()[0][:3]) and not match[2].strip():
            fence = ""
    return fence
