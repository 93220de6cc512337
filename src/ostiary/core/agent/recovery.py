"""Tool calls that a weak model wrote as text become real calls; examples it only talks about do not.

The rule. Only names of tools that were offered count. A call in explicit marks (`<tool_call>`, `[TOOL_CALLS]`, ...) is taken
unless it is quoted, stands in the middle of a sentence, or the words next to it explain it. Bare or fenced JSON has no
marks, so besides that every JSON block of the answer must be a call and only a little prose may stand around.

Never raises; time is linear in the text, since the number of places that are looked at is bounded.
"""

import re
from collections.abc import Iterator

from ostiary.contracts.content import AnswerPart, Text, ToolCall
from ostiary.contracts.patterns import late
from ostiary.contracts.records import dataclass
from ostiary.core.agent.written_calls import Written, json_block, json_calls, marked_calls

_MAX_TEXT = 100_000
_MAX_CALLS = 32
_MAX_PLACES = 32
_MAX_MISSES = 4
_LOOSE_PROSE = 300
_NEAR = 240

_FENCE = late(r"^[ \t]*(`{3,}|~{3,})([^\n`]*)$", re.MULTILINE)
_LINE_OF_JSON = late(r"^[ \t]*[\[{]", re.MULTILINE)
_EXPLAINING = late(
    r"\b(?:e\.g\.|example|for instance|such as|looks? like|like this|would be|would look|you (?:can|could|would|should|might|may)"
    r"|syntax|format|schema|template|sample|snippet|documentation|instead of|the model (?:writes|emits|calls)|how to)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fence:
    """A code block: `start`..`end` with its fences, `inner_start`..`inner_end` without."""

    start: int
    inner_start: int
    inner_end: int
    end: int


def recover_calls(parts: tuple[AnswerPart, ...], offered: frozenset[str]) -> tuple[AnswerPart, ...]:
    """The parts with calls written in a Text turned into ToolCall parts (with an empty id), the words around them kept.

    Returns `parts` itself when there is nothing to recover.
    """
    if not offered:
        return parts
    recovered: list[AnswerPart] = []
    changed = False
    for part in parts:
        found = _find(part.text, offered) if isinstance(part, Text) else ()
        if not found or not isinstance(part, Text):
            recovered.append(part)
            continue
        changed = True
        recovered.extend(_pieces(part, found))
    return tuple(recovered) if changed else parts


def _pieces(part: Text, found: tuple[Written, ...]) -> Iterator[AnswerPart]:
    at = 0
    left = _MAX_CALLS
    for written in found:
        if words := part.text[at : written.start].strip():
            yield Text(text=words, label=part.label)
        yield from (ToolCall(id="", name=name, arguments=arguments) for name, arguments in written.calls[:left])
        left -= min(left, len(written.calls))
        at = written.end
    if words := part.text[at:].strip():
        yield Text(text=words, label=part.label)


def _find(text: str, offered: frozenset[str]) -> tuple[Written, ...]:
    if len(text) > _MAX_TEXT or not ("{" in text or "<" in text):
        return ()
    fences = _fences(text)
    marked = [_widened(written, fences, text) for written in marked_calls(text, offered)]
    if marked:
        taken = tuple(written for written in marked if written is not None and not _mentioned(text, written))
        return () if not taken or _explained(text, taken) else taken
    loose = _loose(text, fences, offered)
    if not loose or _explained(text, loose) or len(_prose(text, loose)) > _LOOSE_PROSE:
        return ()
    return loose


def _widened(written: Written, fences: tuple[_Fence, ...], text: str) -> Written | None:
    """A call in a code block counts only if it is all there is in the block; then the block goes with it."""
    fence = next((f for f in fences if f.inner_start <= written.start < f.inner_end), None)
    if fence is None:
        return written
    outside = text[fence.inner_start : written.start] + text[written.end : fence.inner_end]
    if outside.strip():
        return None
    return Written(start=fence.start, end=fence.end, calls=written.calls)


def _loose(text: str, fences: tuple[_Fence, ...], offered: frozenset[str]) -> tuple[Written, ...]:
    """Calls in JSON without marks; nothing at all if any JSON block of the text is something else."""
    found: list[Written] = []
    at = 0
    if len(fences) > _MAX_PLACES:
        return ()
    for fence in fences:
        found.extend(bare := _bare(text, at, fence.start, offered))
        inner = text[fence.inner_start : fence.inner_end].strip()
        calls = json_calls(inner, offered, needs_arguments=True)
        if not calls or any(not written.calls for written in bare):
            return ()
        found.append(Written(start=fence.start, end=fence.end, calls=calls))
        at = fence.end
    found.extend(_bare(text, at, len(text), offered))
    return tuple(found) if all(written.calls for written in found) else ()


def _bare(text: str, start: int, end: int, offered: frozenset[str]) -> list[Written]:
    """Every JSON block that begins a line; one that is no call has no calls."""
    found: list[Written] = []
    at = start
    misses = 0
    while misses < _MAX_MISSES and len(found) < _MAX_PLACES:
        opening = _LINE_OF_JSON.search(text, at, end)
        if opening is None:
            break
        begin = opening.end() - 1
        stop = json_block(text, begin, end)
        if stop is None:
            misses += 1
            at = opening.end()
            continue
        calls = json_calls(text[begin:stop], offered, needs_arguments=True)
        found.append(Written(start=begin, end=stop, calls=calls))
        at = stop
    return found


def _fences(text: str) -> tuple[_Fence, ...]:
    found: list[_Fence] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif line[1][0] == opened[1][0] and len(line[1]) >= len(opened[1]) and not line[2].strip():
            found.append(_Fence(start=opened.start(), inner_start=opened.end(), inner_end=line.start(), end=line.end()))
            opened = None
    if opened is not None:
        found.append(_Fence(start=opened.start(), inner_start=opened.end(), inner_end=len(text), end=len(text)))
    return tuple(found)


def _mentioned(text: str, written: Written) -> bool:
    """Quoted, or in the middle of a sentence."""
    before = text[text.rfind("\n", 0, written.start) + 1 : written.start]
    line_end = text.find("\n", written.end)
    after = text[written.end : line_end if line_end >= 0 else len(text)]
    if before.lstrip().startswith(">") or before.endswith(("`", '"', "'", "“", "‘")):
        return True
    return bool(before.strip()) and bool(after.strip())


def _explained(text: str, found: tuple[Written, ...]) -> bool:
    before = text[max(0, found[0].start - _NEAR) : found[0].start]
    after = text[found[-1].end : found[-1].end + _NEAR]
    return _EXPLAINING.search(before) is not None or _EXPLAINING.search(after) is not None


def _prose(text: str, found: tuple[Written, ...]) -> str:
    at = 0
    words: list[str] = []
    for written in found:
        words.append(text[at : written.start])
        at = written.end
    words.append(text[at:])
    return "".join(words).strip()
