"""What sockets are told without asking."""

from pathlib import Path
from typing import Any

import anyio

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.events import Compacted, Recorded
from ostiary.contracts.model import Restarted
from ostiary.contracts.tool import ToolResult
from ostiary.gateway.protocol.events import ChatSummarised
from ostiary.gateway.protocol.frames import event_head
from ostiary.gateway.socket.narration import Narration
from ostiary.kit.models import Step, call, say
from tests.unit.core.engines import Tool
from tests.unit.gateway.socket.room import MAIN, Client, Room, open_room


async def said(client: Client, text: str = "hi", key: str = MAIN) -> Any:
    said.number = getattr(said, "number", 0) + 1  # type: ignore[attr-defined]
    return await client.call("chat.send", {"key": key, "text": text, "idempotencyKey": f"said-{said.number:08d}"})  # type: ignore[attr-defined]


async def chat_events(client: Client) -> list[dict[str, Any]]:
    """Those of one turn."""
    told = []
    while not told or told[-1]["state"] not in ("final", "error"):
        told.append(await client.event("chat"))
    return told


async def test_a_turn_is_told_from_beginning_to_end_to_who_follows_it(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client, other = await room.client(), await room.client()
        await client.call("chat.history", {"key": MAIN})
        sent = await said(client)
        told = await chat_events(client)
        assert [each["state"] for each in told if each["state"] != "delta"] == ["started", "answered", "final"]
        assert told[0]["items"] == [sent["item"]]
        assert told[0]["inputs"][0]["text"] == "hi"
        assert "".join(each["text"] for each in told if each["state"] == "delta") == "Hello, world."
        assert (told[-1]["reply"], told[-1]["usage"]["output"]) == ("Hello, world.", 2)
        await other.event("sessions", key=MAIN)
        assert not [event for event in other.events if event["event"] == "chat"]


async def test_numbers_have_no_gaps(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await client.call("sessions.subscribe", {"keys": ["*"]})
        await said(client)
        await client.event("chat", state="final")
        await said(client, "again")
        seen = []
        while not seen or seen[-1]["payload"].get("state") != "final":
            frame = await client.line.next()
            seen += [frame] if frame["type"] == "event" else []
        numbers = [frame["seq"] for frame in seen]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_following_nothing_any_more_tells_nothing_any_more(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client, watching = await room.client(), await room.client()
        await client.call("sessions.subscribe", {"keys": [MAIN]})
        await watching.call("sessions.subscribe", {"keys": [MAIN]})
        assert await client.call("sessions.unsubscribe", {"keys": [MAIN]}) == {"keys": []}
        await said(client)
        await watching.event("chat", state="final")
        await client.call("health")
        assert not [event for event in client.events if event["event"] == "chat"]


async def test_results_of_tools_are_for_those_who_asked_for_them(tmp_path: Path) -> None:
    async def look(arguments: Any) -> ToolResult:
        return ToolResult(text="a long result")

    tools = {"probe": Tool("probe", act=look)}
    async with open_room(tmp_path, call("probe", {"n": 1}), say("done"), tools=tools) as room:
        full, brief = await room.client(), await room.client()
        await full.call("sessions.subscribe", {"keys": [MAIN], "verbose": "full"})
        await brief.call("sessions.subscribe", {"keys": [MAIN]})
        await said(full)
        started = await full.event("chat", state="tool", phase="started")
        assert (started["name"], started["arguments"], started["step"]) == ("probe", '{"n": 1}', 1)
        ended = await full.event("chat", state="tool", phase="ended")
        assert (ended["fate"], ended["result"], ended["isError"]) == ("done", "a long result", False)
        assert "result" not in await brief.event("chat", state="tool", phase="ended")


async def test_a_turn_that_fails_is_told_as_an_error(tmp_path: Path) -> None:
    hold = anyio.Event()
    async with open_room(tmp_path, say("Hel").held(hold)) as room:
        client = await room.client()
        await client.call("chat.history", {"key": MAIN})
        await said(client)
        await client.event("chat", state="delta")
        assert await client.call("chat.abort", {"key": MAIN}) == {"turns": 1, "queued": 0}
        error = await client.event("chat", state="error")
        assert (error["status"], error["partial"]) == ("aborted", "Hel")


async def test_who_connects_in_the_middle_of_an_answer_is_given_what_is_there_of_it(tmp_path: Path) -> None:
    first, second = anyio.Event(), anyio.Event()
    answer = say("Hel").held(first).then(say("lo,").held(second)).then(say(" world."))
    async with open_room(tmp_path, answer) as room:
        sender = await room.client()
        await sender.call("chat.history", {"key": MAIN})
        await said(sender)
        await sender.event("chat", state="delta")
        sender.line.hang_up()
        with anyio.fail_after(5):
            await sender.line.over.wait()
        # Nobody looks on while this is written.
        first.set()
        await room.until_written("Hello,")
        late = await room.client()
        history = await late.call("chat.history", {"key": MAIN})
        assert history["turns"][-1]["status"] == "running"
        assert history["partial"] == {"turn": history["turns"][-1]["id"], "step": 1, "attempt": 1, "text": "Hello,"}
        second.set()
        delta = await late.event("chat", state="delta")
        assert (delta["offset"], delta["text"], delta["attempt"]) == (len("Hello,"), " world.", 1)
        await late.event("chat", state="final")
        assert (await late.call("chat.history", {"key": MAIN}))["partial"] is None


async def test_a_second_attempt_voids_what_was_there_of_the_first(tmp_path: Path) -> None:
    hold = anyio.Event()
    again = Step(events=(Restarted(model="kit/other", reason="cut"),))
    async with open_room(tmp_path, say("Wrong").then(again).then(say("Right").held(hold))) as room:
        client = await room.client()
        await said(client)
        await room.until_written("Right")
        partial = (await client.call("chat.history", {"key": MAIN}))["partial"]
        assert (partial["attempt"], partial["text"]) == (2, "Right")
        hold.set()


async def test_an_answer_that_is_there_whole_is_not_given_as_a_part(tmp_path: Path) -> None:
    hold = anyio.Event()
    tools = {"probe": Tool("probe")}
    async with open_room(tmp_path, say("Let me look.").then(call("probe")), say("x").after(hold), tools=tools) as room:
        client = await room.client()
        await client.call("chat.history", {"key": MAIN})
        await said(client)
        await client.event("chat", state="tool", phase="ended")
        history = await client.call("chat.history", {"key": MAIN})
        assert history["turns"][-1]["steps"][0]["text"] == "Let me look."
        assert history["partial"] is None
        hold.set()


async def test_who_connects_in_the_middle_of_a_turn_is_told_its_whole_use(tmp_path: Path) -> None:
    hold = anyio.Event()
    tools = {"probe": Tool("probe")}
    async with open_room(tmp_path, call("probe", {"n": 1}), say("done").after(hold), tools=tools) as room:
        first = await room.client()
        await first.call("chat.history", {"key": MAIN})
        await said(first)
        await first.event("chat", state="tool", phase="ended")
        first.line.hang_up()
        with anyio.fail_after(5):
            await first.line.over.wait()
        second = await room.client()
        await second.call("chat.history", {"key": MAIN})
        hold.set()
        final = await second.event("chat", state="final")
        assert final["usage"]["input"] == 20


async def test_everybody_hears_that_a_session_was_used(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client, other = await room.client(), await room.client()
        await said(client, "What is up?")
        told = await other.event("sessions", running=False)
        assert (told["key"], told["change"], told["title"]) == (MAIN, "updated", "What is up?")
        await client.call("sessions.reset", {"key": MAIN, "idempotencyKey": "reset-01"})
        assert (await other.event("sessions", change="reset"))["key"] == MAIN
        await client.call("sessions.delete", {"key": MAIN, "idempotencyKey": "delete-1"})
        assert (await other.event("sessions", change="deleted"))["key"] == MAIN


async def test_everybody_hears_the_tick_by_one_clock(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        clients = [await room.client() for _ in range(3)]
        await room.clock.advance(30.0)
        ticks = [await client.event("tick") for client in clients]
        assert [tick["ts"] for tick in ticks] == [int(room.clock.now() * 1000)] * 3


async def test_who_is_still_here_is_told_to_who_keeps_the_books(tmp_path: Path) -> None:
    seen: list[str] = []
    async with open_room(tmp_path, saw=lambda caller: seen.append(caller.id)) as room:
        await room.client(client={"id": "phone"})
        await room.clock.advance(30.0)
        assert seen == ["phone"]


async def test_presence_is_told_once_for_many_who_come(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        first = await room.client(client={"instanceId": "first"})
        for number in range(5):
            await room.client(client={"instanceId": f"i{number}"})
        await room.client(client={"mode": "cli", "instanceId": "terminal"})
        await room.clock.advance(1.0)
        told = await first.event("presence")
        names = {entry["instanceId"] for entry in told["presence"]}
        assert names == {"gateway", "first", "i0", "i1", "i2", "i3", "i4"}
        await first.call("health")
        assert not [event for event in first.events if event["event"] == "presence"]


async def test_a_change_of_health_is_told_with_the_next_tick(tmp_path: Path) -> None:
    problems: list[str] = []
    async with open_room(tmp_path, problems=lambda: problems) as room:
        client = await room.client()
        problems.append("The disk is full.")
        await room.clock.advance(30.0)
        assert (await client.event("health"))["problems"] == ["The disk is full."]


async def test_a_run_is_told_to_who_began_it(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client, other = await room.client(), await room.client()
        request = client.ask("agent", {"message": "hi", "idempotencyKey": "run-0001"})
        accepted, ended = await client.answer(request), await client.answer(request)
        assert (accepted["status"], ended["status"], ended["text"]) == ("accepted", "ok", "Hello, world.")
        assert accepted["runId"] == ended["runId"]
        data = await client.event("agent", stream="lifecycle")
        assert data["data"]["phase"] == "start"
        assert (await client.event("agent", stream="assistant"))["data"]["text"].startswith("Hello")
        assert (await client.event("agent", stream="lifecycle"))["data"]["status"] == "completed"
        await other.call("health")
        assert not [event for event in other.events if event["event"] == "agent"]


async def test_fifty_followers_share_the_bytes_of_an_event(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        clients = [await room.client() for _ in range(50)]
        for client in clients:
            await client.call("sessions.subscribe", {"keys": [MAIN]})
        await said(clients[0])
        for client in clients:
            assert (await client.event("chat", state="final"))["reply"] == "Hello, world."


async def test_a_lost_piece_of_the_feed_shows_as_a_gap(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        await numbered(room)
        before = (await client.line.next())["seq"]
        room.socket.hub.audience.lost_something()
        await numbered(room)
        assert (await client.line.next())["seq"] == before + 2


async def numbered(room: Room) -> None:
    for connection in room.socket.hub.audience.everybody:
        connection.outgoing.event(event_head("tick", b'{"ts":1}'))


def test_a_summary_made_in_a_turn_is_told_with_what_it_stands_for() -> None:
    made = Compacted(summary="They spoke of quinces.", kept_from="turn_7", label=Label(trust=Trust.OWNER))
    told = Narration().tell(Recorded(session=MAIN, seq=9, turn="turn_8", at=5.0, event=made))
    assert told == ChatSummarised(key=MAIN, turn="turn_8", kept_from="turn_7", summary="They spoke of quinces.", at=5.0)
