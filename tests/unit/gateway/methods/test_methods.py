"""Every method: who may call it, what it refuses, what it does."""

import hashlib
import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from ostiary.contracts.store import PutBlob
from ostiary.gateway.methods import all_methods
from ostiary.gateway.protocol.system import ChannelState
from ostiary.kit.models import say
from tests.unit.gateway.socket.room import MAIN, Client, Refusal, open_room

KEY = "12345678"
METHODS = all_methods()
# Params that fit each method's schema, whether or not what they name exists.
PARAMS: dict[str, dict[str, Any]] = {
    "system-event": {"text": "reads"},
    "models.auth.set": {"provider": "kit", "secret": "sk-1", "idempotencyKey": KEY},
    "models.auth.delete": {"id": "kit:default"},
    "models.set": {"ref": "kit/scripted"},
    "sessions.get": {"key": MAIN},
    "sessions.patch": {"key": MAIN, "settings": {"verbose": "on"}, "idempotencyKey": KEY},
    "sessions.reset": {"key": MAIN, "idempotencyKey": KEY},
    "sessions.delete": {"key": MAIN, "idempotencyKey": KEY},
    "sessions.compact": {"key": MAIN, "idempotencyKey": KEY},
    "sessions.branch": {"key": MAIN, "atTurn": "turn_1", "idempotencyKey": KEY},
    "sessions.events": {"key": MAIN},
    "sessions.subscribe": {"keys": [MAIN]},
    "sessions.unsubscribe": {"keys": [MAIN]},
    "chat.history": {"key": MAIN},
    "chat.send": {"key": MAIN, "text": "hi", "idempotencyKey": KEY},
    "chat.abort": {"key": MAIN},
    "chat.inject": {"key": MAIN, "text": "A note.", "idempotencyKey": KEY},
    "send": {"to": {"channel": "memory", "chat": "1"}, "text": "hi", "idempotencyKey": KEY},
    "agent": {"message": "hi", "idempotencyKey": KEY},
    "agent.wait": {"runId": "run_1"},
    "config.patch": {"path": "port", "value": 2, "hash": "h1", "idempotencyKey": KEY},
    "config.apply": {"text": "{}", "hash": "h1", "idempotencyKey": KEY},
    "device.pair.approve": {"id": "request", "idempotencyKey": KEY},
    "device.pair.reject": {"id": "request"},
    "device.token.rotate": {"id": "phone"},
    "device.link": {"idempotencyKey": KEY},
    "device.revoke": {"id": "phone"},
    "control.wake": {"idempotencyKey": KEY},
    "control.sleep": {"idempotencyKey": KEY},
    "control.kill": {"reason": "enough"},
    "control.enable": {"patterns": ["exec"], "idempotencyKey": KEY},
    "control.disable": {"patterns": ["exec"]},
    "policy.explain": {"tool": "exec"},
    "approvals.answer": {"id": "abcd", "allow": True, "idempotencyKey": KEY},
    "grants.revoke": {"id": "grant_1"},
    "changes.list": {"turn": "turn_1"},
    "changes.undo": {"turn": "turn_1", "idempotencyKey": KEY},
    "session.trust": {"key": MAIN, "idempotencyKey": KEY},
    "turns.explain": {"key": MAIN, "turn": "turn_1"},
    "turns.rerun": {"key": MAIN, "turn": "turn_1", "idempotencyKey": KEY},
    "vault.list": {"collection": "notes"},
    "vault.get": {"collection": "notes", "path": "a.md"},
    "vault.put": {"collection": "notes", "path": "a.md", "text": "x", "version": 0, "idempotencyKey": "vault-put-1"},
    "vault.history": {"collection": "notes", "path": "a.md"},
    "vault.diff": {"collection": "notes", "path": "a.md", "before": 0},
    "vault.restore.preview": {"collection": "notes", "at": 5.0},
    "vault.restore": {"collection": "notes", "at": 5.0, "digest": "0", "idempotencyKey": "vault-restore-1"},
    "vault.delete": {"collection": "notes", "path": "a.md", "version": 1, "idempotencyKey": "vault-delete-1"},
    "vault.move": {"collection": "notes", "path": "a.md", "to": "b.md", "version": 1, "idempotencyKey": "vault-move-1"},
    "vault.search": {"text": "quince"},
    "sessions.search": {"text": "quince"},
    "memory.search": {"text": "quince"},
    "memory.write": {"text": "Quinces are yellow.", "idempotencyKey": "memory-write-1"},
    "memory.why": {"target": "quince"},
    "memory.forget.preview": {"text": "quince"},
    "memory.forget": {"text": "quince", "digest": "0", "idempotencyKey": "memory-forget-1"},
    "memory.confirm": {"ids": ["abcd"], "idempotencyKey": "memory-confirm-1"},
}


