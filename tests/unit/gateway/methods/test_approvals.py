from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Ask, Decision
from ostiary.contracts.store import Audit, Put
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec
from ostiary.gateway.auth import Caller
from ostiary.gateway.auth.callers import of_device
from ostiary.gateway.socket.callers import Admitted
from ostiary.kit.models import call, say
from tests.unit.gateway.socket.room import MAIN, Client, Refusal, Room, open_room

KEYS = [f"key-{number:05}" for number in range(20)]
HIDDEN = "echo a\u202eb\u200bc\x1b[2J"


class Runs:
    """Called `exec`, so that patterns speak of its command; tells of itself while it is at work."""

    def __init__(self) -> None:
        parameters = {"type": "object", "properties": {"command": {"type": "string"}}, "additionalProperties": False}
        schema = ToolSchema(name="exec", description="Run.", parameters=parameters)
        self.spec = ToolSpec(schema=schema, effects=frozenset({Effect.EXECUTE}))
        self.calls: list[str] = []

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        self.calls.append(str(arguments["command"]))
        context.report("half way")
        write = Put(
            collection="workspace", path="out.txt", content=b"new\n", at=1.0, author="kit", turn=context.turn, expect_version=None
        )
        return ToolResult(text="ran", details={"code": 0}, writes=(write,))

    async def bind(self, arguments: Mapping[str, object], context: ToolContext) -> Mapping[str, str]:
        return {"cwd": "/work\u202e"}


async def ask_first(action: Action) -> Decision:
    return Ask(layer="confirm", reason="it runs a command")


async def taint(action: Action) -> Decision:
    return Ask(layer="taint", reason="text from outside")


def room(tmp_path: Path, *steps: Any, tool: Runs | None = None, **more: Any) -> Any:
    return open_room(tmp_path, *steps, tools={"exec": tool or Runs()}, **{"decide": ask_first, **more})


async def begin(client: Client, number: int = 0) -> None:
    await client.call("chat.history", {"key": MAIN, "verbose": "full"})
    await client.call("chat.send", {"key": MAIN, "text": "go", "idempotencyKey": KEYS[number]})


async def answer(client: Client, approval: str, number: int = 10, **more: Any) -> Any:
    params = {"id": approval, "allow": True, "idempotencyKey": KEYS[number], **more}
    return await client.call("approvals.answer", params)


async def test_a_question_is_told_whole_with_nothing_hidden_in_it_and_greets_who_comes(tmp_path: Path) -> None:
    async with room(tmp_path, call("exec", {"command": HIDDEN}), say("done")) as here:
        client = await here.client()
        await begin(client)
        asked = (await client.event("approval", state="asked"))["approval"]
        assert asked["text"] == "exec\ncommand: echo a\\u{202E}b\\u{200B}c\\u{1B}[2J\ncwd: /work\\u{202E}"
        assert asked["bound"] == {"cwd": "/work\\u{202E}"}
        assert (asked["key"], asked["layers"], asked["reason"]) == (MAIN, ["confirm"], "it runs a command")
        assert (await here.client()).hello["snapshot"]["approvals"] == [asked]
        assert (await client.call("approvals.list"))["approvals"] == [asked]
        assert (await here.client(scopes=["chat"])).hello["snapshot"]["approvals"] == []


async def test_a_very_long_question_is_told_in_brief_and_read_whole_by_its_id(tmp_path: Path) -> None:
    async with room(tmp_path, call("exec", {"command": f"echo {'x' * 70_000}; rm -r ."}), say("done")) as here:
        client = await here.client()
        await begin(client)
        brief = (await client.event("approval", state="asked"))["approval"]
        assert (brief["whole"], len(brief["text"]), brief["arguments"]) == (False, 64_000, {})
        assert (await here.client()).hello["snapshot"]["approvals"] == [brief]
        (whole,) = (await client.call("approvals.list", {"id": brief["id"]}))["approvals"]
        assert whole["whole"]
        assert "; rm -r ." in whole["text"]
        assert (await client.call("approvals.list", {"id": "none"}))["approvals"] == []


