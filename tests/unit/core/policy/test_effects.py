import pytest
from tests.unit.core.policy.acting import BOTH, BROWSER, EXECUTE, HOME, LOOK, PROCESS, READ, SEND, WRITE, act, tool

from ostiary.contracts.policy import Ask
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.circumstances import SandboxRules
from ostiary.core.policy.effects import EVERYTHING, effects_of, is_harmless, urls_of
from ostiary.core.policy.layers import Lists
from ostiary.core.policy.rules import Rules, compile_rules


@pytest.mark.parametrize(
    ("spec", "arguments", "effects"),
    [
        (tool("read"), {"path": "a"}, READ),
        (tool("mystery", frozenset()), {}, EVERYTHING),
        (tool("lookup", frozenset(), is_client=True), {"url": "https://x"}, frozenset()),
        (PROCESS, {"action": "list"}, READ),
        (PROCESS, {"action": "write"}, EXECUTE),
        (BROWSER, {"action": "open"}, LOOK),
        (BROWSER, {"action": "click"}, frozenset({Effect.NETWORK, Effect.SEND})),
        (tool("Browser", SEND), {"action": "open"}, SEND),
        (tool("other", SEND), {"action": "open"}, SEND),
        (tool("exec", EXECUTE), {"command": "ls"}, EXECUTE),
        (tool("exec", EXECUTE), {"network": False}, EXECUTE),
        (tool("exec", EXECUTE), {"network": True}, EXECUTE | {Effect.NETWORK}),
        (tool("exec", EXECUTE), {"network": "yes"}, EXECUTE | {Effect.NETWORK}),
        (tool("exec", EXECUTE), {"network": ""}, EXECUTE | {Effect.NETWORK}),
        (tool("read"), {"network": True}, READ),
        (tool("image"), {"url": "https://x"}, LOOK),
        (tool("image"), {"url": ""}, READ),
        (tool("web_fetch", LOOK), {"url": "https://x"}, LOOK),
    ],
)
def test_what_a_call_can_do_depends_on_its_arguments(
    spec: ToolSpec, arguments: dict[str, object], effects: frozenset[Effect]
) -> None:
    assert effects_of(act(spec, arguments=arguments)) == effects


@pytest.mark.parametrize(
    ("spec", "harmless"),
    [
        (tool("read"), True),
        (tool("web_fetch", LOOK), True),
        (tool("write", WRITE, undoable=True), True),
        (tool("edit", WRITE | READ, undoable=True), True),
        (tool("write", WRITE), False),
        (tool("sync", WRITE | {Effect.NETWORK}, undoable=True), False),
        (tool("exec", EXECUTE), False),
        (tool("mystery", frozenset()), False),
    ],
)
def test_harmless_is_what_only_looks_or_can_be_taken_back(spec: ToolSpec, harmless: bool) -> None:
    assert is_harmless(act(spec)) is harmless


def test_addresses_are_found_however_deep() -> None:
    arguments = {"url": "x.example", "n": 1, "more": [{"link": "see https://a.example/b"}, ("ftp://c",)], "text": "plain"}
    assert urls_of(arguments) == ("x.example", "see https://a.example/b", "ftp://c")


def test_a_list_of_addresses_is_of_addresses() -> None:
    assert urls_of({"url": ["a.example", "b.example"]}) == ("a.example", "b.example")


def deep(levels: int) -> object:
    value: object = "https://x"
    for _ in range(levels):
        value = [value]
    return value


def test_what_is_too_deep_or_too_much_to_look_at_is_refused() -> None:
    assert urls_of({"a": deep(7)}) == ("https://x",)
    with pytest.raises(ValueError, match=r"^arguments nested too deep$"):
        urls_of({"a": deep(8)})
    assert urls_of({"a": ["x"] * 1000}) == ()
    with pytest.raises(ValueError, match=r"^too many arguments$"):
        urls_of({"a": ["x"] * 1001})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("Message", {"text": "x"}), ("WEB_SEARCH", {"query": "x"}), ("Browser", {"action": "open", "url": "https://x.example"})],
)
def test_a_strangers_tool_named_like_one_of_the_house_is_not_judged_more_lightly(name: str, arguments: dict[str, object]) -> None:
    rules = Rules(lists=Lists(profile="full"), sandbox=SandboxRules(lists=Lists()))
    spec = tool(name, frozenset({Effect.NETWORK, Effect.SEND}) if name != "WEB_SEARCH" else frozenset({Effect.NETWORK}))
    assert isinstance(compile_rules(rules)(act(spec, label=BOTH, reply_to=HOME, arguments=arguments)), Ask)