async def say_something(client: Client, text: str = "hi", key: str = MAIN, id: str = "say-00001") -> None:
    request = client.ask("agent", {"message": text, "key": key, "idempotencyKey": id})
    await client.answer(request)
    await client.answer(request)


async def code_of(client: Client, method: str, params: dict[str, Any] | None = None) -> str:
    try:
        await client.call(method, params)
    except Refusal as refused:
        return refused.code
    return ""


@pytest.mark.parametrize("name", METHODS)
async def test_a_caller_without_the_scope_is_refused(tmp_path: Path, name: str) -> None:
    needed = (METHODS[name].scope, METHODS[name].or_scope)
    others = [scope for scope in ("read", "chat", "approve") if scope not in needed]
    async with open_room(tmp_path) as room:
        client = await room.client(scopes=others)
        assert await code_of(client, name, PARAMS.get(name)) == "FORBIDDEN"
        assert METHODS[name].or_own or name not in client.hello["features"]["methods"]


async def test_a_caller_with_the_scope_is_not_forbidden_anything_of_it(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        codes = {}
        for name, method in METHODS.items():
            client = await room.client(scopes=[method.or_scope or method.scope])
            codes[name] = await code_of(client, name, PARAMS.get(name))
        assert "FORBIDDEN" not in codes.values()
        assert "INVALID_PARAMS" not in codes.values()
        assert "INTERNAL" not in codes.values()


@pytest.mark.parametrize("name", METHODS)
async def test_unknown_fields_and_wrong_types_are_refused(tmp_path: Path, name: str) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        params = PARAMS.get(name, {})
        assert await code_of(client, name, {**params, "surprise": 1}) == "INVALID_PARAMS"
        wrong = {field: [[{}]] for field in params} or {"surprise": 1}
        assert await code_of(client, name, wrong) == "INVALID_PARAMS"


EFFECTS = [name for name, method in METHODS.items() if method.has_effect and "idempotencyKey" in PARAMS[name]]


@pytest.mark.parametrize("name", EFFECTS)
async def test_an_act_without_a_key_is_refused_and_a_key_has_bounds(tmp_path: Path, name: str) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        bare = {field: value for field, value in PARAMS[name].items() if field != "idempotencyKey"}
        assert await code_of(client, name, bare) == "INVALID_PARAMS"
        assert await code_of(client, name, {**bare, "idempotencyKey": "1234567"}) == "INVALID_PARAMS"
        assert await code_of(client, name, {**bare, "idempotencyKey": "1" * 129}) == "INVALID_PARAMS"


async def test_a_repeated_act_gets_the_first_result_and_other_params_a_conflict(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        first = await client.call("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": KEY})
        again = await client.call("chat.send", {"text": "hi", "key": MAIN, "idempotencyKey": KEY})
        assert first == again
        assert await code_of(client, "chat.send", {"key": MAIN, "text": "ho", "idempotencyKey": KEY}) == "CONFLICT"
        assert await code_of(client, "sessions.reset", {"key": MAIN, "idempotencyKey": KEY}) == "CONFLICT"


async def test_what_a_crash_left_unremembered_is_not_said_twice(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        first = await client.call("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": KEY})
        room.memory.kept.clear()
        again = await client.call("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": KEY})
        assert (again["status"], again["item"]) == ("duplicate", first["item"])


