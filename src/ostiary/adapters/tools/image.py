"""image: ask the image model about a picture of the workspace or of the web."""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import RESULT_BYTES, Files, clean_path, cut, label_of
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, EgressRefused, ModelError, ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.pictures import picture_type_of
from ostiary.contracts.plugin import PluginHost
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

MAX_BYTES = 10 * 1024 * 1024
MAX_QUESTION = 2000
_QUESTION = "Describe this picture. Quote any text in it."

SPEC = ToolSpec(
    schema=ToolSchema(
        name="image",
        description="Look at a picture: a workspace path or a url.",
        parameters={
            "type": "object",
            "properties": {"path": {"type": "string"}, "url": {"type": "string"}, "question": {"type": "string"}},
            "additionalProperties": False,
        },
    ),
    # A url is asked for, so it can carry words out: the rules must see that.
    effects=frozenset({Effect.READ, Effect.NETWORK}),
    repeatable=True,
    untrusted_output=False,
    seconds=120.0,
)

Describe = Callable[[bytes, str, str], Awaitable[str]]
"""Picture, media type and question in; the image model's words out. Raises ModelError, BadInput."""

FetchBytes = Callable[[str, int, ToolContext], Awaitable[bytes]]
"""The body at a URL, at most that many bytes, by the egress rules. Raises ToolError, EgressRefused."""


def register_image(
    host: PluginHost, *, files: Files, describe: Describe, fetch: FetchBytes, max_bytes: int = RESULT_BYTES
) -> None:
    """image."""
    host.add_tool(LookAt(files, describe, fetch, max_bytes=max_bytes))


class LookAt:
    """The answer carries the label of the picture: what is written in one is no better than who made it."""

    spec = SPEC

    def __init__(self, files: Files, describe: Describe, fetch: FetchBytes, *, max_bytes: int = RESULT_BYTES) -> None:
        self._files = files
        self._describe = describe
        self._fetch = fetch
        self._max_bytes = max_bytes

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "path", "url", "question")
        path, url = fields.text(arguments, "path", ""), fields.text(arguments, "url", "")
        question = fields.text(arguments, "question", "").strip() or _QUESTION
        if bool(path) == bool(url):
            raise ToolError("Give either path or url.")
        if len(question) > MAX_QUESTION:
            raise ToolError(f"The question is longer than {MAX_QUESTION:,} characters.")
        content, label, name = await (self._of_workspace(path, context) if path else self._of_web(url, context))
        media_type = picture_type_of(content)
        if not media_type:
            raise ToolError(f"{name} is no PNG, JPEG, GIF or WebP picture.")
        if len(content) > MAX_BYTES:
            raise ToolError(f"{name} is larger than {MAX_BYTES // 2**20} MB.")
        try:
            words = await self._describe(content, media_type, question)
        except (ModelError, BadInput) as error:
            raise ToolError(f"The image model could not be asked: {str(error).rstrip('.')}. {error.hint}".rstrip()) from None
        details = {"image": name, "bytes": len(content), "media_type": media_type}
        return ToolResult(text=cut(words, self._max_bytes) or "[it said nothing]", details=details, label=label)

    async def _of_workspace(self, path: str, context: ToolContext) -> tuple[bytes, Label, str]:
        cleaned = clean_path(path)
        found = await self._files.get(cleaned, context) if cleaned else None
        if found is None:
            raise ToolError(f"There is no file {cleaned[:200] or path[:200]}. Use ls or find to see what there is.")
        version, content = found
        return content, label_of(version), cleaned

    async def _of_web(self, url: str, context: ToolContext) -> tuple[bytes, Label, str]:
        host = _web_address(url)
        try:
            content = await self._fetch(url, MAX_BYTES, context)
        except EgressRefused as error:
            raise ToolError(f"Refused: {str(error).rstrip('.')}. {error.hint}".rstrip()) from None
        return content, Label(trust=Trust.UNTRUSTED, sources=(f"web:{host}",)), url[:200]


def _web_address(url: str) -> str:
    """Its host. Raises ToolError for what is not an http or https address."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise ToolError("The url cannot be read.") from None
    if parts.scheme.lower() not in ("http", "https") or not host or not url.isprintable() or " " in url:
        raise ToolError("Only http and https addresses can be looked at.")
    return host
