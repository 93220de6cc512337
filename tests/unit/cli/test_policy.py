import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from ostiary.cli.policy import register
from ostiary.contracts.errors import OstiaryError


class House:
    """A state directory and the command line on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._app = typer.Typer()
        register(self._app)

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(self._app, list(words))

    def ok(self, *words: str) -> str:
        result = self.run(*words)
        assert result.exit_code == 0, result.output
        return result.stdout

    def write(self, name: str, text: str) -> Path:
        path = self.home / name
        path.write_text(text)
        path.chmod(0o600)
        return path


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.delenv("OSTIARY_CONFIG_PATH", raising=False)
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path))
    tmp_path.chmod(0o700)
    return House(tmp_path)


def test_the_whole_chain_is_shown_with_the_deciding_layer_marked(house: House) -> None:
    said = house.ok("policy", "explain", "--tool", "exec", "--args", '{"command": "ls"}')
    assert said.splitlines()[0] == "exec for webchat:owner (owner) on webchat, agent:main:main: asked about."
    marked = [line.split() for line in said.splitlines() if line.startswith("→")]
    assert [words[1:3] for words in marked] == [["confirm", "ask"]]
    assert all(f"  {layer}" in said for layer in ("provider profile", "sender", "taint"))
    assert "By the configuration alone" in said


def test_what_is_hidden_is_said_to_be(house: House) -> None:
    said = house.ok("policy", "explain", "--tool", "exec", "--as", "irc:somebody")
    assert "denied. The model is not shown this tool." in said
    assert "→ role" in said


def test_a_switch_can_be_supposed(house: House) -> None:
    words = ("policy", "explain", "--tool", "exec", "--channel", "telegram", "--json")
    off, on, group = (json.loads(house.ok(*words, *more)) for more in ((), ("--on", "exec"), ("--on", "group:runtime")))
    assert [each["outcome"] for each in (off, on, group)] == ["deny", "ask", "ask"]
    assert off["live"] is False


def test_programs_get_every_step(house: House) -> None:
    words = ("--tool", "web_fetch", "--args", '{"url": "https://x.example"}', "--tainted", "--private")
    found = json.loads(house.ok("policy", "explain", *words, "--json"))
    assert (found["outcome"], found["layer"], len(found["steps"])) == ("ask", "taint", 15)
    assert "https://x.example" in found["reason"]


def test_a_provider_may_carry_a_model(house: House) -> None:
    house.write("ostiary.json5", "{posture: 'team', tools: {byProvider: {'kit/m': {deny: ['read']}}}}")
    found = [
        json.loads(house.ok("policy", "explain", "--tool", "read", "--provider", each, "--json")) for each in ("kit/m", "kit")
    ]
    assert [each["outcome"] for each in found] == ["deny", "allow"]


def test_a_tool_that_is_not_there_is_judged_by_its_effects(house: House) -> None:
    said = house.ok("policy", "explain", "--tool", "mcp__x__y", "--effects", "read, network")
    assert "allowed." in said


@pytest.mark.parametrize(
    "words",
    [
        ("--tool", "exec", "--args", "[1]"),
        ("--tool", "exec", "--args", "{"),
        ("--tool", "exce"),
        ("--tool", "exec", "--as", "a b"),
        ("--tool", "x", "--effects", "magic"),
        ("--tool", "exec", "--on", "group:none"),
    ],
)
def test_what_makes_no_sense_is_refused_with_an_error_of_ours(house: House, words: tuple[str, ...]) -> None:
    assert isinstance(house.run("policy", "explain", *words).exception, OstiaryError)


GOOD = """[
  // what the owner expects
  {as: 'owner', tool: 'read', expect: 'allow'},
  {as: 'owner', tool: 'exec', args: {command: 'ls'}, expect: 'ask', layer: 'confirm'},
  {as: 'owner', channel: 'telegram', tool: 'exec', expect: 'deny', layer: 'switch'},
  {as: 'owner', channel: 'telegram', tool: 'exec', on: ['exec'], expect: 'ask', note: 'switched on'},
  {as: 'external', tool: 'read', expect: 'deny', layer: 'role'},
  {tool: 'exec', args: {network: true}, tainted: true, private: true, expect: 'ask', layer: 'taint'},
]"""


def test_a_file_of_expectations_that_hold_passes(house: House) -> None:
    file = house.write("expected.json5", GOOD)
    assert house.ok("policy", "test", str(file)) == "6 of 6 are as expected.\n"


def test_each_mismatch_is_shown_and_the_exit_code_is_one(house: House) -> None:
    rows = "[{tool: 'read', expect: 'deny'}, {tool: 'exec', expect: 'ask', layer: 'taint'}, {tool: 'ls', expect: 'allow'}]"
    file = house.write("expected.json5", rows)
    result = house.run("policy", "test", str(file))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "row 1, read for owner: expected deny, but allow by profile: in the profile full",
        "row 2, exec for owner: expected ask by taint, but ask by confirm: exec runs a command, which cannot be taken back",
        "1 of 3 are as expected.",
    ]
    report = json.loads(house.run("policy", "test", str(file), "--json").stdout)
    assert (report["checked"], report["wrong"], [row["ok"] for row in report["rows"]]) == (3, 2, [False, False, True])


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "[1]",
        "[{tool: 'read'}]",
        "[{expect: 'allow'}]",
        "[{tool: 'read', expect: 'maybe'}]",
        "[{tool: 'read', expect: 'allow', tanted: true}]",
        "[{tool: 'raed', expect: 'deny'}]",
        "not json",
    ],
)
def test_a_file_that_expects_nothing_does_not_pass(house: House, text: str) -> None:
    file = house.write("expected.json5", text)
    result = house.run("policy", "test", str(file))
    assert isinstance(result.exception, OstiaryError)


def test_a_file_that_is_not_there_is_said_so(house: House) -> None:
    assert isinstance(house.run("policy", "test", str(house.home / "none")).exception, OstiaryError)


def test_tools_are_listed_with_their_effects_and_standing(house: House) -> None:
    said = house.ok("tools", "list")
    rows = {line.split()[0]: line.split()[1:3] for line in said.splitlines()}
    assert (rows["read"], rows["exec"]) == (["visible", "read"], ["asked", "execute"])
    hidden = json.loads(house.ok("tools", "list", "--as", "external", "--json"))
    assert {row["standing"] for row in hidden["tools"]} == {"hidden"}


def test_what_would_change_a_decision_is_said_and_what_was_hardly_meant(house: House) -> None:
    said = house.ok("policy", "explain", "--tool", "exec", "--as", "ownr", "--channel", "telgram", "--args", '{"comand": "ls"}')
    assert "What would change it: tools.roles.ownr.\n" in said
    assert "Note: no rule names the role ownr; did you mean owner?\n" in said
    assert "Note: no channel telgram is configured.\n" in said
    assert "Note: a call with these arguments is refused before any rule is asked: command is required;" in said
    assert "What would change it" not in house.ok("policy", "explain", "--tool", "read")


def test_a_tool_that_is_supposed_to_be_on_must_be_there(house: House) -> None:
    result = house.run("policy", "explain", "--tool", "exec", "--on", "exce")
    assert isinstance(result.exception, OstiaryError)
    assert "no tool is called exce" in str(result.exception)


def test_what_is_recorded_holds_and_a_draft_that_differs_is_told_apart(house: House) -> None:
    house.write("ostiary.json5", "{channels: {irc: {}}, tools: {roles: {family: {allow: ['read']}}}}")
    file = house.home / "expected.json5"
    assert "decisions are in" in house.ok("policy", "record", str(file))
    assert house.ok("policy", "test", str(file)).endswith("are as expected.\n")
    rows = file.read_text()
    assert '{ as: "owner", tool: "exec", args: {"command": "ls"}, expect: "ask", layer: "confirm" },' in rows
    assert '{ as: "owner", channel: "irc", tool: "exec", args: {"command": "ls"}, expect: "deny", layer: "switch" },' in rows
    assert '{ as: "family", tool: "read", args: {"path": "notes.md"}, expect: "allow", layer: "profile" },' in rows
    draft = house.write("draft.json5", "{channels: {irc: {}}, tools: {deny: ['read', 'exce']}}")
    result = house.run("policy", "test", str(file), "--config", str(draft), "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    wrong = [row["place"].split(", ", 1)[1] for row in told["rows"] if not row["ok"]]
    places = ("owner", "owner, tainted, private", "owner on irc", "family", "external")
    assert wrong == [f"read for {place}" for place in places]
    assert told["warnings"] == ["tools.deny names 'exce', and no tool is called that. Did you mean exec?"]


def test_a_record_goes_to_the_terminal_and_never_over_a_file(house: House) -> None:
    file = house.write("mine.json5", "[]")
    assert house.ok("policy", "record").startswith("// What the rules decide")
    result = house.run("policy", "record", str(file))
    assert ("is there already" in str(result.exception), file.read_text()) == (True, "[]")
    rows = json.loads(house.ok("policy", "record", "--json"))
    assert {"as": "owner", "tool": "exec", "args": {"command": "ls"}, "expect": "ask", "layer": "confirm"} in rows


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("test", "nowhere.json5"), "nowhere.json5 cannot be read: No such file or directory"),
        (("test", "{home}"), "cannot be read: Is a directory"),
        (("test", "{home}/layers.json5"), "row 1: there is no layer 'confrm'"),
        (("test", "{home}/fields.json5"), "row 1: Object contains unknown field `layr`"),
        (("test", "{home}/layers.json5", "--config", "nowhere.json5"), "there is no file nowhere.json5"),
        (("record", "{home}/none/x.json5"), "cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_compared_is_said(house: House, words: tuple[str, ...], said: str) -> None:
    house.write("layers.json5", "[{tool: 'exec', expect: 'ask', layer: 'confrm'}]")
    house.write("fields.json5", "[{tool: 'exec', expect: 'ask', layr: 'confirm'}]")
    result = house.run("policy", *(word.format(home=house.home) for word in words))
    assert isinstance(result.exception, OstiaryError)
    assert said in str(result.exception)


def test_looking_changes_no_file(house: House) -> None:
    file = house.write("ostiary.json5", "{}")
    file.chmod(0o644)
    house.ok("policy", "explain", "--tool", "read")
    assert (file.stat().st_mode & 0o777, file.read_text()) == (0o644, "{}")
