from collections.abc import Mapping
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from ostiary.adapters.credentials import Secret
from ostiary.assembly.config import json5
from ostiary.assembly.config.edit import render
from ostiary.assembly.config.load import Examined, examine
from ostiary.assembly.config.parse import Reading, read_section
from ostiary.assembly.config.schema import Config
from ostiary.assembly.config.secret import CredentialReference, LiteralSecret, Reference
from ostiary.assembly.config.section import key, section


def looked_at(
    tree: Mapping[str, Any], environ: Mapping[str, str] | None = None, extensions: Mapping[str, Any] | None = None
) -> Examined:
    return examine(render(tree), environ or {}, source=Path("ostiary.json5"), extensions=extensions)


def config(tree: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Config:
    examined = looked_at(tree, environ)
    assert examined.problems == ()
    assert examined.config is not None
    return examined.config


def problems(tree: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> list[str]:
    return [str(each) for each in looked_at(tree, environ).problems]


def test_an_empty_file_gives_the_documented_defaults() -> None:
    defaults = config({})
    assert (defaults.gateway.port, defaults.gateway.bind) == (18789, "loopback")
    agents = defaults.agents.defaults
    assert (agents.max_concurrent, agents.subagents.max_concurrent, agents.timeout_seconds) == (4, 8, 600)
    assert (agents.bootstrap_max_chars, agents.bootstrap_total_max_chars) == (20_000, 24_000)
    queue = defaults.messages.queue
    assert (queue.mode, queue.debounce_ms, queue.cap, queue.drop) == ("collect", 1000, 20, "summarize")
    assert (defaults.session.dm_scope, defaults.session.reset.mode, defaults.session.reset.at_hour) == ("main", "daily", 4)
    cooldowns = defaults.auth.cooldowns
    assert (cooldowns.billing_backoff_hours, cooldowns.billing_max_hours) == (5.0, 24.0)


def test_keys_are_written_as_openclaw_writes_them() -> None:
    read = config(
        {
            "agents": {
                "defaults": {"model": {"primary": "a/b", "fallbacks": ["c/d"]}, "models": {"a/b": {"alias": "Fast"}}},
                "list": [{"id": "family", "identity": {"name": "F"}, "groupChat": {"mentionPatterns": ["@f"]}, "model": "e/f"}],
            },
            "bindings": [{"agentId": "family", "match": {"channel": "whatsapp", "peer": {"kind": "group", "id": "1@g.us"}}}],
            "models": {
                "providers": {"lm": {"baseUrl": "http://localhost:1/v1", "api": "openai-completions", "models": [{"id": "m"}]}}
            },
            "session": {
                "identityLinks": {"alice": ["telegram:1"]},
                "resetByType": {"direct": {"mode": "idle", "idleMinutes": 240}},
            },
        }
    )
    assert read.agents.defaults.model.fallbacks == ("c/d",)
    assert read.agents.defaults.models["a/b"].alias == "Fast"
    assert read.agents.list[0].model is not None
    assert read.agents.list[0].model.primary == "e/f"
    assert read.bindings[0].match.peer is not None
    assert read.models.providers["lm"].models[0].context_window == 200_000
    assert read.session.reset_by_type["direct"].idle_minutes == 240


def test_a_model_may_be_a_text_alone() -> None:
    assert config({"agents": {"defaults": {"model": "a/b"}}}).agents.defaults.model.primary == "a/b"


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"gatway": {}}, "gatway: is not a known key; did you mean gateway? (line 2)"),
        ({"gateway": {"prot": 1}}, "gateway.prot: is not a known key; did you mean port? (line 3)"),
        (
            {"hooks": {"zzzz": 1}},
            "hooks.zzzz: is not a known key; allowed are allowedAgentIds, dedupeSeconds, defaultSessionKey, enabled, mappings, "
            "maxBodyBytes, path, rateLimit, token (line 3)",
        ),
        ({"gateway": {"port": "80"}}, 'gateway.port: found "80", but a whole number from 0 to 65535 is allowed (line 3)'),
        ({"gateway": {"port": 80.5}}, "gateway.port: found 80.5, but a whole number from 0 to 65535 is allowed (line 3)"),
        ({"gateway": {"port": True}}, "gateway.port: found true, but a whole number from 0 to 65535 is allowed (line 3)"),
        ({"gateway": {"port": -1}}, "gateway.port: found -1, but a whole number from 0 to 65535 is allowed (line 3)"),
        ({"gateway": {"port": None}}, "gateway.port: found null; leave the key out to get its default (line 3)"),
        ({"gateway": []}, "gateway: found a list, but an object is allowed (line 2)"),
        (
            {"gateway": {"bind": "lann"}},
            'gateway.bind: found "lann", but one of loopback, lan, tailnet, auto is allowed; did you mean lan?',
        ),
        ({"commands": {"text": "yes"}}, 'commands.text: found "yes", but true or false is allowed'),
        ({"agents": {"defaults": {"model": 5}}}, "agents.defaults.model: found 5, but a text or an object is allowed"),
        ({"agents": {"list": [{"name": "x"}]}}, "agents.list[0].id: is missing"),
        ({"agents": {"list": [{"id": "A b"}]}}, 'agents.list[0].id: found "A b", but the pattern'),
        ({"session": {"resetByType": {"dmm": {}}}}, "session.resetByType.dmm: found"),
        ({"models": {"providers": {"A B": {}}}}, 'models.providers["A B"]: is not a name of the form'),
        ({"models": {"providers": {"x": {"baseUrl": "ftp://x"}}}}, 'baseUrl: found "ftp://x", but a text like https://'),
        ({"gateway": {"auth": {"token": ""}}}, "gateway.auth.token: the secret is empty"),
        ({"gateway": {"auth": {"token": "credential:"}}}, "gateway.auth.token: credential: must be followed by a name"),
        ({"$include": "./more.json5"}, "is not supported; put everything into the one file"),
        ({"posture": "wild"}, 'posture: found "wild", but one of personal, open, team, vault is allowed'),
    ],
)
def test_a_problem_names_the_path_what_was_found_and_what_is_allowed(tree: Mapping[str, Any], said: str) -> None:
    (found,) = problems(tree)
    assert said in found


