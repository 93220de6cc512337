import pytest

from ostiary.contracts.identity import SessionKey
from ostiary.core.routing.sendpolicy import SendPolicy, SendRule, may_send

ROOM = SessionKey("main", "discord:channel:C1")


def allowed(*rules: SendRule, default: str = "allow", override: str = "", key: SessionKey = ROOM) -> bool:
    policy = SendPolicy(rules=rules, default=default)  # type: ignore[arg-type]
    return may_send(key, channel="discord", chat_type="channel", policy=policy, override=override).allowed


@pytest.mark.parametrize(
    "rule",
    [
        SendRule(action="deny"),
        SendRule(action="deny", channel="Discord"),
        SendRule(action="deny", chat_type="channel"),
        SendRule(action="deny", channel="discord", chat_type="channel"),
        SendRule(action="deny", key_prefix="discord:channel:"),
        SendRule(action="deny", key_prefix="agent:main:discord"),
        SendRule(action="deny", raw_key_prefix="Agent:main:discord:"),
        SendRule(action="forbid"),  # type: ignore[arg-type]
    ],
)
def test_a_rule_that_matches_stops_the_reply(rule: SendRule) -> None:
    assert not allowed(rule)


@pytest.mark.parametrize(
    "rule",
    [
        SendRule(action="deny", channel="slack"),
        SendRule(action="deny", channel="discord", chat_type="group"),
        SendRule(action="deny", key_prefix="cron:"),
        SendRule(action="deny", raw_key_prefix="discord:"),
        SendRule(action="deny", raw_key_prefix="agent:work:"),
    ],
)
def test_a_rule_that_matches_only_in_part_does_not_count(rule: SendRule) -> None:
    assert allowed(rule)


def test_deny_beats_allow_in_any_order() -> None:
    yes, no = SendRule(action="allow"), SendRule(action="deny", channel="discord")
    assert not allowed(yes, no)
    assert not allowed(no, yes)


def test_allow_rules_open_a_closed_default() -> None:
    assert not allowed(default="deny")
    assert not allowed(default="")
    assert allowed(SendRule(action="allow", chat_type="channel"), default="deny")


def test_dm_in_a_rule_means_direct() -> None:
    policy = SendPolicy(rules=(SendRule(action="deny", chat_type="dm"),))
    assert not may_send(SessionKey("main", "main"), channel="telegram", chat_type="direct", policy=policy).allowed


def test_the_sessions_own_setting_beats_the_rules() -> None:
    assert allowed(SendRule(action="deny"), override="on")
    assert not allowed(override="off")
    assert not allowed(override="maybe")


def test_the_verdict_names_what_decided() -> None:
    policy = SendPolicy(rules=(SendRule(action="allow", channel="slack"), SendRule(action="deny")))
    assert may_send(ROOM, channel="discord", chat_type="channel", policy=policy).reason == "session.sendPolicy.rules[1]"
    assert may_send(ROOM, channel="discord", chat_type="channel", policy=policy, override="on").reason == "/send on"