async def test_an_answer_is_told_to_everybody_who_may_see_it_and_the_call_runs(tmp_path: Path) -> None:
    tool = Runs()
    async with room(tmp_path, call("exec", {"command": "date -u"}), say("done"), tool=tool) as here:
        client, other = await here.client(), await here.client(scopes=["approve"])
        await begin(client)
        asked = (await other.event("approval", state="asked"))["approval"]
        done = await answer(other, asked["id"], note="Go on.")
        assert (done["answer"], done["by"], done["also"]) == ("allowed", "api:token", [])
        told = await client.event("approval", state="answered")
        assert (told["id"], told["answer"], told["note"]) == (asked["id"], "allowed", "Go on.")
        assert (await client.event("chat", state="progress", text="half way"))["id"] == asked["callId"]
        ended = await client.event("chat", state="tool", phase="ended")
        assert (ended["details"], tool.calls) == ({"code": 0}, ["date -u"])
        await client.event("chat", state="final")
        (use,) = (await client.call("chat.history", {"key": MAIN}))["turns"][0]["steps"][0]["calls"]
        assert (use["layer"], use["asked"][0]["answer"], use["asked"][0]["by"]) == ("approval", "allowed", "api:token")


async def test_a_device_with_the_scope_answers_in_its_own_name_and_one_without_it_does_not(tmp_path: Path) -> None:
    async def as_devices(scope: Any, said: Any, nonce: str) -> Admitted:
        caller: Caller = of_device(said.client.id, said.scopes)
        return Admitted(caller=caller)

    async with room(tmp_path, call("exec", {"command": "date -u"}), say("done")) as here:
        await begin(await here.client())
        here.socket._identify = as_devices
        phone = await here.client(scopes=["read", "approve"], client={"id": "pocket"})
        chatty = await here.client(scopes=["read", "chat"], client={"id": "chatty"})
        (asked,) = (await until_asked(phone))["approvals"]
        with pytest.raises(Refusal) as refused:
            await answer(chatty, asked["id"])
        assert refused.value.code == "FORBIDDEN"
        with pytest.raises(Refusal) as refused:
            await chatty.call("changes.undo", {"turn": asked["turn"], "idempotencyKey": KEYS[11]})
        assert refused.value.code == "FORBIDDEN"
        assert (await answer(phone, asked["id"]))["by"] == "device:pocket"


async def until_asked(client: Client, count: int = 1) -> Any:
    while len((found := await client.call("approvals.list"))["approvals"]) < count:
        await client.event("approval")
    return found


async def test_a_second_answer_and_a_late_one_are_conflicts(tmp_path: Path) -> None:
    steps = (call("exec", {"command": "date -u"}), call("exec", {"command": "date -I"}), say("done"))
    async with room(tmp_path, *steps) as here:
        client = await here.client()
        await begin(client)
        first = (await client.event("approval", state="asked"))["approval"]
        await answer(client, first["id"])
        assert await answer(client, first["id"]) == await answer(client, first["id"])
        with pytest.raises(Refusal, match="answered already: allowed by api:token") as refused:
            await answer(client, first["id"], 11)
        assert refused.value.code == "CONFLICT"
        second = (await client.event("approval", state="asked"))["approval"]
        await here.clock.advance(301)
        assert (await client.event("approval", state="answered", id=second["id"]))["answer"] == "expired"
        with pytest.raises(Refusal, match="expired") as refused:
            await answer(client, second["id"], 12)
        assert refused.value.code == "CONFLICT"