async def test_health_and_status(tmp_path: Path) -> None:
    async with open_room(tmp_path, problems=lambda: ["The key expires."]) as room:
        client = await room.client()
        await room.clock.advance(2.5)
        assert await client.call("health") == {"ok": True, "uptimeMs": 2500, "version": "1.2.3", "problems": ["The key expires."]}
        status = await client.call("status")
        assert (status["home"], status["generation"], status["agents"], status["running"]) == ("/home/test", 7, ["main"], 0)
        assert (await (await room.client(scopes=["read"])).call("status"))["home"] is None


async def test_a_beacon_is_only_for_oneself(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client(client={"instanceId": "mine"})
        await room.client(client={"id": "other", "instanceId": "theirs"})
        assert await client.call("system-event", {"text": "reads"}) == {"ok": True}
        assert await client.call("system-event", {"text": "reads", "instanceId": "theirs"}) == {"ok": False}
        texts = {entry["instanceId"]: entry["text"] for entry in (await client.call("system-presence"))["presence"]}
        assert texts == {"gateway": "", "mine": "reads", "theirs": ""}


async def test_channels_are_listed(tmp_path: Path) -> None:
    async with open_room(tmp_path, channels=lambda: [ChannelState(id="memory", state="on")]) as room:
        assert await (await room.client()).call("channels.status") == {
            "channels": [{"id": "memory", "state": "on", "detail": ""}]
        }


async def test_models_are_listed_with_the_one_that_answers(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        (model,) = (await client.call("models.list"))["models"]
        assert (model["ref"], model["current"], model["usable"], model["alias"]) == ("kit/scripted", True, True, "quick")
        assert await code_of(client, "models.list", {"agent": "nobody"}) == "NOT_FOUND"


async def test_a_models_secret_goes_in_and_never_comes_out(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        assert await client.call("models.auth.set", PARAMS["models.auth.set"]) == {"id": "kit:default"}
        assert room.models.kept == {"kit:default": ("kit", "api_key", "sk-1")}
        listed = await client.call("models.auth.list")
        assert (listed["profiles"][0]["id"], "sk-1" in json.dumps(listed)) == ("kit:default", False)
        kept = [remembered.result for remembered in room.memory.kept.values()]
        assert not [result for result in kept if b"sk-1" in result]
        assert await client.call("models.auth.delete", {"id": "kit:default"}) == {"ok": True}
        assert await code_of(client, "models.auth.delete", {"id": "kit:default"}) == "NOT_FOUND"


async def test_the_model_that_answers_can_be_chosen(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        assert await client.call("models.set", {"ref": "kit/scripted"}) == {"ref": "kit/scripted", "generation": 2}
        assert room.models.primary == "kit/scripted"
        assert await code_of(client, "models.set", {"ref": "kit/other"}) == "INVALID_PARAMS"


async def test_sessions_are_listed_searched_and_shown(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await say_something(client, "What is up?")
        await say_something(client, "Something else", "agent:main:api:other", id="say-00002")
        rows = (await client.call("sessions.list"))["sessions"]
        assert [row["key"] for row in rows] == ["agent:main:api:other", MAIN]
        assert (rows[1]["title"], rows[1]["running"], rows[1]["origin"]) == ("What is up?", False, "webchat")
        assert len((await client.call("sessions.list", {"search": "WHAT"}))["sessions"]) == 1
        assert len((await client.call("sessions.list", {"limit": 1}))["sessions"]) == 1
        view = await client.call("sessions.get", {"key": MAIN})
        assert (view["turns"], view["messages"], view["usage"]["output"], view["title"]) == (1, 2, 2, "What is up?")
        assert await code_of(client, "sessions.get", {"key": "agent:main:api:none"}) == "NOT_FOUND"
        assert await code_of(client, "sessions.get", {"key": "main"}) == "INVALID_PARAMS"


async def test_settings_and_title_are_changed(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await say_something(client)
        params = {"key": MAIN, "settings": {"verbose": "full"}, "title": "A \n title\x00", "idempotencyKey": KEY}
        assert await client.call("sessions.patch", params) == {"settings": {"verbose": "full"}, "title": "A title"}
        assert (await client.event("sessions", title="A title"))["key"] == MAIN
        wrong = {"key": MAIN, "settings": {"model": "kit/none"}, "idempotencyKey": "87654321"}
        assert await code_of(client, "sessions.patch", wrong) == "INVALID_PARAMS"


async def test_a_conversation_is_called_by_its_first_words_until_somebody_names_it(tmp_path: Path) -> None:
    async def title() -> str:
        return str((await client.call("sessions.get", {"key": MAIN}))["title"])

    async with open_room(tmp_path) as room:
        client = await room.client()
        await say_something(client, "Where do quinces grow?")
        await say_something(client, "And pears?", id="say-00002")
        assert await title() == "Where do quinces grow?"
        await client.call("sessions.patch", {"key": MAIN, "settings": {}, "title": "The garden", "idempotencyKey": KEY})
        await say_something(client, "And plums?", id="say-00003")
        assert await title() == "The garden"
        await client.call("sessions.patch", {"key": MAIN, "settings": {}, "title": "", "idempotencyKey": "87654321"})
        await client.call("sessions.reset", {"key": MAIN, "idempotencyKey": "87654322"})
        await say_something(client, "What is for dinner?", id="say-00004")
        assert await title() == "What is for dinner?"


async def test_a_session_is_reset_and_deleted(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await say_something(client)
        await client.call("sessions.reset", {"key": MAIN, "idempotencyKey": KEY})
        assert (await client.call("chat.history", {"key": MAIN}))["turns"] == []
        kinds = [event["kind"] for event in (await client.call("sessions.events", {"key": MAIN}))["events"]]
        assert "turn.started" in kinds
        assert kinds[-1] == "session.reset"
        said = {"text": "what did I say to hello", "limit": 5}
        assert (await client.call("sessions.search", said))["hits"]
        await client.call("sessions.delete", {"key": MAIN, "idempotencyKey": "87654321"})
        assert await code_of(client, "sessions.get", {"key": MAIN}) == "NOT_FOUND"
        assert (await client.call("sessions.search", said))["hits"] == []


async def test_the_journal_is_read_in_pages_and_by_turn(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await say_something(client)
        await say_something(client, "again", id="say-00002")
        whole = await client.call("sessions.events", {"key": MAIN})
        first = await client.call("sessions.events", {"key": MAIN, "limit": 3})
        rest = await client.call("sessions.events", {"key": MAIN, "after": first["events"][-1]["seq"]})
        assert first["more"]
        assert not rest["more"]
        assert first["events"] + rest["events"] == whole["events"]
        of_turn = (await client.call("sessions.events", {"key": MAIN, "turn": "turn_2"}))["events"]
        assert {event["turn"] for event in of_turn} == {"turn_2"}
        started = of_turn[0]
        assert (started["kind"], started["inputs"][0]["parts"][0]["text"]) == ("turn.started", "again")


async def test_a_branch_holds_everything_before_the_turn(tmp_path: Path) -> None:
    answers = [say("one."), say("two."), say("three.")]
    async with open_room(tmp_path, *answers) as room:
        client = await room.client()
        await say_something(client, "first")
        await say_something(client, "second", id="say-00002")
        params = {"key": MAIN, "atTurn": "turn_2", "idempotencyKey": KEY}
        branched = (await client.call("sessions.branch", params))["key"]
        assert branched != MAIN
        history = await client.call("chat.history", {"key": branched})
        assert [turn["inputs"][0]["text"] for turn in history["turns"]] == ["first"]
        assert history["turns"][0]["reply"] == "one."
        await say_something(client, "other second", branched, id="say-00003")
        history = await client.call("chat.history", {"key": branched})
        assert [turn["reply"] for turn in history["turns"]] == ["one.", "three."]
        room.memory.kept.clear()
        assert (await client.call("sessions.branch", params))["key"] == branched


async def test_a_branch_of_a_branch_can_begin_in_what_was_brought_along(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await say_something(client, "first")
        await say_something(client, "second", id="say-00002")
        await say_something(client, "third", id="say-00003")
        one = (await client.call("sessions.branch", {"key": MAIN, "atTurn": "turn_3", "idempotencyKey": KEY}))["key"]
        past = (await client.call("chat.history", {"key": one}))["turns"][1]["id"]
        two = (await client.call("sessions.branch", {"key": one, "atTurn": past, "idempotencyKey": "87654321"}))["key"]
        history = await client.call("chat.history", {"key": two})
        assert [turn["inputs"][0]["text"] for turn in history["turns"]] == ["first"]
        wrong = {"key": MAIN, "atTurn": "turn_9", "idempotencyKey": "99999999"}
        assert await code_of(client, "sessions.branch", wrong) == "NOT_FOUND"


async def test_a_socket_follows_only_so_many_sessions(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        for start in (0, 100):
            await client.call("sessions.subscribe", {"keys": [f"agent:main:api:u{start + n}" for n in range(100)]})
        assert await code_of(client, "sessions.subscribe", {"keys": [MAIN]}) == "BUSY"


async def test_what_is_said_can_carry_uploaded_files_and_settings_of_its_own(tmp_path: Path) -> None:
    content = b"\x89PNG pretended"
    digest = hashlib.sha256(content).hexdigest()
    async with open_room(tmp_path) as room:
        client = await room.client()
        await room.store.commit([PutBlob(digest=digest, content=content)])
        file = {"digest": digest, "name": "a.png", "mediaType": "image/png", "size": 1}
        params = {"key": MAIN, "text": "look", "attachments": [file], "thinking": "low", "idempotencyKey": KEY}
        sent = await client.call("chat.send", params)
        item = await room.store.inbox_item(sent["item"])
        assert item is not None
        assert item.principal.is_owner
        missing = {**params, "attachments": [{**file, "digest": "0" * 64}], "idempotencyKey": "87654321"}
        assert await code_of(client, "chat.send", missing) == "NOT_FOUND"
        assert (
            await code_of(client, "chat.send", {**params, "model": "kit/none", "idempotencyKey": "87654322"}) == "INVALID_PARAMS"
        )
        assert await code_of(client, "chat.send", {"key": MAIN, "text": " ", "idempotencyKey": "87654323"}) == "INVALID_PARAMS"
        other = {"key": "agent:nobody:main", "text": "hi", "idempotencyKey": "87654324"}
        assert await code_of(client, "chat.send", other) == "NOT_FOUND"


async def test_a_note_is_in_the_transcript_and_told(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await say_something(client)
        await client.call("chat.history", {"key": MAIN})
        seq = (await client.call("chat.inject", {"key": MAIN, "text": "By hand.", "idempotencyKey": KEY}))["seq"]
        assert (await client.event("chat", state="noted"))["text"] == "By hand."
        last = (await client.call("chat.history", {"key": MAIN}))["turns"][-1]
        assert (last["id"], last["reply"], last["inputs"]) == (f"note-{seq}", "By hand.", [])


async def test_sending_needs_a_channel(tmp_path: Path) -> None:
    delivered = []

    async def deliver(*what: Any) -> None:
        delivered.append(what)

    channels = [ChannelState(id="memory", state="on")]
    async with open_room(tmp_path, channels=lambda: channels, deliver=deliver) as room:
        client = await room.client()
        await client.call("send", PARAMS["send"])
        (address, text, key) = delivered[0]
        assert (address.channel, address.chat, text, KEY in key) == ("memory", "1", "hi", True)
        nowhere = {"to": {"channel": "pigeon", "chat": "1"}, "text": "hi", "idempotencyKey": "87654321"}
        assert await code_of(client, "send", nowhere) == "NOT_FOUND"


async def test_a_run_answers_twice_and_can_be_waited_for(tmp_path: Path) -> None:
    hold = anyio.Event()
    async with open_room(tmp_path, say("late").after(hold)) as room:
        client = await room.client()
        request = client.ask("agent", {"message": "hi", "idempotencyKey": KEY})
        accepted = await client.answer(request)
        assert accepted == {"runId": accepted["runId"], "sessionKey": MAIN, "status": "accepted", "text": None}
        waited = await client.call("agent.wait", {"runId": accepted["runId"], "timeoutMs": 1})
        assert waited["status"] == "timeout"
        hold.set()
        ended = await client.answer(request)
        assert (ended["status"], ended["text"], ended["summary"], ended["usage"]["output"]) == ("ok", "late", "late", 1)
        assert (await client.call("agent.wait", {"runId": accepted["runId"]}))["status"] == "ok"
        assert await code_of(client, "agent.wait", {"runId": "run_999"}) == "NOT_FOUND"
        assert await code_of(client, "agent", {"message": "x", "agentId": "nobody", "idempotencyKey": "87654321"}) == "NOT_FOUND"
        both = {"message": "x", "agentId": "main", "key": MAIN, "idempotencyKey": "87654321"}
        assert await code_of(client, "agent", both) == "INVALID_PARAMS"


async def test_a_repeated_run_is_accepted_again_and_ends_the_same(tmp_path: Path) -> None:
    async with open_room(tmp_path, say("once")) as room:
        client = await room.client()
        for _ in range(2):
            request = client.ask("agent", {"message": "hi", "idempotencyKey": KEY})
            assert (await client.answer(request))["runId"] == "run_1"
            assert (await client.answer(request))["text"] == "once"


async def test_use_is_summed_by_what_is_asked_for(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await say_something(client)
        room.clock.jump(86400.0)
        await say_something(client, "again", id="say-00002")
        by_day = await client.call("usage.summary", {"by": "day"})
        assert [row["turns"] for row in by_day["rows"]] == [1, 1]
        assert by_day["rows"][0]["key"] < by_day["rows"][1]["key"]
        assert (by_day["total"]["turns"], by_day["total"]["input"], by_day["isPartial"]) == (2, 20, False)
        assert [row["key"] for row in (await client.call("usage.summary", {"by": "model"}))["rows"]] == ["kit/scripted"]
        assert [row["key"] for row in (await client.call("usage.summary", {"by": "session"}))["rows"]] == [MAIN]
        assert [row["key"] for row in (await client.call("usage.summary", {"by": "agent"}))["rows"]] == ["main"]
        assert len((await client.call("usage.summary", {"days": 1}))["rows"]) == 1


async def test_the_configuration_is_read_and_changed_only_as_it_was_read(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        view = await client.call("config.get")
        assert view["config"] == {"port": 1}
        changed = await client.call("config.patch", {"path": "port", "value": 2, "hash": view["hash"], "idempotencyKey": KEY})
        assert changed == {"hash": "h2", "generation": 2}
        stale = {"path": "port", "value": 3, "hash": view["hash"], "idempotencyKey": "87654321"}
        assert await code_of(client, "config.patch", stale) == "CONFLICT"
        neither = {"path": "port", "hash": "h2", "idempotencyKey": "87654322"}
        assert await code_of(client, "config.patch", neither) == "INVALID_PARAMS"
        assert await code_of(client, "config.patch", {**neither, "value": None, "unset": True}) == "INVALID_PARAMS"
        await client.call("config.patch", {**neither, "unset": True})
        assert room.config.values == {}
        await client.call("config.apply", {"text": "{ port: 9 }", "hash": "h3", "idempotencyKey": "87654323"})
        assert (room.config.text, (await client.call("config.schema"))["version"]) == ("{ port: 9 }", 1)


async def test_a_value_of_null_is_a_value(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await client.call("config.patch", {"path": "port", "value": None, "hash": "h1", "idempotencyKey": KEY})
        assert room.config.values == {"port": None}


async def test_devices_are_listed_let_in_and_sent_away(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        listed = await client.call("device.pair.list")
        assert (listed["pending"], listed["devices"][0]["id"], listed["devices"][0]["current"]) == ([], "phone", False)
        approved = await client.call("device.pair.approve", {"id": "request", "scopes": ["read"], "idempotencyKey": KEY})
        assert approved == {"deviceId": "phone", "scopes": ["read"]}
        assert await client.call("device.pair.reject", {"id": "request"}) == {"ok": True}
        assert await code_of(client, "device.pair.reject", {"id": "none"}) == "NOT_FOUND"
        assert await client.call("device.revoke", {"id": "phone"}) == {"ok": True}
        assert await client.call("device.link", {"idempotencyKey": "a-new-link"}) == {"url": "http://127.0.0.1:1/#k=once"}
        assert room.devices.revoked == ["phone"]


async def test_a_device_may_act_on_itself_and_on_nobody_else(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        phone = await room.client(scopes=["read"], client={"id": "phone"})
        assert {"device.revoke", "device.token.rotate"} <= set(phone.hello["features"]["methods"])
        assert await phone.call("device.token.rotate", {"id": "phone"}) == {"deviceId": "phone", "deviceToken": "odt_new"}
        assert await code_of(phone, "device.token.rotate", {"id": "tablet"}) == "FORBIDDEN"
        assert await code_of(phone, "device.revoke", {"id": "tablet"}) == "FORBIDDEN"
        assert not [kept for kept in room.memory.kept.values() if b"odt_new" in kept.result]


async def test_commands_are_listed(tmp_path: Path) -> None:
    from ostiary.core.routing.commands import Command, CommandCall, CommandReply

    async def run(call: CommandCall) -> CommandReply:
        return CommandReply()

    stop = Command(name="stop", summary="End it.", run=run, usage="/stop", aliases=("halt",))
    async with open_room(tmp_path, commands=lambda: [stop]) as room:
        listed = await (await room.client()).call("commands.list")
        assert listed == {"commands": [{"name": "stop", "summary": "End it.", "usage": "/stop", "aliases": ["halt"]}]}


async def test_the_log_is_read_from_a_cursor_on(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        '{"at":"1","level":"info","logger":"a","message":"one"}\n{"at":"2","level":"error","logger":"b","message":"two"}\n'
    )
    async with open_room(tmp_path, log_file=lambda: path) as room:
        client = await room.client()
        first = await client.call("logs.tail")
        assert [line["message"] for line in first["lines"]] == ["one", "two"]
        with path.open("a") as file:
            file.write('{"at":"3","level":"info","logger":"a","message":"three"}\n{"half')
        second = await client.call("logs.tail", {"cursor": first["cursor"]})
        assert [line["message"] for line in second["lines"]] == ["three"]
        assert [line["message"] for line in (await client.call("logs.tail", {"level": "error"}))["lines"]] == ["two"]


async def test_a_session_in_its_first_turn_is_there_already(tmp_path: Path) -> None:
    hold = anyio.Event()
    async with open_room(tmp_path, say("Hello.").after(hold)) as room:
        client = await room.client()
        await client.call("sessions.subscribe", {"keys": [MAIN]})
        await client.call("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": KEY})
        await client.event("chat", state="started")
        (turn,) = (await client.call("chat.history", {"key": MAIN}))["turns"]
        assert (turn["status"], turn["inputs"][0]["text"]) == ("running", "hi")
        assert (await client.call("sessions.get", {"key": MAIN}))["runningTurn"] == turn["id"]
        hold.set()
        await client.event("chat", state="final")


async def test_the_model_of_a_session_can_be_chosen_before_anything_is_said(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        params = {"key": MAIN, "settings": {"model": "kit/scripted"}, "idempotencyKey": KEY}
        assert (await client.call("sessions.patch", params))["settings"] == {"model": "kit/scripted"}
        assert (await client.call("chat.history", {"key": MAIN}))["model"] == "kit/scripted"


async def test_a_session_is_summarised_when_asked_for(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await say_something(client)
        await client.call("sessions.subscribe", {"keys": [MAIN]})
        sent = await client.call("sessions.compact", {"key": MAIN, "instructions": "keep  the\nnumbers", "idempotencyKey": KEY})
        assert sent["status"] == "accepted"
        turn = (await client.event("chat", state="final"))["turn"]
        events = (await client.call("sessions.events", {"key": MAIN}))["events"]
        assert "/compact keep the numbers" in next(str(event) for event in events if event["turn"] == turn)
        assert await code_of(client, "sessions.compact", {"key": "agent:main:none", "idempotencyKey": "87654321"}) == "NOT_FOUND"
