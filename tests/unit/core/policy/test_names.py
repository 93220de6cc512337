import pytest

from ostiary.contracts.errors import BadInput
from ostiary.core.policy.names import CORE_TOOLS, GROUPS, NameSet, canonical, members, misspelt, names_plugins_alone

PLUGINS = frozenset({"weather", "Weather_Radar"})


def test_globs_match_whole_names() -> None:
    names = NameSet(["mcp__time__*", "web_?etch"])
    tried = ("mcp__time__now", "x_mcp__time__now", "web_fetch", "web_fetch2")
    assert [name in names for name in tried] == [True, False, True, False]


def test_one_spelling_stands_for_all() -> None:
    assert [canonical(name) for name in (" BASH ", "apply-patch", "Read")] == ["exec", "apply_patch", "read"]


def test_an_empty_name_names_nothing() -> None:
    names = NameSet(["", "  "])
    assert [name in names for name in ("", "read")] == [False, False]


def test_a_set_remembers_no_more_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostiary.core.policy.names._REMEMBERED", 2)
    names = NameSet(["a"])
    assert [name in names for name in ("a", "b", "c", "a")] == [True, False, False, True]
    assert len(names._known) == 2


def test_apply_patch_follows_exec_only_where_it_is_told_to() -> None:
    assert "apply_patch" in NameSet(["bash"], follows=True)
    assert "apply_patch" not in NameSet(["bash"])
    assert "edit" not in NameSet(["bash"], follows=True)


HOUSE = {
    "fs": {"read", "write", "edit", "apply_patch", "grep", "find", "ls"},
    "runtime": {"exec", "process"},
    "web": {"web_search", "web_fetch"},
    "memory": {"memory_search", "memory_get", "memory_write"},
    "sessions": {"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "subagents", "session_status"},
    "ui": {"browser", "canvas"},
    "automation": {"cron", "gateway"},
    "messaging": {"message"},
    "nodes": {"nodes"},
}


def test_the_house_has_these_groups_and_no_other() -> None:
    assert set(GROUPS) == set(HOUSE)
    assert {"image", "pdf", "tts", "stt", "agents_list"}.union(*HOUSE.values()) == CORE_TOOLS


@pytest.mark.parametrize("group", HOUSE)
def test_a_group_holds_its_tools(group: str) -> None:
    names = NameSet([f"group:{group}"])
    assert {name for name in CORE_TOOLS if name in names} == HOUSE[group]


def test_a_name_with_a_wave_in_it_is_no_glob() -> None:
    assert "a~b" in NameSet(["a~b"])
    assert "ab" in NameSet(["[a]b"])


@pytest.mark.parametrize("name", ["ostiary", "openclaw"])
def test_a_group_holds_every_tool_of_the_house(name: str) -> None:
    assert members(name, PLUGINS) == CORE_TOOLS
    assert {"image", "exec", "message"} <= CORE_TOOLS


def test_plugin_tools_form_a_group() -> None:
    assert members("plugins", PLUGINS) == {"weather", "weather_radar"}


def test_a_group_nobody_knows_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(BadInput, match="group:runtme") as refused:
        NameSet(["group:runtme"])
    known = ", ".join(f"group:{name}" for name in (*HOUSE, "ostiary", "plugins"))
    assert refused.value.hint == f"Known groups: {known}."


@pytest.mark.parametrize(
    ("allow", "alone"),
    [
        (["weather"], True),
        (["weather", "WEATHER_RADAR"], True),
        (["weather*"], True),
        (["group:plugins"], True),
        (["weather", "read"], False),
        (["*"], False),
        ([], False),
        (["raed"], False),
        (["weather", "raed"], False),
    ],
)
def test_a_list_is_of_plugins_alone_only_if_each_entry_is(allow: list[str], alone: bool) -> None:
    assert names_plugins_alone(allow, PLUGINS) is alone


def test_without_plugins_no_list_is_of_plugins_alone() -> None:
    assert not names_plugins_alone(["group:plugins"], frozenset())


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("exce", "exec"),
        ("web-fetch", "web_fetch"),
        ("memory_serch", "memory_search"),
        ("bahs", "bash"),
        ("wether", "weather"),
        ("EXEC", ""),
        ("bash", ""),
        ("weather", ""),
        ("web_*", ""),
        ("group:fs", ""),
        ("vault_memory_get", ""),
        ("skill__memory_search", ""),
        ("mcp__memory_search", ""),
        ("", ""),
    ],
)
def test_a_name_that_is_almost_a_tools_is_taken_for_misspelt(name: str, meant: str) -> None:
    assert misspelt(name, CORE_TOOLS | {"weather"}) == meant
