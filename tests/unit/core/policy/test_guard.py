import pytest

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Allow, Deny
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.guard import guard_layer
from ostiary.core.policy.judge import Judge

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
        ("exec", {"command": "curl -H 'Authorization: Bearer [redacted:known]' example.com"}),
        ("write", {"path": "settings.toml", "content": 'key = "[redacted:known]"'}),
        ("mcp__fs__read_multiple", {"paths": ["README.md", ".env"]}),
        ("mcp__fs__move", {"edits": [{"source": "a", "destination": "b/.pgpass"}]}),
        ("browser", {"action": "open", "url": "file:///root/.ssh/id_rsa"}),
        ("browser", {"action": "open", "url": " FILE:/root/%2Essh/id%5Frsa"}),
        ("browser", {"action": "open", "url": "file://localhost/srv/house/a%62c/../logs"}),
        ("mcp__fs__read", {"uri": "file:///srv/house"}),
        ("mcp__fs__read_multiple", {"paths": [["README.md"], [".env"]]}),
        ("mcp__fs__batch", {"a": {"b": {"c": {"d": {"e": {"f": {"path": ".env"}}}}}}}),
        ("process", {"data": ["ls", "cat .env"]}),
        ("mcp__fs__apply", {"diff": "rename from a\nrename to .netrc\n"}),
        ("mcp__fs__apply", {"diff": "copy from .netrc\ncopy to a\n"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: .netrc\n+x\n*** End Patch"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: .netrc\n*** End Patch"}),
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


@pytest.mark.parametrize(
    "name",
    [
        *("path", "paths", "file", "files", "filename", "filenames", "file_path", "filePath", "file-paths", "cwd", "dir"),
        *("directory", "folder", "source", "src", "destination", "dest", "target", "old_path", "newPath", "from-path", "toPath"),
        *("root", "uri"),
    ],
)
def test_every_usual_name_of_a_path_is_looked_at(name: str) -> None:
    assert isinstance(LAYER(action("mcp__x__do", {name: "a/.netrc"})), Deny)


@pytest.mark.parametrize("name", ["command", "cmd", "script", "data", "input", "code"])
def test_every_usual_name_of_a_command_is_looked_at(name: str) -> None:
    assert isinstance(LAYER(action("mcp__x__do", {name: "printenv"})), Deny)
    assert LAYER(action("mcp__x__do", {"path": "printenv"})) is None


@pytest.mark.parametrize("name", ["glob", "include", "pattern"])
def test_every_usual_name_of_a_glob_is_looked_at(name: str) -> None:
    assert isinstance(LAYER(action("mcp__x__do", {name: ".en[v]"})), Deny)


@pytest.mark.parametrize(("tool", "passes"), [("ls", True), ("find", True), ("grep", True), ("read", False)])
def test_a_folder_that_only_sounds_secret_may_be_looked_into(tool: str, passes: bool) -> None:
    assert (LAYER(action(tool, {"path": "src/secrets"})) is None) is passes


def nested(depth: int) -> dict[str, object]:
    arguments: dict[str, object] = {"path": "notes.md"}
    for _ in range(depth):
        arguments = {"a": arguments}
    return arguments


def test_arguments_too_deep_to_be_looked_at_are_denied() -> None:
    judge = Judge(("profile", lambda action: Allow(layer="profile")), [("guard", LAYER)])
    assert isinstance(judge(action("mcp__x__do", nested(7))), Allow)
    assert isinstance(judge(action("mcp__x__do", {"path": [[[[[[["a.md"]]]]]]]})), Allow)
    assert judge(action("mcp__x__do", nested(8))) == Deny(layer="guard", reason="the layer failed (ValueError)")


@pytest.mark.parametrize("path", ["./SOUL.md", "SOUL.md/", "a\\..\\SOUL.md", "\\SOUL.md", "//SOUL.md"])
def test_an_owners_file_is_known_however_it_is_spelt(path: str) -> None:
    assert isinstance(LAYER(action("write", {"path": path, "content": ""}, Effect.WRITE)), Deny)


def test_a_patch_of_an_owners_file_is_denied_too() -> None:
    patch = "*** Begin Patch\n*** Update File: SOUL.md\n@@\n-a\n+b\n*** End Patch"
    assert isinstance(LAYER(action("apply_patch", {"patch": patch}, Effect.WRITE)), Deny)


def test_only_the_very_path_is_the_owners() -> None:
    layer = guard_layer(owner_files=("house/RULES.md",))
    found = [layer(action("write", {"path": path}, Effect.WRITE)) for path in ("house/x/../rules.md", "house/a/x/../rules.md")]
    assert [type(each) for each in found] == [Deny, type(None)]
