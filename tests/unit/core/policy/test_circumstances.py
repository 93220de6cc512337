import pytest
from tests.unit.core.policy.acting import (
    BROWSER,
    EXECUTE,
    HOME,
    LOOK,
    OWNER_HERE,
    PROCESS,
    SEND,
    STRANGER,
    WRITE,
    act,
    tool,
)

from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.policy import Allow, Deny
from ostiary.core.policy.circumstances import (
    DepthRules,
    SandboxRules,
    depth_layer,
    role_layer,
    sandbox_layer,
    switch_layer,
)
from ostiary.core.policy.judge import Layer
from ostiary.core.policy.layers import Lists

MANAGER = Principal(user=UserId(channel="irc", stable_id="m"), role="manager")
NONE: frozenset[str] = frozenset()
SANDBOX_DENY = ["browser", "cron", "canvas", "nodes", "gateway"]
CHILDREN_DENY = [
    *("gateway", "agents_list", "whatsapp_login", "session_status", "cron", "memory_search", "memory_get", "sessions_send"),
]
LEAVES_DENY = ["sessions_list", "sessions_history", "sessions_spawn"]


def denies(layer: Layer, *names: str, **more: object) -> list[str]:
    return [name for name in names if isinstance(layer(act(name, **more)), Deny)]  # type: ignore[arg-type]


def test_the_owner_has_every_tool_and_others_have_none() -> None:
    layer = role_layer({})
    assert layer(act("exec")) is None
    assert layer(act("read", STRANGER)) == Deny(layer="role", reason="the role external has no tools")


def test_a_role_that_is_named_has_what_it_is_given() -> None:
    layer = role_layer({"manager": Lists(allow=("read", "ls"))})
    assert denies(layer, "read", "ls", "exec", principal=MANAGER) == ["exec"]
    assert denies(layer, "read", principal=STRANGER) == ["read"]
    assert denies(layer, "exec") == []


def test_the_owner_can_be_narrowed_too() -> None:
    assert denies(role_layer({"owner": Lists(deny=("exec",))}), "read", "exec") == ["exec"]


def test_a_roles_profile_counts() -> None:
    assert denies(role_layer({"manager": Lists(profile="minimal")}), "session_status", "read", principal=MANAGER) == ["read"]


def test_an_owner_only_tool_is_the_owners_whatever_a_role_is_given() -> None:
    login = tool("login", owner_only=True)
    layer = role_layer({"manager": Lists(profile="full"), "owner": Lists(profile="full")})
    assert layer(act(login, MANAGER)) == Deny(layer="role", reason="login is for the owner only")
    assert not isinstance(layer(act(login, OWNER_HERE)), Deny)


def test_a_roles_lists_know_the_plugins() -> None:
    layer = role_layer({"manager": Lists(deny=("group:plugins",))}, plugin_tools=frozenset({"weather"}))
    assert denies(layer, "weather", "read", principal=MANAGER) == ["weather"]


@pytest.mark.parametrize(
    ("mode", "scope", "holds"),
    [
        ("all", "main", True),
        ("all", "irc:group:1", True),
        ("non-main", "main", False),
        ("non-main", "main:thread:1", True),
        ("non-main", "api:x", True),
        ("off", "api:x", False),
        ("off", "main", False),
    ],
)
def test_the_mode_says_which_sessions_are_in_the_sandbox(mode: str, scope: str, holds: bool) -> None:
    rules = SandboxRules(mode=mode)  # type: ignore[arg-type]
    assert rules.holds(SessionKey("main", scope)) is holds
    layer = sandbox_layer(lambda agent: rules, (), plugin_tools=NONE)
    assert isinstance(layer(act("browser", scope=scope)), Deny) is holds


def sandboxed(**rules: object) -> Layer:
    return sandbox_layer(lambda agent: SandboxRules(**rules), (), plugin_tools=NONE)  # type: ignore[arg-type]


def test_a_sandboxed_session_lacks_what_reaches_the_machine() -> None:
    assert denies(sandboxed(), *SANDBOX_DENY, "image", "exec", "write") == SANDBOX_DENY


def test_the_usual_list_can_be_replaced() -> None:
    assert denies(sandboxed(lists=Lists(deny=("exec",))), "browser", "exec") == ["exec"]


def test_pictures_stay_unless_they_are_denied() -> None:
    assert denies(sandboxed(lists=Lists(allow=("exec",))), "exec", "image", "read") == ["read"]
    assert denies(sandboxed(lists=Lists(allow=("exec",), deny=("image",))), "image") == ["image"]


def test_a_read_only_workspace_loses_what_writes_it() -> None:
    writers = ["write", "edit", "apply_patch"]
    assert denies(sandboxed(access="ro"), *writers, "read") == writers
    assert denies(sandboxed(access="ro", lists=Lists(deny=("ls",))), *writers, "ls") == [*writers, "ls"]
    assert denies(sandboxed(access="rw"), *writers) == denies(sandboxed(access="none"), *writers) == []


def test_each_agent_has_its_own_sandbox_and_the_rest_the_general_one() -> None:
    rules = {"": SandboxRules(), "free": SandboxRules(mode="off")}
    layer = sandbox_layer(lambda agent: rules[agent], ("free",), plugin_tools=NONE)
    found = [denies(layer, "browser", agent=agent) for agent in ("free", "main", "")]
    assert found == [[], ["browser"], ["browser"]]


def test_a_sandboxs_lists_know_the_plugins() -> None:
    rules = SandboxRules(lists=Lists(deny=("group:plugins",)))
    layer = sandbox_layer(lambda agent: rules, (), plugin_tools=frozenset({"weather"}))
    assert denies(layer, "weather", "read") == ["weather"]


