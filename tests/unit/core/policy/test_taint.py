from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.policy.acting import (
    BOTH,
    BROWSER,
    CLEAN,
    EXECUTE,
    HOME,
    LOOK,
    OWNER_HERE,
    PRIVATE,
    PROCESS,
    SEEN_WEB,
    SEND,
    STRANGER,
    WRITE,
    act,
    tool,
)

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import UserId
from ostiary.contracts.policy import Action, Ask, Decision, Deny
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.taint import TaintRules, is_tainted, nothing_known, taint_layer

MESSAGE = tool("message", SEND)
FETCH = tool("web_fetch", LOOK)
EXEC = tool("exec", EXECUTE)
KNOWN = "https://known.example/"
NEW = "https://new.example/?d=1"


def judged(action: Action, **rules: Any) -> Decision | None:
    layer = taint_layer(TaintRules(**rules))
    assert layer is not None
    return layer(action)


def asks(action: Action, **rules: Any) -> bool:
    return isinstance(judged(action, **rules), Ask)


@pytest.mark.parametrize(
    ("label", "principal", "tainted"),
    [
        (CLEAN, OWNER_HERE, False),
        (SEEN_WEB, OWNER_HERE, False),
        (PRIVATE, OWNER_HERE, False),
        (BOTH, OWNER_HERE, True),
        (BOTH, STRANGER, True),
        (Label(trust=Trust.CONTACT, private=True), OWNER_HERE, False),
        (Label(trust=Trust.CONTACT, private=True), STRANGER, True),
        (Label(trust=Trust.CONTACT), STRANGER, False),
        (Label(trust=Trust.SYSTEM, private=True), STRANGER, False),
    ],
)
def test_tainted_is_where_strangers_words_and_private_things_meet(label: Label, principal: Principal, tainted: bool) -> None:
    assert is_tainted(label, principal) is tainted
    assert asks(act(tool("mail", SEND), principal, label=label)) is tainted


@pytest.mark.parametrize(
    ("spec", "arguments", "asked"),
    [
        (tool("read"), {"path": "a"}, False),
        (tool("write", WRITE, undoable=True), {"path": "a"}, False),
        (tool("post", WRITE), {}, True),
        (tool("sync", WRITE | {Effect.NETWORK}, undoable=True), {}, True),
        (tool("pay", frozenset({Effect.SPEND})), {}, True),
        (tool("key", frozenset({Effect.SECRET})), {}, True),
        (tool("mystery", frozenset()), {}, True),
        (tool("lookup", frozenset(), is_client=True), {"url": NEW}, False),
        (EXEC, {"command": "ls"}, False),
        (EXEC, {"command": "ls", "network": True}, True),
        (PROCESS, {"action": "poll"}, False),
        (PROCESS, {"action": "write"}, True),
        (BROWSER, {"action": "read"}, False),
        (BROWSER, {"action": "click", "ref": "e1"}, True),
        (BROWSER, {"action": "type", "ref": "e1"}, True),
        (BROWSER, {"action": "open", "url": NEW}, True),
        (BROWSER, {"action": "open", "url": KNOWN}, False),
        (FETCH, {"url": KNOWN}, False),
        (FETCH, {"url": NEW}, True),
        (FETCH, {}, True),
        (tool("image"), {"path": "a.png"}, False),
        (tool("image"), {"url": NEW}, True),
        (tool("image"), {"url": KNOWN}, False),
        (tool("web_search", LOOK), {"query": "x"}, False),
        (tool("Web_Search", LOOK), {"query": "x"}, True),
        (tool("mcp__web__get", LOOK), {"targets": [KNOWN, NEW]}, True),
        (tool("mcp__web__get", LOOK), {"targets": [KNOWN]}, False),
        (MESSAGE, {"text": "hi"}, False),
        (MESSAGE, {"text": "hi", "to": "telegram:100"}, False),
        (MESSAGE, {"text": "hi", "to": "telegram:4711"}, True),
        (MESSAGE, {"text": "hi", "to": ["telegram:4711"]}, True),
        (tool("message", SEND | {Effect.NETWORK}), {"text": "hi"}, True),
        (tool("message", SEND | {Effect.READ}), {"text": "hi"}, False),
        (tool("mail", SEND), {}, True),
        (tool("sessions_send", SEND), {"to": "telegram:100"}, True),
    ],
)
def test_what_could_carry_something_out_is_asked_about(spec: ToolSpec, arguments: dict[str, object], asked: bool) -> None:
    action = act(spec, label=BOTH, reply_to=HOME, arguments=arguments)
    rules = {"is_known_url": lambda action, url: url == KNOWN}
    assert asks(action, **rules) is asked
    assert judged(act(spec, label=CLEAN, reply_to=HOME, arguments=arguments), **rules) is None