@pytest.mark.parametrize(
    "text", ["{gateway: {port: Infinity}}", "{gateway: {port: NaN}}", "{auth: {cooldowns: {billingMaxHours: 1e999}}}"]
)
def test_numbers_must_be_finite(text: str) -> None:
    assert len(examine(text, {}, source=Path("f")).problems) == 1


def test_all_problems_are_reported_at_once() -> None:
    tree = {
        "gateway": {"port": "x", "bind": 1, "zap": 1},
        "agents": {"defaults": {"maxConcurrent": 0}, "list": [{}, {"id": "?"}]},
    }
    assert len(problems(tree)) == 6


def test_a_key_that_stands_twice_is_refused() -> None:
    examined = examine("{\n gateway: {},\n gateway: {}\n}", {}, source=Path("f"))
    assert [str(each) for each in examined.problems] == ["gateway: stands here a second time (line 3)"]


@pytest.mark.parametrize(
    "tree",
    [
        {"gateway": {"auth": "sk-live-0123456789abcdef"}},
        {"gateway": {"auth": {"mode": "sk-live-0123456789abcdef"}}},
        {"gateway": {"auth": {"token": ["sk-live-0123456789abcdef"]}}},
        {"models": {"providers": {"x": {"apiKey": {"value": "sk-live-0123456789abcdef"}}}}},
        {"models": {"providers": {"x": "sk-live-0123456789abcdef"}}},
    ],
)
def test_no_problem_repeats_what_may_be_a_secret(tree: Mapping[str, Any]) -> None:
    found = problems(tree)
    assert found
    assert "0123456789" not in " ".join(found)


def test_secrets_are_kept_as_references() -> None:
    providers = {"a": {"apiKey": "${A_KEY}"}, "b": {"apiKey": "credential:b"}, "c": {"apiKey": "plain"}}
    read = config({"models": {"providers": providers}}, {"A_KEY": "resolved"}).models.providers
    assert read["a"].api_key == Reference("${A_KEY}")
    assert read["b"].api_key == CredentialReference("b")
    assert read["c"].api_key == LiteralSecret(Secret("plain"))
    assert "resolved" not in repr(read)
    assert "plain" not in repr(read)


def test_a_literal_secret_is_accepted_with_a_warning_that_does_not_show_it() -> None:
    (warning,) = looked_at({"gateway": {"auth": {"token": "hunter2hunter2"}}}).warnings
    assert str(warning).startswith("gateway.auth.token: holds a secret in plain text")
    assert "hunter2" not in str(warning)


def test_ordinary_headers_and_variables_are_no_secrets_to_warn_about() -> None:
    tree = {
        "env": {"REGION": "eu", "X_API_KEY": "k"},
        "models": {"providers": {"p": {"headers": {"X-Org": "o", "Authorization": "B"}}}},
    }
    assert [each.path[-1] for each in looked_at(tree).warnings] == ["X_API_KEY", "Authorization"]


def test_an_ordinary_text_may_refer_to_a_variable_of_the_environment_or_the_env_block() -> None:
    tree = {"env": {"B": "block", "A": "block"}, "agents": {"defaults": {"workspace": "/${A}/${B}/$${C}"}}}
    assert config(tree, {"A": "process"}).agents.defaults.workspace == "/process/block/${C}"


def test_a_missing_variable_is_named_with_its_path() -> None:
    (problem,) = problems({"agents": {"defaults": {"workspace": "${NOWHERE}"}}})
    assert problem == "agents.defaults.workspace: refers to the environment variable NOWHERE, which is not set (line 4)"


def test_ids_in_lists_may_be_numbers() -> None:
    assert config({"channels": {"telegram": {"allowFrom": [123, "456"]}}}).channels["telegram"].allow_from == ("123", "456")


def test_an_empty_list_of_allowed_tools_is_not_the_same_as_none() -> None:
    assert config({}).tools.allow is None
    assert config({"tools": {"allow": []}}).tools.allow == ()


