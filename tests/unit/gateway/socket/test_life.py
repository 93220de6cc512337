"""One connection from the handshake to its end."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from ostiary.gateway.errors import ApiError
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.socket.limits import SocketLimits
from tests.unit.gateway.socket import room as rooms
from tests.unit.gateway.socket.room import MAIN, Refusal, connect, open_room


def request(method: str, params: Any = None, id: str = "1") -> dict[str, Any]:
    return {"type": "req", "id": id, "method": method, "params": params or {}}


async def test_hello_says_what_the_caller_may_use_and_how_the_house_is(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        line = await room.dial()
        challenge = await line.next()
        assert (challenge["event"], len(challenge["payload"]["nonce"]) >= 16) == ("connect.challenge", True)
        assert "seq" not in challenge
        line.send(request("connect", connect(scopes=["read"])))
        hello = (await line.next())["payload"]
        assert (hello["type"], hello["protocol"], hello["server"]["version"]) == ("hello-ok", 3, "1.2.3")
        assert hello["auth"] == {"scopes": ["read"]}
        assert {"health", "chat.history"} <= set(hello["features"]["methods"])
        assert not {"chat.send", "config.get", "cron.list"} & set(hello["features"]["methods"])
        assert "chat" in hello["features"]["events"]
        assert hello["policy"] == {"maxPayload": 1048576, "maxBufferedBytes": 1048576, "tickIntervalMs": 30000}
        assert hello["snapshot"]["presence"][0]["instanceId"] == "gateway"
        assert hello["snapshot"]["health"]["ok"]


FIRST: dict[str, tuple[Any, str, int]] = {
    "another method": (request("health"), "BAD_FRAME", 1008),
    "no frame": ("hello", "BAD_FRAME", 1008),
    "binary": (b"\x00\x01", "BAD_FRAME", 1008),
    "a field nobody knows": (request("connect", connect(tokens="x")), "INVALID_PARAMS", 1008),
    "no client": (request("connect", {"minProtocol": 3, "maxProtocol": 3}), "INVALID_PARAMS", 1008),
    "an older protocol": (request("connect", connect(minProtocol=1, maxProtocol=2)), "PROTOCOL_MISMATCH", 1002),
    "a newer protocol": (request("connect", connect(minProtocol=4, maxProtocol=9)), "PROTOCOL_MISMATCH", 1002),
    "a wrong token": (request("connect", connect(auth={"token": "tik"})), "UNAUTHORIZED", 1008),
    "no token": (request("connect", connect(auth=None)), "UNAUTHORIZED", 1008),
    "an unknown role": (request("connect", connect(role="root")), "INVALID_PARAMS", 1008),
    "an unknown scope": (request("connect", connect(scopes=["root"])), "INVALID_PARAMS", 1008),
}


@pytest.mark.parametrize(("first", "code", "closes"), FIRST.values(), ids=FIRST)
async def test_who_does_not_connect_properly_is_told_why_and_closed(tmp_path: Path, first: Any, code: str, closes: int) -> None:
    async with open_room(tmp_path) as room:
        line = await room.dial()
        line.send(first)
        frames, closed = await line.until_closed()
        assert (frames[-1]["error"]["code"], closed["code"]) == (code, closes)
        assert not room.socket.hub.audience.everybody


async def test_who_says_nothing_for_ten_seconds_is_closed(tmp_path: Path) -> None:
    assert SocketLimits().connect_seconds == 10.0
    async with open_room(tmp_path, limits=SocketLimits(connect_seconds=0.01)) as room:
        line = await room.dial()
        _, closed = await line.until_closed()
        assert closed["code"] == 1008


async def test_any_refusal_of_the_gate_reaches_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = {
        "NOT_PAIRED": MethodError("NOT_PAIRED", "Not yet.", details={"code": "AB12"}),
        "BUSY": ApiError(429, "Too many tries.", retry_after=3),
    }
    for code, error in errors.items():

        async def refuse(*_: Any, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr(rooms, "identify", refuse)
        (tmp_path / code).mkdir()
        async with open_room(tmp_path / code) as room:
            line = await room.dial()
            line.send(request("connect", connect()))
            frames, _ = await line.until_closed()
            assert frames[-1]["error"]["code"] == code


async def test_connecting_twice_is_a_conflict_and_changes_nothing(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        with pytest.raises(Refusal) as refused:
            await client.call("connect", connect(auth={"token": "nobody"}))
        assert refused.value.code == "CONFLICT"
        assert (await client.call("health"))["ok"]


async def test_a_binary_frame_ends_the_connection(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        client.line.send(b"\x00")
        _, closed = await client.line.until_closed()
        assert closed["code"] == 1003


async def test_many_frames_that_are_none_end_the_connection(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        for _ in range(20):
            client.line.send("{}")
        frames, closed = await client.line.until_closed()
        assert closed["code"] == 1008
        assert frames[0]["error"]["code"] == "BAD_FRAME"


async def test_unknown_methods_and_those_of_absent_parts_are_told_apart(tmp_path: Path) -> None:
    async with open_room(tmp_path, config=None) as room:
        client = await room.client()
        codes = []
        for name in ("sessions.lst", "cron.list", "poll", "channels.login", "config.get", "skills.install", "node.list"):
            with pytest.raises(Refusal) as refused:
                await client.call(name)
            codes.append(refused.value.code)
        assert codes == ["UNKNOWN_METHOD", *["UNAVAILABLE"] * 6]
        assert "config.get" not in client.hello["features"]["methods"]


async def test_an_id_at_work_may_not_be_used_again(tmp_path: Path) -> None:
    async with open_room(tmp_path, rooms.say("x").after(anyio.Event())) as room:
        client = await room.client()
        sent = await client.call("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": "12345678"})
        wait = request("agent.wait", {"runId": f"run_{sent['item']}", "timeoutMs": 600000}, id="same")
        client.line.send(wait)
        client.line.send(wait)
        with pytest.raises(Refusal) as refused:
            await client.answer("same")
        assert refused.value.code == "BAD_FRAME"


async def test_at_most_so_many_requests_are_at_work_on_one_socket(tmp_path: Path) -> None:
    async with open_room(tmp_path, rooms.say("x").after(anyio.Event()), limits=SocketLimits(in_flight=3)) as room:
        client = await room.client()
        sent = await client.call("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": "12345678"})
        asked = [client.ask("agent.wait", {"runId": f"run_{sent['item']}", "timeoutMs": 600000}) for _ in range(4)]
        with pytest.raises(Refusal) as refused:
            await client.answer(asked[-1])
        assert (refused.value.code, (await client.call("health"))["ok"]) == ("BUSY", True)


async def test_too_many_sockets_are_refused_before_they_open(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits=SocketLimits(sockets=2)) as room:
        await room.client()
        await room.client()
        line = await room.dial()
        _, refused = await line.until_closed()
        assert (refused["type"], refused["status"]) == ("websocket.http.response.start", 503)


async def test_a_place_is_free_again_when_a_socket_is_gone(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits=SocketLimits(sockets=1)) as room:
        first = await room.client()
        first.line.hang_up()
        with anyio.fail_after(5):
            await first.line.over.wait()
        assert (await (await room.client()).call("health"))["ok"]


async def test_who_is_revoked_is_closed_and_others_are_not(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        phone = await room.client(client={"id": "phone"})
        other = await room.client()
        room.revoke("phone")
        _, closed = await phone.line.until_closed()
        assert closed["code"] == 1008
        assert (await other.call("health"))["ok"]


async def test_who_is_revoked_while_connecting_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, hold = rooms.identify, anyio.Event()

    async def slowly(*args: Any) -> Any:
        await hold.wait()
        return await known(*args)

    monkeypatch.setattr(rooms, "identify", slowly)
    async with open_room(tmp_path) as room:
        line = await room.dial()
        line.send(request("connect", connect(client={"id": "phone"})))
        await anyio.wait_all_tasks_blocked()
        room.revoke("phone")
        await anyio.wait_all_tasks_blocked()
        hold.set()
        _, closed = await line.until_closed()
        assert closed["code"] == 1008


async def test_when_the_gateway_stops_everybody_is_told_and_closed(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        line = (await room.client()).line
    assert line.over.is_set()
    events = [(await line.next()) for _ in range(line.events.qsize())]
    assert any(event.get("event") == "shutdown" for event in events)
    assert events[-1]["code"] == 1012


async def test_a_slow_client_is_bounded_loses_deltas_and_then_its_connection(tmp_path: Path) -> None:
    limits = SocketLimits(max_buffered=10_000)
    async with open_room(tmp_path, limits=limits) as room:
        client = await room.client()
        await client.call("sessions.subscribe", {"keys": ["*"]})
        client.line.stall()
        (connection,) = room.socket.hub.audience.everybody
        for _ in range(200):
            client.ask("status")
            await anyio.wait_all_tasks_blocked()
            assert connection.outgoing.size < 20_000
        with anyio.fail_after(5):
            client.line.taking.set()
            _, closed = await client.line.until_closed()
        assert closed["code"] == 1013


async def test_an_answer_too_large_for_a_frame_is_refused(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits=SocketLimits(max_response=100)) as room:
        client = await room.client()
        with pytest.raises(Refusal) as refused:
            await client.call("status")
        assert refused.value.code == "TOO_LARGE"


async def test_a_fault_inside_tells_the_caller_nothing_of_it(tmp_path: Path) -> None:
    def broken() -> Any:
        raise RuntimeError("secret path")

    async with open_room(tmp_path, facts=broken) as room:
        client = await room.client()
        with pytest.raises(Refusal) as refused:
            await client.call("status")
        assert (refused.value.code, "secret" in str(refused.value.error)) == ("INTERNAL", False)


async def test_hanging_up_lets_an_act_finish_and_forgets_who_only_waited(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        client.ask("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": "12345678"})
        client.ask("agent.wait", {"runId": "run_1", "timeoutMs": 600000})
        client.line.hang_up()
        with anyio.fail_after(5):
            await client.line.over.wait()
        again = await room.client()
        sent = await again.call("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": "12345678"})
        assert (sent["status"], sent["item"]) == ("accepted", 1)
