"""edit: replace a piece of a text file by another."""

from collections.abc import Mapping

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import MAX_WRITTEN, Files, clean_path, decode
from ostiary.adapters.tools.places import told_nearest
from ostiary.adapters.tools.write import encode, written
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_MOST_PLACES = 8

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
        text = decode(target.content, path)
        label = context.label if target.label is None else context.label.join(target.label)
        try:
            changed = replaced(text, old, new, path, every=fields.flag(arguments, "all"))
        except ToolError as error:
            # It may show what stands in the file.
            raise ToolError(str(error), label=label) from None
        return written(target, encode(changed, path), context, label=label, at=self._clock.now(), verb="Changed")


def replaced(text: str, old: str, new: str, path: str, *, every: bool) -> str:
    """Raises ToolError if `old` is not there, or more than once without `every`. Line ends of the file are kept."""
    if not old:
        raise ToolError("old is empty; use write for a whole file.")
    if old == new:
        raise ToolError("old and new are the same.")
    old, new = _with_ends_of(text, old, new)
    places = _places(text, old)
    if not places:
        hint = told_nearest(text.split("\n"), old.strip("\r\n").split("\n"), path)
        raise ToolError(f"old is not in {path}. {hint or 'Read the file again.'}")
    if len(places) > 1 and not every:
        shown = ", ".join(str(text.count("\n", 0, place) + 1) for place in places[:_MOST_PLACES])
        more = " and more" if len(places) > _MOST_PLACES else ""
        raise ToolError(f"old occurs several times in {path}, at lines {shown}{more}. Give more of it, or set all.")
    # Counted before it is made: a short text can stand for more than there is memory.
    size = len(text) + text.count(old) * (len(new) - len(old))
    if size > MAX_WRITTEN:
        raise ToolError(f"{path} would have {size:,} characters, too much for one file; at most {MAX_WRITTEN:,}.")
    return text.replace(old, new)


def _with_ends_of(text: str, old: str, new: str) -> tuple[str, str]:
    """Both with the file's own line ends, unless they bring theirs."""
    if "\r\n" not in text or "\r" in old or "\r" in new:
        return old, new
    windows = old.replace("\n", "\r\n")
    is_windows = 2 * text.count("\r\n") > text.count("\n")
    if windows in text and (is_windows or windows != old):
        return windows, new.replace("\n", "\r\n")
    return old, new


def _places(text: str, old: str) -> list[int]:
    """Where it occurs, overlapping occurrences too; a few more than can be told are enough."""
    places: list[int] = []
    place = text.find(old)
    while place >= 0 and len(places) <= _MOST_PLACES:
        places.append(place)
        place = text.find(old, place + 1)
    return places