def test_a_command_outside_the_fence_has_the_network_anyway() -> None:
    action = act(EXEC, label=BOTH, arguments={"command": "ls"})
    assert asks(action, is_fenced=lambda action: False)
    assert not asks(action, is_fenced=lambda action: True)


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        (tool("write", WRITE, undoable=True), True),
        (EXEC, True),
        (tool("read", frozenset({Effect.READ})), False),
    ],
)
def test_what_a_program_with_the_network_would_see_is_asked_about(spec: ToolSpec, asked: bool) -> None:
    action = act(spec, label=BOTH, arguments={})
    assert asks(action, is_watched=lambda action: True) is asked
    assert not asks(action, is_watched=lambda action: False)
    assert judged(act(spec, label=CLEAN, arguments={}), is_watched=lambda action: True) is None


@pytest.mark.parametrize(
    ("to", "recipients", "named", "asked"),
    [
        ("telegram:4711", {"telegram:4711"}, (), False),
        ("telegram:4711", {"4711"}, (), True),
        ("telegram:47110", {"telegram:4711"}, (), True),
        ("telegram:4711", (), ("telegram:4711",), False),
        ("telegram:47110815", (), ("47110815",), False),
        ("telegram:4711", (), ("4711",), True),
        ("telegram:47110", (), ("47110",), False),
        ("ann@x.example", (), ("ann@x.example",), False),
        ("telegram:4711", (), (), True),
    ],
)
def test_a_recipient_is_fine_who_is_listed_or_was_named_by_the_owner(
    to: str, recipients: set[str], named: tuple[str, ...], asked: bool
) -> None:
    action = act(MESSAGE, label=BOTH, reply_to=HOME, arguments={"to": to})
    assert asks(action, recipients=frozenset(recipients), is_named=lambda action, text: text in named) is asked


def test_a_message_tool_that_also_reads_is_still_one() -> None:
    also_reads = tool("message", SEND | {Effect.READ})
    action = act(also_reads, label=BOTH, reply_to=HOME, arguments={"to": "telegram:4711"})
    assert not asks(action, recipients=frozenset({"telegram:4711"}))


def test_by_itself_nothing_is_known_and_nobody_is_named() -> None:
    assert (TaintRules().mode, nothing_known(act("x"), "y")) == ("ask", False)
    assert asks(act(FETCH, label=BOTH, arguments={"url": KNOWN}))
    assert asks(act(MESSAGE, label=BOTH, reply_to=HOME, arguments={"to": "telegram:4711"}))


@pytest.mark.parametrize(
    ("mode", "by_role", "kind"),
    [
        ("ask", {}, Ask),
        ("deny", {}, Deny),
        ("off", {"external": "deny"}, type(None)),
        ("off", {"owner": "ask"}, Ask),
        ("deny", {"owner": "ask"}, Ask),
        ("ask", {"owner": "deny"}, Deny),
        ("ask", {"owner": "off"}, type(None)),
    ],
)
def test_each_role_has_its_mode(mode: str, by_role: dict[str, str], kind: type) -> None:
    assert type(judged(act(tool("mail", SEND), label=BOTH), mode=mode, by_role=by_role)) is kind


@pytest.mark.parametrize("by_role", [{}, {"owner": "off"}])
def test_off_for_everybody_is_no_layer_at_all(by_role: dict[str, Any]) -> None:
    assert taint_layer(TaintRules(mode="off", by_role=by_role)) is None


