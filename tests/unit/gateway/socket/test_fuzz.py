"""Whatever a client sends gets a response of a known shape, or ends its own connection; nothing else breaks."""

import json
import random
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostiary.gateway.methods import all_methods
from ostiary.gateway.protocol.errors import CODES
from ostiary.gateway.socket.connection import Connection
from ostiary.gateway.socket.dedupe import Once
from ostiary.gateway.socket.dispatch import Dispatch
from ostiary.gateway.socket.limits import SocketLimits
from ostiary.gateway.socket.outgoing import Outgoing
from tests.unit.gateway.methods.test_methods import PARAMS
from tests.unit.gateway.socket.room import Client, Line, Room, connect, identify, open_room

BATCH = 250
EXAMPLES = 420  # 105,000 frames

_NAMES = [*all_methods(), "connect", "cron.list", "poll", "nonsense", "", "__init__", "health\x00"]
_VALUES: list[Any] = [
    None, True, 0, -1, 1e308, 2**63, 2**200, "", "\x00", "\ud83d", "￿", "a" * 5000, "agent:main:main", "agent::", "*", "../..",
    [], [[]], {}, {"": {}}, {"__proto__": 1}, "run_1", "run_9999999999999999999999", "null", "undefined", [None] * 300,
]  # fmt: skip
_PIECES = ['"', "{", "}", "[", "]", ",", ":", "\\", "\\u0000", "null", "1e999", "\x00", "é", "", '"type"', " " * 50, "[" * 2000]


def frames(seed: int) -> list[str]:
    """Requests that are nearly right, and texts that nearly are requests."""
    chance = random.Random(seed)
    return [_frame(chance) for _ in range(BATCH)]


def _frame(chance: random.Random) -> str:
    name = chance.choice(_NAMES)
    params: Any = dict(PARAMS.get(name, {}))
    for _ in range(chance.randrange(4)):
        field = chance.choice([*params, "surprise", "key", "limit", "idempotencyKey"])
        params[field] = chance.choice(_VALUES)
    if chance.random() < 0.1:
        params = chance.choice(_VALUES)
    frame: dict[str, Any] = {"type": "req", "id": f"f{chance.randrange(10**9)}", "method": name, "params": params}
    if chance.random() < 0.2:
        frame[chance.choice(["type", "id", "method", "params", "extra"])] = chance.choice(_VALUES)
    text = json.dumps(frame, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.3:
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(text) + 1)
            cut = place + chance.randrange(0, 8)
            text = text[:place] + chance.choice(_PIECES) + text[cut:]
    return text


class Sink:
    """Takes every frame at once and keeps the last ones."""

    def __init__(self) -> None:
        self.on_shutdown = None
        self.taken: list[bytes] = []

    def try_write(self, frame: bytes) -> bool:
        self.taken.append(frame)
        return True

    async def write(self, frame: bytes) -> None:
        raise AssertionError("it takes everything at once")

    async def close(self, code: int, reason: str) -> None: ...


class NoTasks:
    """Counts what would be run."""

    def __init__(self) -> None:
        self.begun = 0

    def start_soon(self, function: Any, connection: Connection, request: str, *more: Any) -> None:
        self.begun += 1
        connection.in_flight.pop(request)


async def admitted(room: Room, sink: Sink) -> Connection:
    import msgspec

    from ostiary.gateway.protocol.connect import Connect

    said = msgspec.convert(connect(), Connect)
    caller = (await identify({}, said, "")).caller
    return Connection(
        "c1",
        caller,
        said.client,
        lambda overflow: Outgoing(sink, limit=1000, start=lambda write: None, overflow=overflow),  # type: ignore[arg-type]
    )


async def test_a_hundred_thousand_frames_get_as_many_answers(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits=SocketLimits(bad_frames=10**9)) as room:
        tasks = NoTasks()
        hub = room.socket.hub
        running, hub._group = hub._group, tasks  # type: ignore[assignment]
        dispatch = Dispatch(all_methods(), room.services, hub, Once(room.memory, room.clock.now))
        sink = Sink()
        connection = await admitted(room, sink)
        total = 0

        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=True)
        @given(st.integers(min_value=0, max_value=2**32))
        def fuzz(seed: int) -> None:
            nonlocal total
            for text in frames(seed):
                sink.taken.clear()
                before = tasks.begun
                dispatch.take(connection, _encodable(text))
                total += 1
                assert len(sink.taken) + tasks.begun - before == 1, text
                for frame in sink.taken:
                    answer = json.loads(frame)
                    assert answer["type"] == "res"
                    assert answer["ok"] or answer["error"]["code"] in CODES
                    assert answer["ok"] or answer["error"]["code"] != "INTERNAL", text

        try:
            fuzz()
        finally:
            hub._group = running
        assert total >= 100_000
        assert connection.closing is None


async def test_handlers_survive_what_a_client_makes_up(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits=SocketLimits(bad_frames=10**9)) as room:
        client = await room.client()
        asked = 0
        for seed in range(8):
            for text in frames(1_000_000 + seed):
                client.line.send(_encodable(text))
                asked += 1
            await _settled(client.line)
        answers = [frame for frame in await _drained(client) if frame["type"] == "res"]
        codes = {answer["error"]["code"] for answer in answers if not answer["ok"]}
        assert len(answers) >= asked
        assert codes <= set(CODES) - {"INTERNAL"}
        assert (await client.call("health"))["ok"]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_or_bytes_is_a_frame_or_a_refusal(content: str | bytes) -> None:
    from ostiary.gateway.protocol.errors import MethodError
    from ostiary.gateway.protocol.frames import decode

    refused = ""
    try:
        decode(content if isinstance(content, bytes) else _encodable(content))
    except MethodError as error:
        refused = error.code
    assert refused in ("", "BAD_FRAME")


def _encodable(text: str) -> str:
    """What a server can have decoded: no lone surrogates."""
    return text.encode("utf-8", "replace").decode()


async def _settled(line: Line) -> None:
    """Until the application has read everything and done what it began."""
    with anyio.fail_after(30):
        while line._to_app.qsize():
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()


async def _drained(client: Client) -> list[dict[str, Any]]:
    with anyio.move_on_after(1):
        request = client.ask("health")
        found: list[dict[str, Any]] = []
        while not found or found[-1].get("id") != request:
            found.append(await client.line.next())
        return found[:-1]
    return []
