"""How replies leave on each channel, as the configuration says. Pure, except that renderers are imported with the first reply."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ostiary.contracts.channel import Capabilities, Channel
from ostiary.contracts.text import Rendered
from ostiary.core.routing.chunks import split_text
from ostiary.core.routing.delivery import Manner, Render
from ostiary.core.routing.reply_tags import response_prefix
from ostiary.core.routing.streaming import CHANNEL_RULES, StreamRules
from ostiary.core.routing.typing_signs import TypingRules

if TYPE_CHECKING:
    from ostiary.assembly.config.conversation import Channel as ChannelSettings
    from ostiary.assembly.config.schema import Config


def manner_of(config: "Config", channel: str) -> Manner:
    """The channel's own setting, else the general one."""
    own, general = config.channels.get(channel), config.agents.defaults
    return Manner(
        prefix=response_prefix((own.response_prefix if own is not None else None, config.messages.response_prefix)),
        reply_to=own.reply_to_mode if own is not None else "off",
        stream=_stream(config, channel, own),
        typing=TypingRules(
            mode=(own.typing_mode if own is not None else None) or general.typing_mode,
            every=float(general.typing_interval_seconds),
        ),
    )


def _stream(config: "Config", channel: str, own: "ChannelSettings | None") -> StreamRules:
    general = config.agents.defaults
    enabled = own.block_streaming if own is not None else None
    rules = replace(
        CHANNEL_RULES.get(channel, StreamRules()),
        enabled=general.block_streaming_default == "on" if enabled is None else enabled,
        minimum=general.block_streaming_chunk.min_chars,
        maximum=general.block_streaming_chunk.max_chars,
        break_at=general.block_streaming_break,
    )
    for joins in (general.block_streaming_coalesce, *((own.block_streaming_coalesce,) if own is not None else ())):
        rules = replace(
            rules,
            gather=joins.min_chars or rules.gather,
            maximum=joins.max_chars or rules.maximum,
            idle=joins.idle_ms / 1000 if joins.idle_ms else rules.idle,
        )
    return rules


def renderer(config: "Callable[[], Config]", channels: Mapping[str, Channel]) -> Render:
    """From Markdown to the messages of a channel, by the newest configuration."""

    def render(channel: str, text: str) -> list[Rendered] | None:
        known = channels.get(channel)
        capabilities = known.capabilities if known is not None else Capabilities()
        return _render(config().channels.get(channel), channel, capabilities, text)

    return render


def _render(own: "ChannelSettings | None", channel: str, capabilities: Capabilities, text: str) -> list[Rendered] | None:
    # The parser and the renderers cost memory that a house without channels never needs.
    from ostiary.adapters.text.registry import adjusted, form_of, render_in

    size = own.text_chunk_limit if own is not None else None
    form = form_of(channel, capabilities.markup, max_chars=capabilities.max_chars)
    if form is not None and own is not None:
        form = adjusted(form, size=size, tables=own.markdown.tables, chunk_mode=own.chunk_mode)
    if form is not None:
        return render_in(form, text)
    if own is None:
        return None
    return [Rendered(piece) for piece in split_text(text, size or capabilities.max_chars, mode=own.chunk_mode)]
