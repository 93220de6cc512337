"""Every key of the configuration that the engine reads has its effect in the compiled rules."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostiary.assembly.config.load import load
from ostiary.assembly.rules import Rules, compile_rules
from ostiary.contracts.errors import ConfigInvalid, OstiaryError
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Address, ChatKind, InboundMessage, UserId
from ostiary.core.routing.access import Heard, may_speak
from ostiary.core.routing.bindings import choose_agent
from ostiary.core.routing.queue import QueueRules
from ostiary.core.sessions.resets import type_of

OWNER = Principal(user=UserId(channel="telegram", stable_id="1"), role="owner")
Compile = Callable[..., Rules]


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    """The rules of a configuration given as an object."""

    def make(config: dict[str, Any], **more: Any) -> Rules:
        path = tmp_path / "ostiary.json5"
        path.write_text(json.dumps(config))
        path.chmod(0o600)
        loaded = load(tmp_path, {})
        return compile_rules(loaded.config, loaded.generation, **more)

    return make


def nested(path: str, value: object) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("agents.defaults.timeoutSeconds", 42, lambda rules: rules.run.timeout == 42.0),
        ("agents.defaults.thinkingDefault", "high", lambda rules: rules.run.thinking == "high"),
        ("agents.defaults.maxConcurrent", 9, lambda rules: rules.caps.of("main") == 9),
        ("agents.defaults.subagents.maxConcurrent", 3, lambda rules: rules.caps.of("subagent") == 3),
        ("agents.defaults.userTimezone", "Asia/Tokyo", lambda rules: rules.zone_name == "Asia/Tokyo"),
        ("session.historyLimit", 12, lambda rules: rules.run.history_messages == 12),
        ("session.dmScope", "per-peer", lambda rules: rules.intake.scopes.dm == "per-peer"),
        ("session.identityLinks", {"ann": ["telegram:1"]}, lambda rules: bool(rules.intake.scopes.links)),
        ("session.resetTriggers", ["/new", "fresh"], lambda rules: rules.desk.reset_triggers == ("fresh",)),
        ("session.sendPolicy.default", "deny", lambda rules: rules.send.default == "deny"),
        ("messages.queue.mode", "steer", lambda rules: rules.intake.queue.mode == "steer"),
        ("messages.queue.debounceMs", 250, lambda rules: rules.intake.queue.debounce == 0.25),
        ("messages.queue.cap", 7, lambda rules: rules.intake.queue.cap == 7),
        ("messages.queue.drop", "old", lambda rules: rules.intake.queue.drop == "old"),
        ("messages.inbound.debounceMs", 300, lambda rules: rules.intake.inbound_debounce[""] == 0.3),
        ("messages.inbound.byChannel", {"irc": 100}, lambda rules: rules.intake.inbound_debounce.get("irc") == 0.1),
        ("commands.ownerAllowFrom", ["telegram:1"], lambda rules: OWNER.user in rules.intake.owners),
        ("tools.resultMaxBytes", 4096, lambda rules: rules.tool_limits.result_chars == 4096),
        ("agents.list", [{"id": "ann"}, {"id": "bob", "default": True}], lambda rules: rules.default_agent == "bob"),
    ],
)
def test_a_key_has_its_effect_and_only_when_it_is_set(
    compiled: Compile, key: str, value: object, read: Callable[[Rules], bool]
) -> None:
    assert not read(compiled({}))
    assert read(compiled(nested(key, value)))


def test_a_channels_queue_mode_keeps_the_general_limits(compiled: Compile) -> None:
    queue = {"mode": "collect", "cap": 5, "debounceMs": 100, "drop": "new", "byChannel": {"irc": "steer"}}
    rules = compiled({"messages": {"queue": queue}})
    assert rules.intake.queue_by_channel == {"irc": QueueRules(mode="steer", debounce=0.1, cap=5, drop="new")}


def test_a_channel_that_is_off_hears_nobody(compiled: Compile) -> None:
    channels = {"irc": {"enabled": False, "dmPolicy": "open"}, "telegram": {"dmPolicy": "open", "allowFrom": ["5"]}}
    rules = compiled({"channels": channels})
    assert set(rules.intake.speak) == {"telegram"}
    assert (rules.intake.speak["telegram"].dm, rules.intake.speak["telegram"].allow_from) == ("open", frozenset({"5"}))


def test_bindings_are_compiled_in_their_order(compiled: Compile) -> None:
    agents = [{"id": "main"}, {"id": "work"}]
    bindings = [{"agentId": "work", "match": {"channel": "slack", "accountId": "*"}}]
    rules = compiled({"agents": {"list": agents}, "bindings": bindings})
    assert rules.agents == ("main", "work")


@pytest.mark.parametrize(
    "config", [{"agents": {"defaults": {"userTimezone": "Mars/Olympus"}}}, {"tools": {"deny": ["group:none"]}}]
)
def test_what_cannot_be_compiled_is_refused_with_an_error_of_ours(compiled: Compile, config: dict[str, Any]) -> None:
    with pytest.raises(OstiaryError):
        compiled(config)


def test_a_wrong_time_zone_names_its_key(compiled: Compile) -> None:
    with pytest.raises(ConfigInvalid, match="userTimezone"):
        compiled({"agents": {"defaults": {"userTimezone": "Mars/Olympus"}}})


def in_room(chat: str, *, mentions_us: bool = False) -> InboundMessage:
    address = Address(channel="irc", account="default", chat=chat)
    sender = UserId(channel="irc", stable_id="ann")
    return InboundMessage(
        id="m", address=address, sender=sender, text="hi", at=0.0, chat_kind=ChatKind.GROUP, mentions_us=mentions_us
    )


@pytest.mark.parametrize(
    ("channel", "chat", "heard"),
    [
        ({}, "#a", False),
        ({"requireMention": False}, "#a", True),
        ({"requireMention": False, "groups": {"#b": {}}}, "#a", False),
        ({"groups": {"#a": {"requireMention": False}}}, "#a", True),
        ({"groups": {"*": {"requireMention": False}, "#a": {"requireMention": True}}}, "#a", False),
        ({"groups": {"#a": {"requireMention": False, "allowFrom": ["bob"]}}}, "#a", False),
        ({"groups": {"#a": {"requireMention": False, "allowFrom": ["ann"]}}}, "#a", True),
    ],
)
def test_a_channels_groups_say_where_it_listens_and_to_whom(
    compiled: Compile, channel: dict[str, Any], chat: str, heard: bool
) -> None:
    rules = compiled({"channels": {"irc": {"groupPolicy": "open", **channel}}})
    message = in_room(chat)
    decision = may_speak(message, Principal(user=message.sender), rules.intake.speak["irc"])
    assert isinstance(decision, Heard) is heard


def test_a_parent_peer_takes_the_threads_of_a_place_and_not_the_place(compiled: Compile) -> None:
    match = {"channel": "irc", "parentPeer": {"kind": "group", "id": "#a"}}
    rules = compiled({"agents": {"list": [{"id": "main"}, {"id": "ann"}]}, "bindings": [{"agentId": "ann", "match": match}]})
    place = in_room("#a")
    thread = replace(place, address=replace(place.address, thread="7"))
    elsewhere = replace(thread, address=replace(thread.address, chat="#b"))
    chosen = [choose_agent(message, rules.intake.bindings) for message in (place, thread, elsewhere)]
    assert [each.agent for each in chosen] == ["main", "ann", "main"]
    assert chosen[1].matched_by == "binding.peer.parent"


def test_peer_and_parent_peer_together_must_both_match(compiled: Compile) -> None:
    match = {"channel": "irc", "peer": {"kind": "group", "id": "#t"}, "parentPeer": {"kind": "group", "id": "#a"}}
    rules = compiled({"agents": {"list": [{"id": "main"}, {"id": "ann"}]}, "bindings": [{"agentId": "ann", "match": match}]})
    under = replace(in_room("#t"), parent="#a")
    chosen = [choose_agent(message, rules.intake.bindings).agent for message in (under, in_room("#t"), in_room("#a"))]
    assert chosen == ["ann", "main", "main"]


def test_a_room_has_its_own_reset_and_without_one_that_of_groups(compiled: Compile) -> None:
    group, room = {"mode": "idle", "idleMinutes": 5}, {"mode": "idle", "idleMinutes": 7}
    own = compiled({"session": {"resetByType": {"group": group, "channel": room}}}).resets
    shared = compiled({"session": {"resetByType": {"group": group}}}).resets
    in_channel = type_of(replace(in_room("#a"), chat_kind=ChatKind.CHANNEL))
    assert (own.policy_for(in_channel, "irc").idle_minutes, own.policy_for("group", "irc").idle_minutes) == (7, 5)
    assert shared.policy_for(in_channel, "irc").idle_minutes == 5


def test_how_much_of_the_owners_files_is_shown_can_be_set(compiled: Compile) -> None:
    rules = compiled({"agents": {"defaults": {"bootstrapMaxChars": 123, "bootstrapTotalMaxChars": 456}}})
    assert (rules.file_chars, rules.files_chars) == (123, 456)


def test_a_list_that_is_probably_not_meant_is_told_in_the_log(compiled: Compile, caplog: pytest.LogCaptureFixture) -> None:
    compiled({"tools": {"allow": ["weather"]}}, plugin_tools=frozenset({"weather"}))
    assert [record.name for record in caplog.records if "plugins alone" in record.getMessage()] == ["ostiary.policy"]
