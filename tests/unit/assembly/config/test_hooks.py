from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ostiary.assembly.config.edit import render
from ostiary.assembly.config.load import examine
from ostiary.assembly.config.secret import LiteralSecret, Reference
from ostiary.assembly.hook_rules import compile_hooks
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Address


def examined(hooks: Mapping[str, Any]) -> Any:
    return examine(render({"hooks": hooks}), {}, source=Path("ostiary.json5"), extensions=None)


def mapped(**mapping: Any) -> Any:
    return examined({"mappings": [{"id": "x", **mapping}]})


@pytest.mark.parametrize(
    ("hooks", "path"),
    [
        ({"enabled": True}, "hooks.token"),
        ({"path": "/v1/hooks"}, "hooks.path"),
        ({"path": "/ws"}, "hooks.path"),
        ({"path": "hooks"}, "hooks.path"),
        ({"path": "/"}, "hooks.path"),
        ({"path": "/hooks/../v1"}, "hooks.path"),
        ({"defaultSessionKey": "hook:{{id}}"}, "hooks.defaultSessionKey"),
        ({"defaultSessionKey": "agent:MAIN:x"}, "hooks.defaultSessionKey"),
        ({"mappings": [{"id": "wake"}]}, "hooks.mappings[0].id"),
        ({"mappings": [{"id": "a"}, {"id": "a"}]}, "hooks.mappings[1].id"),
        ({"mappings": [{"id": "a b"}]}, "hooks.mappings[0].id"),
        ({"mappings": [{"id": "a", "agentId": "nobody"}]}, "hooks.mappings[0].agentId"),
        ({"mappings": [{"id": "a", "deliver": True}]}, "hooks.mappings[0].deliver"),
        ({"mappings": [{"id": "a", "sessionKey": "{{x}}"}]}, "hooks.mappings[0].sessionKey"),
        ({"mappings": [{"id": "a", "messageTemplate": "{{a b}}"}]}, "hooks.mappings[0].messageTemplate"),
        ({"mappings": [{"id": "a", "textTemplate": "{{}}"}]}, "hooks.mappings[0].textTemplate"),
        ({"mappings": [{"id": "a", "signature": {"scheme": "github"}}]}, "hooks.mappings[0].signature.secret"),
        ({"mappings": [{"id": "a", "signature": {"scheme": "md5", "secret": "${S}"}}]}, "hooks.mappings[0].signature.scheme"),
        ({"mappings": [{"id": "a", "allowUnsafeExternalContent": True}]}, "hooks.mappings[0].allowUnsafeExternalContent"),
        ({"allowRequestSessionKey": True}, "hooks.allowRequestSessionKey"),
    ],
)
def test_what_would_open_a_hook_too_far_is_refused_with_its_path(hooks: Any, path: str) -> None:
    assert [str(problem).partition(":")[0] for problem in examined(hooks).problems] == [path]


def test_a_mapping_is_compiled_as_written() -> None:
    found = mapped(
        match={"path": "in", "source": "s"},
        messageTemplate="{{a}}",
        textTemplate="other",
        sessionKey="hook:shared",
        instructions="Sum up.",
        deliver=True,
        channel="telegram",
        to="42",
        token="${OWN}",
        signature={"scheme": "stripe", "secret": "${S}", "toleranceSeconds": 60},
    )
    assert found.problems == ()
    revealed: list[tuple[str, str]] = []

    def reveal(source: Any, kind: str) -> str:
        revealed.append((source.text, kind))
        return source.text

    rules = compile_hooks(found.config.hooks, agent="main", reveal=reveal)
    (hook,) = rules.mapped
    assert (hook.name, hook.path, hook.source, hook.instructions) == ("x", "in", "s", "Sum up.")
    assert hook.session == SessionKey("main", "hook:shared")
    assert hook.reply_to == Address(channel="telegram", account="default", chat="42")
    assert hook.template is not None
    assert hook.template.paths == (("a",),)
    assert hook.signature is not None
    assert (hook.signature.scheme, hook.signature.tolerance) == ("stripe", 60.0)
    assert revealed == []
    assert (hook.token(), hook.signature.secret()) == ("${OWN}", "${S}")
    assert revealed == [("${OWN}", "token"), ("${S}", "secret")]


def test_by_default_each_hook_has_a_session_of_its_own_and_nobody_a_token() -> None:
    rules = compile_hooks(mapped().config.hooks, agent="home", reveal=lambda source, kind: "never")
    assert [str(hook.session) for hook in (rules.wake, rules.agent, *rules.mapped)] == [
        "agent:home:hook:wake",
        "agent:home:hook:agent",
        "agent:home:hook:x",
    ]
    assert rules.token() == ""
    assert rules.agents == frozenset()


def test_a_whole_key_names_another_agents_session() -> None:
    rules = compile_hooks(mapped(sessionKey="agent:home:hook:x").config.hooks, agent="main", reveal=lambda source, kind: "")
    assert rules.mapped[0].session == SessionKey("home", "hook:x")


def test_secrets_in_the_file_are_references() -> None:
    found = examined({"token": "${T}", "mappings": [{"id": "a", "signature": {"secret": "literal-secret-123"}}]})
    assert isinstance(found.config.hooks.token, Reference)
    assert isinstance(found.config.hooks.mappings[0].signature.secret, LiteralSecret)