async def test_like_calls_are_grouped_and_one_pattern_answers_them_all(tmp_path: Path) -> None:
    tool = Runs()
    several = call("exec", {"command": "ls -a"}).then(call("exec", {"command": "ls -l"})).then(call("exec", {"command": "id"}))
    async with room(tmp_path, several, call("exec", {"command": "ls -t"}), say("done"), tool=tool) as here:
        client = await here.client()
        await begin(client)
        found = await until_asked(client, 3)
        alike, apart = found["groups"]
        assert (len(alike["ids"]), alike["offer"]["pattern"], len(apart["ids"])) == (2, "ls*", 1)
        done = await answer(client, alike["ids"][0], pattern="ls*", seconds=3600)
        assert done["also"] == [alike["ids"][1]]
        await answer(client, apart["ids"][0], 11, allow=False)
        await client.event("chat", state="final")
        assert tool.calls == ["ls -a", "ls -l", "ls -t"]
        (grant,) = (await client.call("grants.list"))["grants"]
        assert (grant["pattern"], grant["who"], grant["id"]) == ("ls*", "api:token", done["grant"])
        await client.call("grants.revoke", {"id": grant["id"]})
        with pytest.raises(Refusal) as refused:
            await client.call("grants.revoke", {"id": grant["id"]})
        assert ((await client.call("grants.list"))["grants"], refused.value.code) == ([], "NOT_FOUND")


