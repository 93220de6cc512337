from typing import Any

import pytest
from tests.unit.core.policy.acting import act

from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.policy import Deny
from ostiary.core.policy.layers import Lists
from ostiary.core.policy.places import GroupRules, group_layer, part_of, sender_layer

NO_EXEC = Lists(deny=("exec",))
ANN = Principal(user=UserId(channel="Telegram", stable_id="7"), role="owner")
BOB = Principal(user=UserId(channel="telegram", stable_id="8"), role="owner")
ELSEWHERE = Principal(user=UserId(channel="irc", stable_id="7"), role="owner")


def at(chat: str, channel: str = "telegram") -> Address:
    return Address(channel=channel, account="default", chat=chat)


def in_group(rules: dict[str, GroupRules], **more: Any) -> bool:
    """Whether exec is denied there."""
    layer = group_layer({"telegram": rules})
    return isinstance(layer(act("exec", more.pop("principal", ANN), **more)), Deny)


@pytest.mark.parametrize(
    ("scope", "denied"),
    [
        ("telegram:group:-100", True),
        ("telegram:channel:-100", True),
        ("telegram:second:group:-100", True),
        ("telegram:group:-100:thread:4", True),
        ("telegram:group:-200", False),
        ("irc:group:-100", False),
        ("telegram:direct:-100", False),
        ("main", False),
    ],
)
def test_a_groups_rules_hold_in_that_group_alone(scope: str, denied: bool) -> None:
    assert in_group({"-100": GroupRules(tools=NO_EXEC)}, scope=scope) is denied


@pytest.mark.parametrize("group", ["#room:x", "a/b", "x" * 200, "Ä"])
def test_a_group_is_found_however_session_keys_spell_its_id(group: str) -> None:
    assert in_group({group: GroupRules(tools=NO_EXEC)}, scope=f"telegram:group:{part_of(group)}")


def test_a_channels_case_does_not_matter() -> None:
    layer = group_layer({"Telegram": {"-100": GroupRules(tools=NO_EXEC)}})
    assert isinstance(layer(act("exec", scope="telegram:group:-100")), Deny)
    assert isinstance(layer(act("exec", reply_to=at("-100", "TELEGRAM"))), Deny)


@pytest.mark.parametrize(("scope", "denied"), [("telegram:group:-200", True), ("telegram:group:-100", False), ("main", False)])
def test_rules_for_every_group_hold_where_a_group_says_nothing_itself(scope: str, denied: bool) -> None:
    rules = {"*": GroupRules(tools=NO_EXEC), "-100": GroupRules(tools=Lists(deny=("ls",)))}
    assert in_group(rules, scope=scope) is denied


def test_a_group_without_rules_of_its_own_falls_back() -> None:
    rules = {"*": GroupRules(tools=NO_EXEC), "-100": GroupRules()}
    assert in_group(rules, scope="telegram:group:-100")


def test_what_answers_into_a_group_is_bound_by_its_rules_whatever_its_session() -> None:
    rules = {"-100": GroupRules(tools=NO_EXEC)}
    assert in_group(rules, scope="subagent:1", reply_to=at("-100"))
    assert in_group(rules, scope="cron:daily", reply_to=at("-100"))
    assert not in_group(rules, scope="subagent:1", reply_to=at("-100", "irc"))


@pytest.mark.parametrize(
    ("scope", "chat", "denied"),
    [("subagent:1", "-300", True), ("subagent:1", "7", False), ("cron:x", "-300", False), ("subagent:1", "", False)],
)
def test_a_child_that_does_not_answer_one_person_counts_as_in_a_group(scope: str, chat: str, denied: bool) -> None:
    assert in_group({"*": GroupRules(tools=NO_EXEC)}, scope=scope, reply_to=at(chat)) is denied


