"""A gateway that is stopped or killed in mid-answer: clients are told or come back, and the turn finishes once."""

import anyio
import anyio.to_thread

from ostiary.client import Gateway, Piece, connect
from ostiary.kit.model_servers import Reply, Words
from tests.journeys.gateway.house import TOKEN
from tests.journeys.gateway.model import Model
from tests.journeys.ops.conftest import House

KEY = "agent:main:main"


class Talking:
    """A client in mid-conversation, and what it has seen."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.began = anyio.Event()
        self.ended = anyio.Event()
        self.goodbye = anyio.Event()

    async def talk(self, url: str) -> None:
        async with connect(url, token=TOKEN, mode="test") as gateway, anyio.create_task_group() as group:
            group.start_soon(self._listen, gateway)
            async for piece in gateway.chat(KEY, "tell me"):
                self.pieces.append(piece)
                self.began.set()
            self.turns = (await gateway.call("chat.history", {"key": KEY}))["turns"]
            self.ended.set()
            group.cancel_scope.cancel()

    async def _listen(self, gateway: Gateway) -> None:
        async for _ in gateway.events("shutdown"):
            self.goodbye.set()


def halting(model: Model) -> anyio.Event:
    """The first answer stops after half of it; the next one is whole."""
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("half an ", "answer")),), holds={2: gate}), "a whole answer")
    return gate


async def test_a_client_that_comes_back_after_a_kill_sees_the_turn_finish_once(house: House, model: Model) -> None:
    gate, talking = halting(model), Talking()
    with anyio.fail_after(40):
        async with anyio.create_task_group() as group:
            with house.up() as first:
                group.start_soon(talking.talk, first.url)
                await talking.began.wait()
                await anyio.to_thread.run_sync(first.kill)
            await anyio.to_thread.run_sync(model.release, gate)
            with house.up():
                await talking.ended.wait()
    assert (talking.pieces[-1].kind, talking.pieces[-1].text) == ("final", "a whole answer")
    assert [turn["status"] for turn in talking.turns] == ["completed"]
    assert [turn["reply"] for turn in talking.turns] == ["a whole answer"]
    assert len(model.requests) == 2


async def test_a_stop_says_goodbye_and_the_next_start_takes_the_turn_up(house: House, model: Model) -> None:
    gate, talking = halting(model), Talking()
    with anyio.fail_after(40):
        async with anyio.create_task_group() as group:
            with house.up() as first:
                group.start_soon(talking.talk, first.url)
                await talking.began.wait()
                first.terminate()
                await talking.goodbye.wait()
                code = await anyio.to_thread.run_sync(first.end)
            await anyio.to_thread.run_sync(model.release, gate)
            with house.up():
                await talking.ended.wait()
    assert code == 0
    assert (talking.pieces[-1].kind, talking.pieces[-1].text) == ("final", "a whole answer")
    assert [turn["status"] for turn in talking.turns] == ["completed"]


async def test_a_turn_that_ends_in_time_is_not_done_again(house: House, model: Model) -> None:
    gate, talking = halting(model), Talking()
    with anyio.fail_after(40):
        async with anyio.create_task_group() as group:
            with house.up() as first:
                group.start_soon(talking.talk, first.url)
                await talking.began.wait()
                first.terminate()
                await talking.goodbye.wait()
                await anyio.to_thread.run_sync(model.release, gate)
                await anyio.to_thread.run_sync(first.end)
            with house.up():
                await talking.ended.wait()
    assert (talking.pieces[-1].kind, talking.pieces[-1].text) == ("final", "half an answer")
    assert len(model.requests) == 1
