from pathlib import Path

import pytest

from ostiary.assembly.config.explain import explain, shown
from ostiary.assembly.config.load import Loaded, understand
from ostiary.assembly.postures import POSTURES, merge


def loaded(text: str, environ: dict[str, str] | None = None) -> Loaded:
    return understand(text, environ or {}, source=Path("ostiary.json5"))


@pytest.mark.parametrize("name", POSTURES)
def test_every_posture_is_valid_by_the_schema(name: str) -> None:
    assert loaded(f"{{posture: '{name}'}}").config.posture == name


def test_personal_is_the_default_and_sparing() -> None:
    config = loaded("{}").config
    assert config.posture == "personal"
    assert config.messages.inbound.debounce_ms == 500
    assert config.agents.defaults.compaction.at_tokens == 60_000
    assert config.tools.result_max_bytes == 8192
    assert config.session.history_limit == 50
    assert config.tools.exec.timeout_sec == 30


def test_team_keeps_people_apart() -> None:
    config = loaded("{posture: 'team'}").config
    assert config.session.dm_scope == "per-channel-peer"
    assert config.messages.inbound.debounce_ms == 2000
    assert "session_status" in config.tools.deny


def test_vault_gives_only_the_vaults_tools() -> None:
    config = loaded("{posture: 'vault'}").config
    assert config.tools.profile == "minimal"
    assert all(name.startswith("vault_") for name in config.tools.also_allow)


def test_the_file_beats_the_posture_and_the_posture_the_default() -> None:
    config = loaded("{session: {historyLimit: 7}}").config
    assert (config.session.history_limit, config.session.dm_scope, config.tools.exec.timeout_sec) == (7, "main", 30)


def test_lists_are_replaced_and_objects_joined() -> None:
    assert merge({"a": [1, 2], "b": {"c": 1, "d": 2}}, {"a": [3], "b": {"c": 9}}) == {"a": [3], "b": {"c": 9, "d": 2}}


def test_explain_says_where_each_value_comes_from() -> None:
    rows = {
        row.path: (row.value, row.origin) for row in explain(loaded("{gateway: {port: 1}, agents: {defaults: {model: 'a/b'}}}"))
    }
    assert rows["gateway.port"] == (1, "file")
    assert rows["agents.defaults.model.primary"] == ("a/b", "file")
    assert rows["session.historyLimit"] == (50, "posture")
    assert rows["gateway.bind"] == ("loopback", "default")


def test_what_is_shown_has_references_as_written_and_secrets_masked() -> None:
    text = """{
      gateway: {auth: {token: 'hunter2hunter2'}},
      agents: {defaults: {workspace: '${WS}'}},
      models: {providers: {a: {apiKey: '${KEY}', headers: {Authorization: 'Bearer hunter2'}}, b: {apiKey: 'credential:b'}}},
      channels: {telegram: {botToken: 'hunter2', accounts: {two: {botToken: '${T2}', name: 'x'}}}},
      plugins: {entries: {p: {config: {apiKey: 'hunter2', deep: [{password: 'hunter2'}]}}}},
      env: {A_KEY: 'hunter2', REGION: 'hunter2'},
    }"""
    found = loaded(text, {"WS": "/resolved", "KEY": "resolved"})
    everything = f"{shown(found)} {explain(found)} {found!r}"
    assert "hunter2" not in f"{shown(found)} {explain(found)}"
    assert "resolved" not in f"{shown(found)} {explain(found)}"
    assert shown(found)["agents"]["defaults"]["workspace"] == "${WS}"
    assert shown(found)["models"]["providers"]["a"]["apiKey"] == "${KEY}"
    assert shown(found)["models"]["providers"]["b"]["apiKey"] == "credential:b"
    assert shown(found)["channels"]["telegram"]["accounts"]["two"] == {"botToken": "${T2}", "name": "x"}
    assert everything


def test_what_is_shown_can_be_read_again_as_a_configuration() -> None:
    from ostiary.assembly.config.edit import render

    first = shown(loaded("{agents: {list: [{id: 'a'}]}}"))
    again = {name: value for name, value in first.items() if name != "gateway"}
    assert loaded(render(again)).config.agents.list[0].id == "a"
