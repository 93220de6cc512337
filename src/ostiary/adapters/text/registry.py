"""Renderers by name, each imported when it is first asked for, and what is known of the channels that use them."""

from collections.abc import Callable, Mapping
from importlib import import_module

from ostiary.adapters.text.parse import parse
from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass
from ostiary.contracts.text import Limits, Rendered, Renderer, RenderOptions

NAMES = ("discord", "html", "mail", "plain", "signal", "slack", "telegram", "whatsapp")
Render = Callable[[str, str], list[Rendered]]


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


def form_of(channel: str, *, max_chars: int = 4000) -> Form:
    """What is known of the channel, else plain text of at most `max_chars` characters."""
    known = FORMS.get(channel)
    return known or Form(renderer="plain", options=RenderOptions(limits=Limits(size=max_chars)))


def render_in(form: Form, text: str) -> list[Rendered]:
    """Markdown to the messages of one channel. Never raises for any text; an empty text gives no message."""
    return renderer(form.renderer)(parse(text, spoilers=form.spoilers), form.options)
