"""Renderers by name, each imported when it is first asked for, and what is known of the channels that use them."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module

from ostiary.adapters.text.parse import parse
from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass
from ostiary.contracts.text import ChunkMode, Limits, Rendered, Renderer, RenderOptions, TableMode

NAMES = ("discord", "html", "mail", "plain", "signal", "slack", "telegram", "whatsapp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a channel's text looks: its renderer, its limits, and whether `||text||` hides."""

    renderer: str
    options: RenderOptions = RenderOptions()
    spoilers: bool = False


FORMS: Mapping[str, Form] = {
    "telegram": Form(renderer="telegram", options=RenderOptions(limits=Limits(size=4000, unit="utf16")), spoilers=True),
    "discord": Form(renderer="discord", options=RenderOptions(limits=Limits(size=2000, lines=17)), spoilers=True),
    "slack": Form(renderer="slack"),
    "whatsapp": Form(renderer="whatsapp"),
    "signal": Form(renderer="signal", spoilers=True),
    "irc": Form(renderer="plain", options=RenderOptions(limits=Limits(size=350, unit="bytes", lines=1), tables="bullets")),
    "email": Form(renderer="mail", options=RenderOptions(limits=Limits(size=0))),
    "webchat": Form(renderer="html", options=RenderOptions(limits=Limits(size=0))),
}


def renderer(name: str) -> Renderer:
    """Raises BadInput for a name that is not one of ours."""
    if name not in NAMES:
        raise BadInput(f"there is no renderer {name[:40]!r}", hint=f"Known are {', '.join(NAMES)}.")
    found: Renderer = import_module(f"ostiary.adapters.text.render_{name}").render
    return found


def form_of(channel: str, markup: str = "", *, max_chars: int = 4000) -> Form | None:
    """What is known of the channel by its name, else a form for the renderer it declares; None: it takes Markdown as it is."""
    if channel in FORMS:
        return FORMS[channel]
    return Form(renderer=markup, options=RenderOptions(limits=Limits(size=max_chars))) if markup in NAMES else None


def adjusted(
    form: Form,
    *,
    size: int | None = None,
    lines: int | None = None,
    tables: TableMode | None = None,
    chunk_mode: ChunkMode | None = None,
) -> Form:
    """The form with what the owner set for the channel; None leaves a value as it is."""
    options = form.options
    limits = replace(
        options.limits,
        size=options.limits.size if size is None else size,
        lines=options.limits.lines if lines is None else lines,
    )
    chosen = replace(options, limits=limits, tables=tables or options.tables, chunk_mode=chunk_mode or options.chunk_mode)
    return replace(form, options=chosen)


def render_in(form: Form, text: str) -> list[Rendered]:
    """Markdown to the messages of one channel. Never raises for any text; an empty text gives no message."""
    return renderer(form.renderer)(parse(text, spoilers=form.spoilers), form.options)
