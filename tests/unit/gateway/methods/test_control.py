from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ostiary.contracts.identity import SessionKey
from ostiary.gateway.auth import ALL_SCOPES, Caller
from ostiary.gateway.socket.callers import Admitted
from ostiary.kit.models import say
from tests.unit.core.control.parts import STRANGER
from tests.unit.gateway.socket.room import MAIN, Refusal, open_room

KEYS = [f"key-{number:05}" for number in range(10)]


async def test_the_status_tells_state_switches_and_tools(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await client.call("control.enable", {"patterns": ["exec"], "seconds": None, "idempotencyKey": KEYS[0]})
        status = await client.call("control.status")
        assert (status["state"], status["by"], status["sleepsAt"], status["unfinished"]) == ("awake", "house", 0.0, [])
        assert status["switches"] == [{"pattern": "exec", "until": 0.0, "on": True}]
        assert status["tools"] == [{"name": "exec", "outcome": "ask", "reason": "it runs commands", "on": False, "until": 0.0}]


async def test_switches_have_an_hour_unless_told_otherwise_and_go_off(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        done = await client.call("control.enable", {"patterns": ["exec"], "idempotencyKey": KEYS[0]})
        assert done["switches"][0]["until"] == room.clock.now() + 3600
        off = await client.call("control.disable", {})
        assert off["switches"] == []
        assert off["generation"] != done["generation"]


async def test_sleep_wake_and_kill_move_the_house(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await client.call("control.sleep", {"idempotencyKey": KEYS[0]})
        assert (await client.call("control.status"))["state"] == "dormant"
        assert (await client.call("control.wake", {"reason": "morning", "idempotencyKey": KEYS[1]}))["reason"] == "morning"
        assert (await client.call("control.kill", {}))["unfinished"] == []
        assert (await client.call("control.status"))["state"] == "shutdown"


async def test_a_kill_ends_the_running_turn(tmp_path: Path) -> None:
    async with open_room(tmp_path, say("never").after(anyio.Event())) as room:
        client = await room.client()
        sent = await client.call("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": KEYS[0]})
        with anyio.fail_after(5):
            while (await room.engine.view(SessionKey("main", "main"))).running_turn == "":
                await anyio.lowlevel.checkpoint()
        assert (await client.call("control.kill", {"reason": "enough"}))["turns"] == 1
        assert (await room.engine.outcome(sent["item"])).status == "aborted"


@pytest.mark.parametrize(
    "params",
    [
        {"patterns": []},
        {"patterns": ["exec"], "seconds": 0},
        {"patterns": ["exec"], "seconds": 86_401},
        {"patterns": ["exec"], "seconds": "1h"},
        {"patterns": ["x" * 81]},
        {"patterns": ["a"] * 65},
        {"patterns": ["exec;rm"]},
        {"patterns": ["nonsense"]},
    ],
)
async def test_what_cannot_be_switched_is_refused(tmp_path: Path, params: dict[str, Any]) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        with pytest.raises(Refusal) as refused:
            await client.call("control.enable", {**params, "idempotencyKey": KEYS[0]})
        assert refused.value.code in ("INVALID_PARAMS", "BAD_REQUEST")
        assert (await client.call("control.status"))["switches"] == []


@pytest.mark.parametrize("method", ["control.wake", "control.sleep", "control.kill", "control.enable", "control.disable"])
async def test_a_scope_alone_does_not_make_an_owner(tmp_path: Path, method: str) -> None:
    async def as_a_stranger(scope: Any, said: Any, nonce: str) -> Admitted:
        return Admitted(caller=Caller(id="x", principal=STRANGER, scopes=ALL_SCOPES, kind="device", device="x"))

    async with open_room(tmp_path) as room:
        room.socket._identify = as_a_stranger
        client = await room.client()
        with pytest.raises(Refusal, match="Only the owner"):
            await client.call(
                method, {"patterns": ["exec"], "idempotencyKey": KEYS[0]} if "able" in method else {"idempotencyKey": KEYS[0]}
            )


async def test_whoever_looks_on_is_told_when_the_house_changes_elsewhere(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client, other = await room.client(), await room.client()
        await client.call("control.enable", {"patterns": ["exec"], "seconds": None, "idempotencyKey": KEYS[0]})
        told = await other.event("house")
        assert (told["state"], told["switches"]) == ("awake", [{"pattern": "exec", "until": 0.0, "on": True}])
        await client.call("control.sleep", {"reason": "late", "idempotencyKey": KEYS[1]})
        assert (await other.event("house", state="dormant"))["reason"] == "late"
        await client.call("control.wake", {"idempotencyKey": KEYS[2]})
        await other.event("house", state="awake")
        await client.call("control.kill", {})
        await other.event("house", state="shutdown")


async def test_who_may_not_read_is_not_told_of_the_house(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client, other = await room.client(), await room.client(scopes=["chat"])
        await client.call("control.sleep", {"idempotencyKey": KEYS[0]})
        await client.event("house", state="dormant")
        room.socket.hub.presence_changed()
        await room.clock.advance(2)
        await other.event("presence")
        assert not [event for event in other.events if event["event"] == "house"]
