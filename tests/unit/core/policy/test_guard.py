import pytest

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Deny
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.guard import guard_layer

LAYER = guard_layer(state=("/srv/house",), owner_files=("AGENTS.md", "SOUL.md"))


def action(name: str, arguments: dict[str, object], *effects: Effect, is_client: bool = False) -> Action:
    spec = ToolSpec(
        schema=ToolSchema(name=name, description="", parameters={}),
        effects=frozenset(effects or (Effect.READ,)),
        is_client=is_client,
    )
    return Action(
        principal=Principal(user=UserId(channel="web", stable_id="u1"), role="owner"),
        session=SessionKey("main", "main"),
        channel="web",
        tool=spec,
        arguments=arguments,
        label=Label(trust=Trust.OWNER),
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": ".env"}),
        ("write", {"path": "a/.ssh/id_rsa", "content": "x"}),
        ("edit", {"path": "token.json", "old": "a", "new": "b"}),
        ("ls", {"path": "~/.ssh"}),
        ("grep", {"pattern": "x", "path": ".env"}),
        ("grep", {"pattern": "x", "glob": ".en*"}),
        ("exec", {"command": "cat .env"}),
        ("exec", {"command": "ls", "cwd": "/srv/house/logs"}),
        ("process", {"action": "write", "id": "p1", "data": "cat ~/.aws/credentials\n"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: .env\n@@\n-a\n+b\n*** End Patch"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: a.py\n*** Move to: .netrc\n*** End Patch"}),
        ("apply_patch", {"patch": "--- a/.npmrc\n+++ b/.npmrc\n@@ -1 +1 @@\n-a\n+b\n"}),
        ("mcp__fs__read_multiple", {"paths": ["README.md", ".env"]}),
        ("mcp__fs__move", {"edits": [{"source": "a", "destination": "b/.pgpass"}]}),
        ("browser", {"action": "open", "url": "file:///root/.ssh/id_rsa"}),
    ],
)
def test_a_call_that_names_a_secret_is_denied_by_the_guard(name: str, arguments: dict[str, object]) -> None:
    decision = LAYER(action(name, arguments, Effect.READ, Effect.WRITE))
    assert isinstance(decision, Deny)
    assert decision.layer == "guard"
    assert decision.reason


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": "src/tokenizer.py"}),
        ("read", {"path": "AGENTS.md"}),
        ("write", {"path": "notes.md", "content": "my .env holds a password"}),
        ("edit", {"path": "a.py", "old": ".env", "new": "cat .env"}),
        ("grep", {"pattern": "password", "path": "src"}),
        ("ls", {"path": "src/token"}),
        ("find", {"pattern": "*.py"}),
        ("exec", {"command": "make test"}),
        ("web_fetch", {"url": "https://example.org/token"}),
        ("message", {"text": "cat .env"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: a.py\n@@\n-cat .env\n+x\n*** End Patch"}),
        ("read", {"path": 7}),
        ("read", {}),
    ],
)
def test_an_everyday_call_passes(name: str, arguments: dict[str, object]) -> None:
    assert LAYER(action(name, arguments)) is None


@pytest.mark.parametrize("path", ["AGENTS.md", "./agents.md", "/SOUL.md", "SOUL.MD"])
def test_the_owners_own_files_are_read_and_not_written(path: str) -> None:
    assert LAYER(action("read", {"path": path})) is None
    assert isinstance(LAYER(action("write", {"path": path, "content": ""}, Effect.WRITE)), Deny)


def test_an_owners_file_of_another_folder_is_not_the_owners() -> None:
    assert LAYER(action("write", {"path": "docs/AGENTS.md"}, Effect.WRITE)) is None


def test_a_clients_own_tool_is_the_clients_matter() -> None:
    assert LAYER(action("read", {"path": ".env"}, is_client=True)) is None
