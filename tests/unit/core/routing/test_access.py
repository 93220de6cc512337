from dataclasses import replace

import pytest

from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import InboundMessage
from ostiary.core.routing.access import Dropped, GroupRule, Heard, SpeakPolicy, may_speak
from tests.unit.core.routing.inbound import direct, group


def verdict(message: InboundMessage, policy: SpeakPolicy | None, *, role: str = "external", **more: object) -> str:
    result = may_speak(message, Principal(user=message.sender, role=role), policy, **more)  # type: ignore[arg-type]
    return result.by if isinstance(result, Heard) else result.reason


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, "no_policy"),
        (SpeakPolicy(), "not_paired"),
        (SpeakPolicy(dm="pairing", paired=frozenset({"123"})), "paired"),
        (SpeakPolicy(dm="pairing", paired=frozenset({"*"})), "not_paired"),
        (SpeakPolicy(dm="pairing", allow_from=frozenset({"123"})), "allowlist"),
        (SpeakPolicy(dm="allowlist"), "not_on_allowlist"),
        (SpeakPolicy(dm="allowlist", paired=frozenset({"123"})), "not_on_allowlist"),
        (SpeakPolicy(dm="allowlist", allow_from=frozenset({"telegram:123"})), "allowlist"),
        (SpeakPolicy(dm="allowlist", allow_from=frozenset({"discord:123"})), "not_on_allowlist"),
        (SpeakPolicy(dm="allowlist", allow_from=frozenset({"*"})), "allowlist"),
        (SpeakPolicy(dm="open"), "open"),
        (SpeakPolicy(dm="disabled", allow_from=frozenset({"*"})), "dm_disabled"),
        (SpeakPolicy(dm="opne"), "dm_disabled"),  # type: ignore[arg-type]
        (SpeakPolicy(dm=""), "dm_disabled"),  # type: ignore[arg-type]
    ],
)
def test_a_stranger_speaks_in_private_only_where_a_rule_says_so(policy: SpeakPolicy | None, expected: str) -> None:
    assert verdict(direct("123"), policy) == expected


def test_the_owner_needs_no_entry_but_a_closed_door_is_closed() -> None:
    assert verdict(direct(), SpeakPolicy(), role="owner") == "owner"
    assert verdict(direct(), SpeakPolicy(dm="disabled"), role="owner") == "dm_disabled"


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_sender_id_is_never_heard(empty: str) -> None:
    assert verdict(direct(empty), SpeakPolicy(dm="open", allow_from=frozenset({"*", ""}))) == "no_sender_id"


def test_display_names_count_for_nothing() -> None:
    impostor = replace(direct("666"), sender_name="123")
    assert verdict(impostor, SpeakPolicy(dm="allowlist", allow_from=frozenset({"123"}))) == "not_on_allowlist"


def test_an_id_spelled_like_an_entry_is_not_that_entry() -> None:
    impostor = direct("telegram:123")
    assert verdict(impostor, SpeakPolicy(dm="allowlist", allow_from=frozenset({"telegram:123"}))) == "not_on_allowlist"


def test_a_principal_that_is_not_the_sender_is_refused() -> None:
    result = may_speak(direct("666"), Principal(user=direct("123").sender, role="owner"), SpeakPolicy(dm="open"))
    assert result == Dropped(reason="not_the_sender")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (SpeakPolicy(), "not_on_group_allowlist"),
        (SpeakPolicy(dm="open"), "not_on_group_allowlist"),
        (SpeakPolicy(paired=frozenset({"123"})), "not_on_group_allowlist"),
        (SpeakPolicy(allow_from=frozenset({"123"})), "allowlist"),
        (SpeakPolicy(allow_from=frozenset({"123"}), group_allow_from=frozenset()), "not_on_group_allowlist"),
        (SpeakPolicy(group_allow_from=frozenset({"123"})), "allowlist"),
        (SpeakPolicy(group="open"), "open"),
        (SpeakPolicy(group="disabled", allow_from=frozenset({"*"})), "group_disabled"),
        (SpeakPolicy(group="whatever"), "group_disabled"),  # type: ignore[arg-type]
        (SpeakPolicy(group="open", groups={"-1": GroupRule()}), "group_not_listed"),
        (SpeakPolicy(group="open", groups={"-100": GroupRule()}), "open"),
        (SpeakPolicy(group="open", groups={"*": GroupRule()}), "open"),
        (SpeakPolicy(group="open", groups={"-100": GroupRule(allow_from=frozenset({"9"}))}), "not_on_group_allowlist"),
    ],
)
def test_groups_have_rules_of_their_own(policy: SpeakPolicy, expected: str) -> None:
    assert verdict(group("-100"), policy) == expected


def test_a_group_without_an_id_is_closed() -> None:
    assert verdict(group(""), SpeakPolicy(group="open")) == "no_chat_id"


@pytest.mark.parametrize(
    ("policy", "activation", "expected"),
    [
        (SpeakPolicy(group="open"), "", "not_mentioned"),
        (SpeakPolicy(group="open", require_mention=False), "", "open"),
        (SpeakPolicy(group="open", require_mention=False), "mention", "not_mentioned"),
        (SpeakPolicy(group="open"), "always", "open"),
        (SpeakPolicy(group="open"), "nonsense", "not_mentioned"),
        (SpeakPolicy(group="open", groups={"-100": GroupRule(require_mention=False)}), "", "open"),
        (SpeakPolicy(group="open", groups={"*": GroupRule(require_mention=False)}), "", "open"),
        (SpeakPolicy(group="allowlist"), "always", "not_on_group_allowlist"),
    ],
)
def test_unmentioned_group_talk_is_left_alone_unless_activated(policy: SpeakPolicy, activation: str, expected: str) -> None:
    assert verdict(group("-100", mentions_us=False), policy, activation=activation) == expected


def test_only_the_owners_command_needs_no_mention() -> None:
    policy = SpeakPolicy(group="open")
    unmentioned = group("-100", mentions_us=False)
    assert verdict(unmentioned, policy, role="owner", is_command=True) == "open"
    assert verdict(unmentioned, policy, is_command=True) == "not_mentioned"
