import json

from ostiary.contracts.content import Text
from ostiary.contracts.events import Event, ModelAnswered, Recorded, Reset, TurnEnded, TurnInput, TurnStarted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import Usage
from ostiary.gateway.house import said
from tests.unit.gateway.fakes import OWNER_LABEL, Client


async def test_status_joins_the_facts_of_the_house_and_the_engines_counts() -> None:
    reply = await Client().call("GET", "/v1/ostiary/status")
    assert reply.json == {"version": "1", "running": 0, "queued": 0}


async def test_stop_ends_what_runs_in_the_named_session() -> None:
    client = Client()
    reply = await client.call("POST", "/v1/ostiary/stop", json.dumps({"session": "agent:main:main"}).encode())
    assert reply.json == {"turns": 1, "queued": 0}
    assert client.engine.stopped == [SessionKey("main", "main")]


async def test_stop_without_a_session_stops_nothing() -> None:
    client = Client()
    replies = [
        await client.call("POST", "/v1/ostiary/stop", body) for body in (b"", b"{}", b'{"session": "x"}', b'{"session": 1}')
    ]
    assert [reply.status for reply in replies] == [400] * 4
    assert client.engine.stopped == []


async def test_a_session_is_shown_with_its_model_and_size() -> None:
    reply = await Client().call("GET", "/v1/ostiary/session?key=agent:main:main")
    assert (reply.json["model"], reply.json["context_tokens"], reply.json["said"]) == ("fake/echo", 12, [])


def started(text: str) -> TurnStarted:
    return TurnStarted(
        inputs=(TurnInput(item=1, parts=(Text(text=text, label=OWNER_LABEL),), at=0.0),),
        principal=Principal(user=UserId(channel="api", stable_id="t")),
        reply_to=Address(channel="api", account="default", chat="x"),
    )


def journal(*events: Event) -> tuple[Recorded, ...]:
    return tuple(Recorded(session="s", seq=n, turn="t", at=0.0, event=event) for n, event in enumerate(events, 1))


def test_a_screen_that_opens_sees_what_was_said_since_the_last_reset() -> None:
    answer = ModelAnswered(step=1, parts=(Text(text="raw", label=OWNER_LABEL),), stop="stop", usage=Usage(), model="m")
    lines = said(
        journal(
            started("old"), TurnEnded(status="completed", reply="gone"), Reset(reason="new"),
            started("hi"), answer, TurnEnded(status="completed", reply="shaped"),
            started("stop"), TurnEnded(status="aborted", partial="half", reason="stopped"),
        )
    )  # fmt: skip
    assert [(line["role"], line["text"]) for line in lines] == [
        ("user", "hi"),
        ("assistant", "shaped"),
        ("user", "stop"),
        ("assistant", "half"),
    ]