def test_who_was_not_spawned_is_not_narrowed() -> None:
    layer = depth_layer(DepthRules(lists=Lists(deny=("exec",), allow=())))
    assert layer(act("exec", depth=0)) is None
    assert denies(layer, "exec", depth=1) == ["exec"]


def test_children_lack_some_tools_and_the_deepest_lack_more() -> None:
    layer = depth_layer(DepthRules(max_depth=2))
    every = (*CHILDREN_DENY, *LEAVES_DENY, "exec")
    assert denies(layer, *every, depth=1) == CHILDREN_DENY
    assert denies(layer, *every, depth=2) == denies(layer, *every, depth=3) == [*CHILDREN_DENY, *LEAVES_DENY]


def test_by_default_children_have_no_children() -> None:
    assert denies(depth_layer(DepthRules()), "sessions_spawn", depth=1) == ["sessions_spawn"]


def test_a_tool_can_be_given_back_to_children() -> None:
    given = depth_layer(DepthRules(lists=Lists(also_allow=("Cron", "sessions_list"))))
    assert denies(given, "cron", "sessions_list", "gateway", depth=1) == ["gateway"]
    only = depth_layer(DepthRules(lists=Lists(allow=("cron",))))
    assert denies(only, "cron", "read", depth=1) == ["read"]


def test_what_is_given_back_is_still_lost_by_being_denied() -> None:
    layer = depth_layer(DepthRules(lists=Lists(also_allow=("cron",), deny=("cron",))))
    assert denies(layer, "cron", depth=1) == ["cron"]


def test_deeper_than_the_limit_nobody_starts_anybody_even_if_given() -> None:
    layer = depth_layer(DepthRules(max_depth=1, lists=Lists(also_allow=("sessions_spawn",))))
    assert denies(layer, "sessions_spawn", depth=1) == []
    assert denies(layer, "Sessions_Spawn", depth=2) == ["Sessions_Spawn"]
    assert denies(layer, "read", depth=2) == []


def test_what_children_lack_is_said_in_the_layers_name() -> None:
    layer = depth_layer(DepthRules(max_depth=2, lists=Lists(also_allow=("sessions_spawn",))))
    assert layer(act("cron", depth=1)) == Deny(layer="depth", reason="cron is on the deny list")
    assert layer(act("cron", depth=2)) == Deny(layer="depth", reason="cron is on the deny list")
    too_deep = Deny(layer="depth", reason="sub-agents may be 2 deep, and this one is deeper already")
    assert layer(act("sessions_spawn", depth=3)) == too_deep


def test_childrens_lists_know_the_plugins() -> None:
    layer = depth_layer(DepthRules(lists=Lists(deny=("group:plugins",))), plugin_tools=frozenset({"weather"}))
    assert denies(layer, "weather", depth=1) == ["weather"]
    deep = depth_layer(DepthRules(max_depth=3, lists=Lists(deny=("group:plugins",))), plugin_tools=frozenset({"weather"}))
    assert denies(deep, "weather", depth=1) == ["weather"]


EXEC = tool("exec", EXECUTE)


def switch(*on: str, strict: bool = False) -> Layer:
    return switch_layer(on.__contains__, lambda: strict)


def test_what_acts_is_off_until_it_is_switched_on() -> None:
    assert switch()(act(EXEC)) == Deny(layer="switch", reason="switched off; /enable exec")
    assert switch("exec")(act(EXEC)) == Allow(layer="switch", reason="switched on")


@pytest.mark.parametrize(
    ("spec", "arguments", "needs_one"),
    [
        (tool("read"), {}, False),
        (tool("web_fetch", LOOK), {"url": "https://x"}, False),
        (tool("write", WRITE, undoable=True), {}, False),
        (tool("post", WRITE), {}, True),
        (tool("message", SEND), {}, True),
        (PROCESS, {"action": "poll"}, False),
        (PROCESS, {"action": "write"}, True),
        (PROCESS, {}, True),
        (BROWSER, {"action": "open", "url": "https://x"}, False),
        (BROWSER, {"action": "read"}, False),
        (BROWSER, {"action": "click"}, True),
        (tool("mystery", frozenset()), {}, True),
        (tool("lookup", frozenset(), is_client=True), {}, False),
    ],
)
def test_only_what_acts_needs_a_switch(spec: object, arguments: dict[str, object], needs_one: bool) -> None:
    action = act(spec, arguments=arguments, reply_to=HOME)  # type: ignore[arg-type]
    assert isinstance(switch()(action), Deny) is needs_one


@pytest.mark.parametrize(
    ("spec", "attended", "reason"),
    [
        (tool("read"), False, "it needs no switch: it only looks, or can be taken back"),
        (EXEC, True, "the owner is here and can be asked"),
        (tool("lookup", frozenset(), is_client=True), False, "it runs on the caller's side"),
    ],
)
def test_what_needs_no_switch_says_why(spec: object, attended: bool, reason: str) -> None:
    action = act(spec, is_attended=attended)  # type: ignore[arg-type]
    assert switch()(action) == Allow(layer="switch", reason=reason)


def test_whoever_sits_before_the_house_needs_no_switch_unless_it_is_strict() -> None:
    here = act(EXEC, is_attended=True)
    assert isinstance(switch()(here), Allow)
    assert isinstance(switch(strict=True)(here), Deny)
    assert isinstance(switch("exec", strict=True)(here), Allow)