def test_a_channel_keeps_keys_that_only_it_understands() -> None:
    channel = config({"channels": {"telegram": {"botToken": "${T}", "dmPolicy": "allowlist"}}}).channels["telegram"]
    assert channel.own == {"botToken": "${T}"}
    assert channel.dm_policy == "allowlist"


@section
class Telegram:
    bot_token: str = key(help="The token.")
    stream_mode: str = key("partial", "How.")


def test_a_channel_that_brings_a_section_has_its_keys_checked() -> None:
    extensions = {"channels.telegram": Telegram}
    good = looked_at({"channels": {"telegram": {"botToken": "t", "enabled": True}}}, extensions=extensions)
    assert good.config is not None
    assert good.config.channels["telegram"].own == Telegram(bot_token="t")
    bad = looked_at({"channels": {"telegram": {"streamMod": "x"}}}, extensions=extensions)
    assert [str(each) for each in bad.problems] == [
        "channels.telegram.streamMod: is not a known key; did you mean streamMode? (line 4)",
        "channels.telegram.botToken: is missing (line 3)",
    ]


def test_a_plugin_that_brings_a_json_schema_has_its_keys_checked() -> None:
    schema = {
        "type": "object",
        "required": ["url"],
        "additionalProperties": False,
        "properties": {
            "url": {"type": "string", "pattern": "^https"},
            "n": {"type": "integer", "minimum": 1},
            "l": {"items": {"enum": ["a"]}},
        },
    }
    extensions = {"plugins.entries.x.config": schema}
    tree = {"plugins": {"entries": {"x": {"config": {"n": 0, "l": ["a", "b"], "ur": 1}}}}}
    found = [str(each) for each in looked_at(tree, extensions=extensions).problems]
    assert len(found) == 4
    assert "plugins.entries.x.config.url: is missing" in found[0]
    ok = {"plugins": {"entries": {"x": {"config": {"url": "https://x", "n": 1}}}}}
    assert looked_at(ok, extensions=extensions).problems == ()


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ({"agents": {"list": [{"id": "a"}, {"id": "a"}]}}, "agents.list[1].id"),
        ({"agents": {"list": [{"id": "a", "default": True}, {"id": "b", "default": True}]}}, "agents.list[1].default"),
        ({"gateway": {"auth": {"mode": "password"}}}, "gateway.auth.password"),
        ({"gateway": {"tls": {"enabled": True, "certPath": "/tmp/cert.pem"}}}, "gateway.tls"),
        ({"hooks": {"enabled": True}}, "hooks.token"),
        ({"messages": {"groupChat": {"mentionPatterns": ["("]}}}, "messages.groupChat.mentionPatterns[0]"),
        ({"agents": {"defaults": {"userTimezone": "Mars/Base"}}}, "agents.defaults.userTimezone"),
        ({"agents": {"defaults": {"userTimezone": "../../etc/passwd"}}}, "agents.defaults.userTimezone"),
        ({"session": {"identityLinks": {"a": ["nobody"]}}}, "session.identityLinks.a[0]"),
        ({"tools": {"elevated": {"enabled": True}}}, "tools.elevated.enabled"),
        ({"posture": "team", "tools": {"elevated": {"enabled": True}}}, "tools.elevated.enabled"),
        ({"posture": "team", "agents": {"defaults": {"sandbox": {"mode": "off"}}}}, "agents.defaults.sandbox.mode"),
        ({"posture": "vault", "agents": {"list": [{"id": "a", "sandbox": {"mode": "non-main"}}]}}, "agents.list[0].sandbox.mode"),
    ],
)
def test_contradictions_between_keys_are_refused(tree: Mapping[str, Any], path: str) -> None:
    (problem,) = problems(tree)
    assert problem.startswith(f"{path}: ")


def test_a_binding_to_an_unknown_agent_is_a_warning() -> None:
    tree = {"bindings": [{"agentId": "ghost", "match": {"channel": "telegram"}}]}
    assert [each.path for each in looked_at(tree).warnings] == [("bindings", 0, "agentId")]


def test_sections_cannot_be_changed_but_can_be_replaced() -> None:
    before = Config()
    with pytest.raises(FrozenInstanceError):
        before.gateway.port = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        before.gateway.__dict__  # noqa: B018 - slotted
    after = replace(before, gateway=replace(before.gateway, port=1))
    assert after != before
    assert replace(after, gateway=before.gateway) == before


def test_a_section_by_itself_reports_under_its_own_path() -> None:
    reading = Reading(environ={})
    assert read_section(Telegram, {"botToken": 1}, ("channels", "x"), reading) is None
    assert str(reading.problems[0]).startswith("channels.x.botToken: ")


def test_the_walker_ends_on_the_deepest_text_the_reader_allows() -> None:
    tree = json5.parse('{"agents": {"defaults": {"models": {"a/b": {"params": {"x":' + "[" * 50 + "]" * 50 + "}}}}}}").plain()
    assert isinstance(tree, dict)
    assert read_section(Config, tree, (), Reading(environ={})) is not None
