"""From the configuration to how replies leave, and what a channel is given."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostiary.assembly.config.load import load
from ostiary.assembly.config.schema import Config
from ostiary.assembly.delivering import manner_of, renderer
from ostiary.contracts.channel import Capabilities
from ostiary.core.routing.delivery import Manner
from ostiary.kit.channels import MemoryChannel
from tests.unit.assembly.test_rules import nested

Configure = Callable[[dict[str, Any]], Config]


@pytest.fixture
def configured(tmp_path: Path) -> Configure:
    def make(config: dict[str, Any]) -> Config:
        path = tmp_path / "ostiary.json5"
        path.write_text(json.dumps(config))
        path.chmod(0o600)
        return load(tmp_path, {}).config

    return make


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("messages.responsePrefix", "bot:", lambda manner: manner.prefix == "bot: "),
        ("channels.irc.responsePrefix", "irc:", lambda manner: manner.prefix == "irc: "),
        ("channels.irc.replyToMode", "all", lambda manner: manner.reply_to == "all"),
        ("channels.irc.blockStreaming", True, lambda manner: manner.stream.enabled),
        ("agents.defaults.blockStreamingDefault", "on", lambda manner: manner.stream.enabled),
        ("agents.defaults.blockStreamingBreak", "message_end", lambda manner: manner.stream.break_at == "message_end"),
        ("agents.defaults.blockStreamingChunk.minChars", 50, lambda manner: manner.stream.minimum == 50),
        ("agents.defaults.blockStreamingChunk.maxChars", 70, lambda manner: manner.stream.maximum == 70),
        ("agents.defaults.blockStreamingCoalesce.minChars", 55, lambda manner: manner.stream.gather == 55),
        ("channels.irc.blockStreamingCoalesce.minChars", 60, lambda manner: manner.stream.gather == 60),
        ("channels.irc.blockStreamingCoalesce.maxChars", 65, lambda manner: manner.stream.maximum == 65),
        ("channels.irc.blockStreamingCoalesce.idleMs", 250, lambda manner: manner.stream.idle == 0.25),
        ("channels.irc.typingMode", "thinking", lambda manner: manner.typing.mode == "thinking"),
        ("agents.defaults.typingMode", "never", lambda manner: manner.typing.mode == "never"),
        ("agents.defaults.typingIntervalSeconds", 4, lambda manner: manner.typing.every == 4.0),
    ],
)
def test_a_key_has_its_effect_and_only_when_it_is_set(
    configured: Configure, key: str, value: object, read: Callable[[Manner], bool]
) -> None:
    assert not read(manner_of(configured({}), "irc"))
    assert read(manner_of(configured(nested(key, value)), "irc"))


def test_a_channels_own_settings_count_before_the_general_ones(configured: Configure) -> None:
    config = configured(
        {
            "messages": {"responsePrefix": "all:"},
            "agents": {"defaults": {"blockStreamingDefault": "on", "typingMode": "instant"}},
            "channels": {"irc": {"responsePrefix": "", "blockStreaming": False, "typingMode": "never"}},
        }
    )
    own, other = manner_of(config, "irc"), manner_of(config, "signal")
    assert (own.prefix, own.stream.enabled, own.typing.mode) == ("", False, "never")
    assert (other.prefix, other.stream.enabled, other.typing.mode) == ("all: ", True, "instant")
    assert (own.stream.gather, other.stream.gather) == (300, 1500)


TABLE = "**Hi** there\n\n|a|b|\n|-|-|\n|1|2|"


@pytest.mark.parametrize(
    ("channel", "config", "messages"),
    [
        ("telegram", {}, ["<b>Hi</b> there\n\n<pre>a   | b\n----+----\n1   | 2</pre>"]),
        ("telegram", {"chunkMode": "newline"}, ["<b>Hi</b> there", "<pre>a   | b\n----+----\n1   | 2</pre>"]),
        ("slack", {"markdown": {"tables": "bullets"}}, ["*Hi* there\n\n• *1*: 2"]),
        ("memory", {"chunkMode": "newline"}, ["**Hi** there", "|a|b|\n|-|-|\n|1|2|"]),
        ("declared", {}, ["Hi there\n\na   | b\n----+----\n1   | 2"]),
    ],
)
def test_each_channel_gets_what_it_can_show(
    configured: Configure, channel: str, config: dict[str, Any], messages: list[str]
) -> None:
    known = {
        "memory": MemoryChannel(),
        "declared": MemoryChannel("declared", capabilities=Capabilities(markup="plain")),
    }
    settings = configured({"channels": {channel: config}} if config else {})
    rendered = renderer(lambda: settings, known)(channel, TABLE)
    assert rendered is not None
    assert [each.text for each in rendered] == messages


def test_a_channel_nobody_spoke_of_takes_markdown_as_it_is(configured: Configure) -> None:
    settings = configured({})
    assert renderer(lambda: settings, {"memory": MemoryChannel()})("memory", TABLE) is None


@pytest.mark.parametrize("channel", ["telegram", "memory"])
def test_the_owner_sets_how_long_a_message_is(configured: Configure, channel: str) -> None:
    settings = configured({"channels": {channel: {"textChunkLimit": 100}}})
    rendered = renderer(lambda: settings, {"memory": MemoryChannel()})(channel, "word " * 100)
    assert rendered is not None
    assert [len(each.text) for each in rendered] == [99, 99, 99, 99, 99]
