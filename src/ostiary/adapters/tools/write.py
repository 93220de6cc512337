"""write: a whole text file of the workspace."""

from collections.abc import Mapping

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.diffs import counts, unified
from ostiary.adapters.tools.files import MAX_WRITTEN, WORKSPACE, Files, Target, clean_path
from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label
from ostiary.contracts.errors import ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import Put
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_SCRIPT = b"#!"

SPEC = ToolSpec(
    schema=ToolSchema(
        name="write",
        description="Write a text file of the workspace, new or over the old one.",
        parameters={
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.WRITE}),
    repeatable=True,
    untrusted_output=False,
    undoable=True,
)


class Write:
    """The old content stays as a version. Writing what is there already makes no new one."""

    spec = SPEC

    def __init__(self, files: Files, clock: Clock) -> None:
        self._files = files
        self._clock = clock

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "path", "content")
        path = clean_path(fields.text(arguments, "path"))
        content = encode(fields.text(arguments, "content"), path)
        target = await self._files.target(path, context)
        if target.content == content:
            return ToolResult(
                text=f"{path} is that already.", details={"path": path, "version": target.version}, label=context.label
            )
        verb = "Wrote" if target.content is None else "Replaced"
        # Nothing of the old content is left, so its label does not matter.
        return written(target, content, context, label=context.label, at=self._clock.now(), verb=verb)


def encode(text: str, path: str) -> bytes:
    """Raises ToolError for what is no text or too much of it."""
    if "\x00" in text:
        raise ToolError(f"The content for {path} holds a NUL character; only text can be written.")
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"The content for {path} holds half a character (a lone surrogate).") from None
    if len(content) > MAX_WRITTEN:
        raise ToolError(f"{len(content):,} bytes are too much for one file; at most {MAX_WRITTEN:,}.")
    return content


def put(target: Target, content: bytes, context: ToolContext, *, label: Label, at: float) -> Put:
    return Put(
        collection=WORKSPACE,
        path=target.place,
        content=content,
        at=at,
        author=str(context.principal.user),
        turn=context.turn,
        label=label,
        expect_version=target.version,
        # A new script can be run right away; whoever wants it otherwise says so by chmod.
        executable=True if target.version == 0 and content.startswith(_SCRIPT) else None,
    )


def written(target: Target, content: bytes, context: ToolContext, *, label: Label, at: float, verb: str) -> ToolResult:
    """The result of one file's change; the write itself is committed with it."""
    added, gone = counts(target.content, content)
    version = target.version + 1
    return ToolResult(
        text=f"{verb} {target.path} (+{added} -{gone} lines, version {version}).",
        details={"path": target.path, "version": version, "diff": unified(target.content, content, target.path)},
        label=label,
        writes=(put(target, content, context, label=label, at=at),),
    )
