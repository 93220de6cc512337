"""What changed in a text, as unified diffs for people; bounded in time and length."""

from collections.abc import Callable

MAX_TEXT = 1_000_000
MAX_LINES = 2_000
MAX_SHOWN = 6_000
_AROUND = 3


def unified(before: bytes | None, after: bytes | None, path: str, *, limit: int = MAX_SHOWN) -> str:
    """Empty for what is not text or has not changed; None stands for "does not exist". Cut at a line where it is longer
    than `limit` characters."""
    old, new = _text(before), _text(after)
    if old is None or new is None or old == new:
        return ""
    head = f"--- {'/dev/null' if before is None else path}\n+++ {'/dev/null' if after is None else path}\n"
    lines = _hunks(_lines(old), _lines(new))
    return _cut(head, lines, limit)


def counts(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """How many lines were added and taken away, common head and tail left aside; of any size."""
    old, new = before or b"", after or b""
    head = _line_start(old, _same(lambda size: old[:size] == new[:size], min(len(old), len(new))))
    old, new = old[head:], new[head:]
    tail = _same(lambda size: old[len(old) - size :] == new[len(new) - size :], min(len(old), len(new)))
    while tail and not (_begins_line(old, tail) and _begins_line(new, tail)):
        # Up to the next line break, which both have at the same place.
        tail = len(old) - old.find(b"\n", len(old) - tail) - 1 if b"\n" in old[len(old) - tail : -1] else 0
    return _count(new[: len(new) - tail]), _count(old[: len(old) - tail])


def _same(holds: Callable[[int], bool], most: int) -> int:
    """The largest size for which it holds, as for all smaller ones."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if holds(middle) else (least, middle - 1)
    return least


def _line_start(content: bytes, place: int) -> int:
    return content.rfind(b"\n", 0, place) + 1


def _begins_line(content: bytes, tail: int) -> bool:
    place = len(content) - tail
    return place == 0 or content[place - 1 : place] == b"\n"


def _count(content: bytes) -> int:
    return content.count(b"\n") + (content[-1:] not in (b"", b"\n"))


def _text(content: bytes | None) -> str | None:
    if content is None:
        return ""
    if len(content) > MAX_TEXT or b"\x00" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _lines(text: str) -> list[str]:
    """With their line breaks; only a line feed ends a line."""
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def _common(old: list[str], new: list[str]) -> tuple[int, int]:
    most = min(len(old), len(new))
    head = next((place for place in range(most) if old[place] != new[place]), most)
    rest = most - head
    tail = next((back for back in range(rest) if old[-1 - back] != new[-1 - back]), rest)
    return head, tail


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """Only the part between the common head and tail is compared line by line: the rest costs nothing."""
    head, tail = _common(old, new)
    start = max(0, head - _AROUND)
    old_part = old[start : len(old) - max(0, tail - _AROUND)]
    new_part = new[start : len(new) - max(0, tail - _AROUND)]
    if max(len(old_part), len(new_part)) > MAX_LINES:
        return [f"[too many lines to compare: {len(old_part)} became {len(new_part)}]\n"]
    # Loaded when the first change is shown: reading needs none of it.
    from difflib import SequenceMatcher

    lines: list[str] = []
    for group in SequenceMatcher(None, old_part, new_part).get_grouped_opcodes(_AROUND):
        first, last = group[0], group[-1]
        lines.append(
            f"@@ -{_range(start + first[1], last[2] - first[1])} +{_range(start + first[3], last[4] - first[3])} @@\n",
        )
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                lines += _marked(" ", old_part[old_from:old_to])
                continue
            lines += _marked("-", old_part[old_from:old_to])
            lines += _marked("+", new_part[new_from:new_to])
    return lines


def _range(begin: int, length: int) -> str:
    return f"{begin + 1 if length else begin},{length}"


def _marked(sign: str, lines: list[str]) -> list[str]:
    return [f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n" for line in lines]


def _cut(head: str, lines: list[str], limit: int) -> str:
    shown = [head]
    room = limit - len(head)
    for place, line in enumerate(lines):
        room -= len(line)
        if room < 0:
            shown.append(f"[{len(lines) - place} more lines]\n")
            break
        shown.append(line)
    return "".join(shown)
