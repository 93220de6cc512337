"""browser: a real browser, one page at a time, read as an outline with refs."""

import hashlib
import re
from collections.abc import Mapping
from typing import Protocol, cast, get_args
from urllib.parse import urlsplit

from ostiary.adapters.browser.records import Act, Bound, Order, View
from ostiary.adapters.tools import fields
from ostiary.contracts.content import Image, Label, Trust
from ostiary.contracts.errors import Busy, SandboxUnavailable, ToolError
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.plugin import PluginHost
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_ACTS = get_args(Act)
_MAX_URL = 4000
_MAX_TEXT = 10_000
_REF = re.compile(r"(?:f\d{1,6})?e\d{1,9}")
_CONTROL = re.compile("[\x00-\x20\x7f-\x9f\u2028\u2029\ud800-\udfff]")

SPEC = ToolSpec(
    schema=ToolSchema(
        name="browser",
        description="Use a real web browser. What it shows carries refs such as e12 to click or type into.",
        parameters={
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": list(_ACTS)},
                "url": {"type": "string"},
                "ref": {"type": "string"},
                "text": {"type": "string"},
                "submit": {"type": "boolean"},
                "page": {"type": "integer"},
            },
            "required": ["action"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.NETWORK, Effect.SEND}),
    repeatable=False,
    untrusted_output=True,
    harmless_when={"action": frozenset({"read", "screenshot", "close", "back"})},
    seconds=120.0,
)


class Pages(Protocol):
    """The port to the house's browser (adapters.browser.Browser). Raises ToolError, Busy, SandboxUnavailable."""

    async def perform(self, session: SessionKey, principal: Principal, order: Order) -> View: ...

    async def look(self, session: SessionKey, principal: Principal, ref: str) -> Bound: ...


def register_browser(host: PluginHost, *, pages: Pages) -> None:
    """browser."""
    host.add_tool(BrowserTool(pages))


class BrowserTool:
    """Every result is the page's word: untrusted, labelled with its host."""

    spec = SPEC

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        order = _order(arguments)
        if order.act == "open":
            context.report(f"Opening {urlsplit(order.url).hostname}")
        try:
            view = await self._pages.perform(context.session, context.principal, order)
        except (Busy, SandboxUnavailable) as error:
            raise ToolError(f"{str(error)[:1].upper()}{str(error)[1:].rstrip('.')}. {error.hint}".strip()) from None
        return _closed(view) if order.act == "close" else _shown(view)

    async def bind(self, arguments: Mapping[str, object], context: ToolContext) -> Mapping[str, str]:
        """An approval of a click or a typing is for this element of this page, leading where it leads now."""
        order = _order(arguments)
        if order.act not in ("click", "type"):
            return {}
        bound = await self._pages.look(context.session, context.principal, order.ref)
        element = bound.element
        facts = {"page": bound.url, "element": f'{element.role} "{element.name}"'}
        return {**facts, "leads to": element.target} if element.target else facts


def _order(arguments: Mapping[str, object]) -> Order:
    fields.only(arguments, "action", "url", "ref", "text", "submit", "page")
    act = fields.text(arguments, "action")
    if act not in _ACTS:
        raise ToolError(f"action must be one of {', '.join(_ACTS)}.")
    url, ref = fields.text(arguments, "url", ""), fields.text(arguments, "ref", "")
    text = fields.text(arguments, "text", "")
    if act == "open":
        url = _web_address(url)
    if act in ("click", "type") and not _REF.fullmatch(ref):
        raise ToolError("ref must be one of the refs that read shows, such as e12.")
    if act == "type" and "text" not in arguments:
        raise ToolError("type needs text.")
    if len(text) > _MAX_TEXT:
        raise ToolError(f"At most {_MAX_TEXT:,} characters can be typed at once.")
    return Order(
        act=cast(Act, act),
        url=url,
        ref=ref,
        text=text,
        submit=fields.flag(arguments, "submit"),
        page=fields.whole(arguments, "page", 1, least=1, most=50),
    )


def _web_address(text: str) -> str:
    """Raises ToolError for anything but an http or https address with a host and without a password in it."""
    url = text.strip()
    if len(url) > _MAX_URL or _CONTROL.search(url) or "\\" in url:
        raise ToolError("The url is too long or contains spaces, backslashes or control characters.")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ToolError("The url cannot be read.") from None
    if parts.scheme.lower() not in ("http", "https") or not host:
        raise ToolError("Only http and https addresses are opened.")
    if parts.username is not None or parts.password is not None:
        raise ToolError("A url with a user name or password in it is not opened.")
    return url


def _shown(view: View) -> ToolResult:
    host = urlsplit(view.url).hostname or "blank"
    label = Label(trust=Trust.UNTRUSTED, sources=(f"web:{host}",))
    lines = [f"[{view.url}] {view.title}".rstrip(), *(f"[{note}]" for note in view.notes)]
    if view.tabs > 1:
        lines.append(f"[tab {view.tabs} of {view.tabs}]")
    details: dict[str, object] = {"url": view.url, "title": view.title}
    if view.notes:
        details["notes"] = list(view.notes)
    if view.image:
        digest = hashlib.sha256(view.image).hexdigest()
        details["screenshot"] = digest
        image = Image(digest=digest, media_type=view.media_type, label=label)
        return ToolResult(
            text="\n".join([*lines, "[screenshot]"]), details=details, images=(image,), label=label, blobs={digest: view.image}
        )
    lines.append(view.text or "[the page shows nothing]")
    if view.pages > 1:
        more = f"; read on with page={view.page + 1}" if view.page < view.pages else ""
        lines.append(f"[part {view.page} of {view.pages}{more}]")
    return ToolResult(text="\n".join(lines), details=details, label=label)


def _closed(view: View) -> ToolResult:
    return ToolResult(text=" ".join(view.notes) or "Closed.", label=Label(trust=Trust.SYSTEM, sources=("browser",)))