@pytest.mark.parametrize(
    ("spec", "arguments", "words"),
    [
        (
            FETCH,
            {"url": NEW},
            f"web_fetch would open {NEW}, an address that neither you nor a search gave in this conversation. ",
        ),
        (FETCH, {}, "web_fetch would reach the network without saying where. "),
        (
            MESSAGE,
            {"to": "4711", "channel": "telegram"},
            "message would send text to telegram:4711, whom you did not name in this conversation. ",
        ),
        (
            MESSAGE,
            {"to": 7},
            "message would send text to somebody it does not clearly name, whom you did not name in this conversation. ",
        ),
        (tool("mail", SEND), {}, "mail would send something out of this conversation. "),
        (BROWSER, {"action": "click"}, "browser would act on a web page. "),
        (EXEC, {"network": True}, "exec would run something that can reach the network. "),
        (tool("pay", frozenset({Effect.SPEND})), {}, "pay would spend money. "),
        (tool("key", frozenset({Effect.SECRET})), {}, "key would use a secret. "),
        (tool("post", WRITE), {}, "post would change something that cannot be taken back. "),
        (tool("mystery", frozenset()), {}, "mystery does not say what it does, so it could send anything anywhere. "),
    ],
)
def test_the_question_says_what_why_and_what_could_leak(spec: ToolSpec, arguments: dict[str, object], words: str) -> None:
    decision = judged(act(spec, label=BOTH, reply_to=HOME, arguments=arguments))
    assert decision is not None
    assert decision.layer == "taint"
    assert decision.reason == words + (
        "This conversation holds text from outside, which may have asked for it, and private things such as files or memory, "
        "which could leak this way (read so far: doc:notes.md, web:evil.example). Say yes only if it is what you want"
    )


def test_of_many_sources_some_are_named_and_the_rest_counted() -> None:
    many = Label(trust=Trust.UNTRUSTED, private=True, sources=("a", "b", "c", "d\n", "e"))
    few = Label(trust=Trust.UNTRUSTED, private=True, sources=("a\x1b", "b", "c"))
    none = Label(trust=Trust.UNTRUSTED, private=True)
    said = [getattr(judged(act(tool("mail", SEND), label=label)), "reason", "") for label in (many, few, none)]
    assert "(read so far: a, b, c and 2 more)" in said[0]
    assert "(read so far: a\\u001b, b, c)" in said[1]
    assert said[2].endswith("which could leak this way. Say yes only if it is what you want")


def test_an_address_cannot_hide_in_the_question() -> None:
    for spec, arguments in ((FETCH, {"url": "https://a\n\u202e.example"}), (MESSAGE, {"to": "irc:\n\u202ea"})):
        decision = judged(act(spec, label=BOTH, reply_to=HOME, arguments=arguments))
        assert decision is not None
        assert "\\u000a\\u202e" in decision.reason
        assert decision.reason.isprintable()


EFFECTS = st.frozensets(st.sampled_from(list(Effect)))
PEOPLE = st.sampled_from([OWNER_HERE, STRANGER, Principal(user=UserId(channel="irc", stable_id="m"), role="manager")])
LABELS = st.builds(
    Label, trust=st.sampled_from(list(Trust)), private=st.booleans(), sources=st.lists(st.text(max_size=5), max_size=4).map(tuple)
)


@given(EFFECTS, st.booleans(), PEOPLE, LABELS, LABELS)
def test_more_taint_never_widens(effects: Any, undoable: bool, who: Principal, label: Label, more: Label) -> None:
    spec = tool("any", effects, undoable=undoable)
    before = asks(act(spec, who, label=label))
    after = asks(act(spec, who, label=label.join(more)))
    assert after or not before


@given(EFFECTS, PEOPLE)
def test_whatever_sends_spends_or_uses_secrets_is_asked_about_when_tainted(effects: Any, who: Principal) -> None:
    leaving = effects | {Effect.SEND}
    assert all(asks(act(tool("any", each), who, label=BOTH)) for each in (leaving, effects | {Effect.SPEND, Effect.SECRET}))
