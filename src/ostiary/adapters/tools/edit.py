"""edit: replace a piece of a text file by another."""

from collections.abc import Mapping

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import Files, clean_path, cut, decode
from ostiary.adapters.tools.write import encode, written
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_MOST_PLACES = 8
_MAX_COMPARED = 5_000

SPEC = ToolSpec(
    schema=ToolSchema(
        name="edit",
        description="Replace text in a workspace file. old must occur exactly once, unless all.",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "old": {"type": "string"},
                "new": {"type": "string"},
                "all": {"type": "boolean"},
            },
            "required": ["path", "old", "new"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.WRITE}),
    repeatable=True,
    untrusted_output=False,
    undoable=True,
)


class Edit:
    spec = SPEC

    def __init__(self, files: Files, clock: Clock) -> None:
        self._files = files
        self._clock = clock

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "path", "old", "new", "all")
        path = clean_path(fields.text(arguments, "path"))
        old, new = fields.text(arguments, "old"), fields.text(arguments, "new")
        target = await self._files.target(path, context)
        if target.content is None:
            raise ToolError(f"There is no file {path[:200]}. Use write to make it.")
        changed = replaced(decode(target.content, path), old, new, path, every=fields.flag(arguments, "all"))
        label = context.label if target.label is None else context.label.join(target.label)
        return written(target, encode(changed, path), context, label=label, at=self._clock.now(), verb="Changed")


def replaced(text: str, old: str, new: str, path: str, *, every: bool) -> str:
    """Raises ToolError if `old` is not there, or more than once without `every`. Line ends of the file are kept."""
    if not old:
        raise ToolError("old is empty; use write for a whole file.")
    if old == new:
        raise ToolError("old and new are the same.")
    if old not in text and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    places = _places(text, old)
    if not places:
        raise ToolError(_not_found(text, old, path))
    if len(places) > 1 and not every:
        shown = ", ".join(str(text.count("\n", 0, place) + 1) for place in places[:_MOST_PLACES])
        more = " and more" if len(places) > _MOST_PLACES else ""
        raise ToolError(f"old occurs several times in {path}, at lines {shown}{more}. Give more of it, or set all.")
    return text.replace(old, new)


def _places(text: str, old: str) -> list[int]:
    """Where it occurs, overlapping occurrences too; a few more than can be told are enough."""
    places: list[int] = []
    place = text.find(old)
    while place >= 0 and len(places) <= _MOST_PLACES:
        places.append(place)
        place = text.find(old, place + 1)
    return places


def _not_found(text: str, old: str, path: str) -> str:
    lines = text.split("\n")
    wanted = [line.strip() for line in old.strip("\r\n").split("\n")]
    stripped = [line.strip() for line in lines[:_MAX_COMPARED]]
    for number in range(len(stripped) - len(wanted) + 1):
        if stripped[number : number + len(wanted)] == wanted and any(wanted):
            shown = "\n".join(lines[number : number + min(len(wanted), 5)])
            return f"old is not in {path} as written; blanks differ at line {number + 1}, which reads:\n{cut(shown, 600)}"
    # Loaded only when there is something to help with.
    from difflib import get_close_matches

    first = next((line for line in wanted if line), "")
    close = get_close_matches(first[:200], [line[:200] for line in stripped], n=1, cutoff=0.6)
    if close:
        number = next(place for place, line in enumerate(stripped) if line[:200] == close[0])
        return f"old is not in {path}. The nearest is line {number + 1}:\n{cut(lines[number], 400)}\nRead the file again."
    return f"old is not in {path}. Read the file again."