def test_of_two_places_both_must_allow() -> None:
    rules = {"-1": GroupRules(tools=Lists(allow=("exec",))), "-2": GroupRules(tools=NO_EXEC)}
    assert in_group(rules, scope="telegram:group:-1", reply_to=at("-2"))
    assert in_group(rules, scope="telegram:group:-2", reply_to=at("-1"))
    assert not in_group(rules, scope="telegram:group:-1", reply_to=at("-1"))


def test_no_rules_say_nothing() -> None:
    assert group_layer({})(act("exec", scope="telegram:group:1", reply_to=at("1"))) is None
    assert sender_layer({})(act("exec", scope="telegram:group:1")) is None


def by_sender(senders: dict[str, Lists], who: Principal, scope: str = "telegram:group:1", **others: GroupRules) -> bool:
    layer = sender_layer({"telegram": {"1": GroupRules(senders=senders), **{name[1:]: each for name, each in others.items()}}})
    return isinstance(layer(act("exec", who, scope=scope)), Deny)


@pytest.mark.parametrize("key", ["7", " 7 ", "id:7", "telegram:7", "Telegram:7", "e164:7", "ID: 7"])
def test_a_sender_is_known_by_a_stable_id(key: str) -> None:
    assert by_sender({key: NO_EXEC}, ANN)
    assert not by_sender({key: NO_EXEC}, BOB)
    assert not by_sender({key: NO_EXEC}, ANN, scope="main")


@pytest.mark.parametrize("key", ["@ann", "name:Ann", "username:ann", "user:ann", "Name:7"])
def test_a_name_is_refused(key: str) -> None:
    with pytest.raises(BadInput, match="no stable id") as refused:
        by_sender({key: NO_EXEC}, ANN)
    assert refused.value.hint == "Use the platform's own id, never a name."


@pytest.mark.parametrize("key", ["", " ", "id:", "telegram: "])
def test_a_sender_without_an_id_is_refused(key: str) -> None:
    with pytest.raises(BadInput, match=r"^toolsBySender has an entry without an id$") as refused:
        by_sender({key: NO_EXEC}, ANN)
    assert refused.value.hint == "Use the platform's own id."


def test_an_id_that_looks_like_a_name_is_an_id_where_ids_look_so() -> None:
    who = Principal(user=UserId(channel="telegram", stable_id="@ann:server"), role="owner")
    assert by_sender({"@ann:server": NO_EXEC}, who)


def test_the_same_id_on_another_channel_is_somebody_else() -> None:
    senders = {"7": Lists(), "*": NO_EXEC}
    assert not by_sender(senders, ANN)
    assert by_sender(senders, ELSEWHERE)


def test_whoever_is_not_named_falls_under_everybody() -> None:
    assert by_sender({"8": Lists(), "*": NO_EXEC}, ANN)
    assert not by_sender({"8": Lists(), "*": NO_EXEC}, BOB)


def test_a_sender_a_group_does_not_name_falls_back_to_the_rules_of_every_group() -> None:
    everywhere = GroupRules(senders={"7": NO_EXEC})
    assert by_sender({"8": NO_EXEC}, ANN, **{"_*": everywhere})
    assert not by_sender({"7": Lists()}, ANN, **{"_*": everywhere})


def test_an_empty_group_id_is_refused() -> None:
    with pytest.raises(BadInput):
        group_layer({"telegram": {"": GroupRules(tools=NO_EXEC)}})


def test_what_senders_have_is_said_in_the_layers_name() -> None:
    layer = sender_layer({"telegram": {"1": GroupRules(senders={"7": NO_EXEC})}})
    assert layer(act("exec", ANN, scope="telegram:group:1")) == Deny(layer="sender", reason="exec is on the deny list")


def test_a_groups_lists_know_the_plugins() -> None:
    rules = {"telegram": {"1": GroupRules(tools=Lists(deny=("group:plugins",)), senders={"*": Lists(deny=("group:plugins",))})}}
    action = act("weather", ANN, scope="telegram:group:1")
    for make in (group_layer, sender_layer):
        assert isinstance(make(rules, plugin_tools=frozenset({"weather"}))(action), Deny)