class Changing(Runs):
    """Whose file is another each time it is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    async def bind(self, arguments: Mapping[str, object], context: ToolContext) -> Mapping[str, str]:
        self.looks += 1
        return {"file:run.sh": f"{self.looks:064}", "files": f"{self.looks:064}"}


async def test_a_wider_yes_is_none_to_a_like_call_on_files_that_were_others(tmp_path: Path) -> None:
    twice = call("exec", {"command": "sh run.sh"}).then(call("exec", {"command": "sh run.sh"}))
    async with room(tmp_path, twice, say("done"), tool=Changing()) as here:
        client = await here.client()
        await begin(client)
        first, other = (await until_asked(client, 2))["approvals"]
        done = await answer(client, first["id"], pattern=first["offers"][0]["pattern"], seconds=3600)
        assert (first["bound"] != other["bound"], done["also"]) == (True, [])


async def test_a_pattern_is_shown_as_wide_as_it_is(tmp_path: Path) -> None:
    async with room(tmp_path, call("exec", {"command": "git status"}), say("done")) as here:
        client = await here.client()
        await begin(client)
        (asked,) = (await until_asked(client))["approvals"]
        stated = "git status* (and any code that files there make it run)"
        assert asked["offers"][-1] == {"pattern": "git status*", "text": stated}
        await answer(client, asked["id"], pattern="git status*", seconds=3600)
        (grant,) = (await client.call("grants.list"))["grants"]
        assert grant["pattern"] == stated


async def test_a_wider_yes_is_refused_where_it_does_not_fit_and_the_question_stays(tmp_path: Path) -> None:
    async with room(tmp_path, call("exec", {"command": "ls -a"}), say("done")) as here:
        client = await here.client()
        await begin(client)
        (asked,) = (await until_asked(client))["approvals"]
        wider: list[dict[str, Any]] = [{"pattern": "id*", "seconds": 60}, {"pattern": "ls*"}, {"pattern": "*", "seconds": 60}]
        for number, wrong in enumerate(wider):
            with pytest.raises(Refusal) as refused:
                await answer(client, asked["id"], 11 + number, **wrong)
            assert refused.value.code == "INVALID_PARAMS"
        assert len((await client.call("approvals.list"))["approvals"]) == 1


async def test_what_taint_asks_offers_no_wider_yes(tmp_path: Path) -> None:
    async with room(tmp_path, call("exec", {"command": "ls -a"}), say("done"), decide=taint) as here:
        client = await here.client()
        await begin(client)
        found = await until_asked(client)
        assert (found["approvals"][0]["offers"], found["groups"][0]["offer"]) == ([], None)
        with pytest.raises(Refusal, match="only be allowed once"):
            await answer(client, found["approvals"][0]["id"], pattern="ls*", seconds=60)


async def finished(here: Room, client: Client) -> str:
    await begin(client)
    (asked,) = (await until_asked(client))["approvals"]
    await answer(client, asked["id"])
    await client.event("chat", state="final")
    return str(asked["turn"])


async def test_changes_are_listed_and_undone_and_a_second_undo_finds_them_changed(tmp_path: Path) -> None:
    async with room(tmp_path, call("exec", {"command": "ls"}), say("done")) as here:
        client = await here.client()
        turn = await finished(here, client)
        (changes,) = (await client.call("changes.list", {"key": MAIN}))["turns"]
        (file,) = changes["files"]
        assert (changes["turn"], file["path"], file["change"], file["current"]) == (turn, "out.txt", "added", True)
        assert file["diff"].endswith("+new\n")
        undone = await client.call("changes.undo", {"key": MAIN, "idempotencyKey": KEYS[11]})
        assert undone == {"turn": turn, "restored": [], "deleted": ["out.txt"], "conflicts": []}
        again = await client.call("changes.undo", {"turn": turn, "idempotencyKey": KEYS[12]})
        assert again["conflicts"] == ["out.txt was changed since"]
        (changes,) = (await client.call("changes.list", {"turn": turn}))["turns"]
        assert (changes["files"][0]["current"], changes["files"][0]["undone"], file["undone"]) == (False, True, False)
        with pytest.raises(Refusal, match="Give turn or key"):
            await client.call("changes.list", {})


async def test_a_past_turn_tells_what_was_decided_and_runs_again_from_a_step(tmp_path: Path) -> None:
    async with room(tmp_path, call("exec", {"command": "ls"}), say("done"), say("once more")) as here:
        client = await here.client()
        turn = await finished(here, client)
        record = await client.call("turns.explain", {"key": MAIN, "turn": turn})
        assert [(row["outcome"], row["layer"]) for row in record["decisions"]] == [("ask", "confirm"), ("allow", "approval")]
        assert [step["step"] for step in record["steps"]] == [1, 2]
        again = await client.call("turns.rerun", {"key": MAIN, "turn": turn, "step": 2, "idempotencyKey": KEYS[13]})
        assert (await here.engine.outcome(again["item"])).text == "once more"
        history = (await client.call("chat.history", {"key": again["key"]}))["turns"]
        assert [each["inputs"][0]["text"] for each in history] == ["go", "go"]
        assert [use["name"] for use in history[0]["steps"][0]["calls"]] == ["exec"]
        with pytest.raises(Refusal, match="no step 7"):
            await client.call("turns.rerun", {"key": MAIN, "turn": turn, "step": 7, "idempotencyKey": KEYS[14]})


async def test_a_turn_of_long_ago_still_tells_what_was_decided(tmp_path: Path) -> None:
    async with room(tmp_path, call("exec", {"command": "ls"}), say("done")) as here:
        client = await here.client()
        turn = await finished(here, client)
        later = Audit(at=1.0, kind="tool.decided", actor="owner", subject="exec", outcome="allow", detail={"turn": "another"})
        await here.store.commit([later] * 1500)
        record = await client.call("turns.explain", {"key": MAIN, "turn": turn})
        assert [(row["outcome"], row["layer"]) for row in record["decisions"]] == [("ask", "confirm"), ("allow", "approval")]


async def test_vouching_is_recorded(tmp_path: Path) -> None:
    async with room(tmp_path, call("exec", {"command": "ls"}), say("done")) as here:
        client = await here.client()
        await finished(here, client)
        await client.call("session.trust", {"key": MAIN, "reason": "I read it.", "idempotencyKey": KEYS[15]})
        last = (await client.call("sessions.events", {"key": MAIN}))["events"][-1]
        assert (last["kind"], last["by"], last["reason"]) == ("session.declassified", "api:token", "I read it.")
