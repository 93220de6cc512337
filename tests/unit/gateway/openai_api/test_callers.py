"""Who calls, what they may, and whether the interface is there at all."""

import json

import pytest

from ostiary.contracts.content import Text, Trust, UserMessage
from ostiary.contracts.identity import SessionKey
from tests.unit.gateway.openai_api.pages import Pages, device

HI = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("/v1/responses", ""),
        ("/v1/chat/completions", ""),
    ],
)
async def test_an_interface_that_is_off_does_not_exist(page: str, path: str) -> None:
    pages = Pages(on=frozenset())
    status, _ = await pages.call("POST", page, {"input": "hi", "messages": HI})
    assert status == 404
    assert pages.engine.submitted == []


async def test_each_interface_has_its_own_switch() -> None:
    pages = Pages(on=frozenset({"responses"}))
    assert (await pages.call("POST", "/v1/responses", {"input": "hi"}))[0] == 200
    assert (await pages.call("POST", "/v1/chat/completions", {"messages": HI}))[0] == 404
    assert (await pages.call("GET", "/v1/models"))[0] == 200


async def test_a_device_that_may_only_read_may_not_talk() -> None:
    pages = Pages(caller=device("read"))
    assert (await pages.call("POST", "/v1/responses", {"input": "hi"}))[0] == 403
    assert (await pages.call("POST", "/v1/chat/completions", {"messages": HI}))[0] == 403
    assert (await pages.call("GET", "/v1/models"))[0] == 200
    assert pages.engine.submitted == []


async def test_a_device_speaks_for_itself_and_not_for_the_owner() -> None:
    pages = Pages(caller=device("read", "chat"))
    history = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}, *HI]
    await pages.call("POST", "/v1/chat/completions", {"messages": history})
    (submission,) = pages.engine.submitted
    assert submission.principal == pages.caller.principal
    assert not submission.principal.is_owner
    first = submission.context[0]
    assert isinstance(first, UserMessage)
    assert [part.label.trust for part in first.parts if isinstance(part, Text)] == [Trust.CONTACT]


async def test_the_name_a_device_gives_leads_into_no_conversation_of_the_owner() -> None:
    owners, devices = Pages(), Pages(caller=device("read", "chat"))
    for pages in (owners, devices):
        await pages.call("POST", "/v1/chat/completions", {"messages": HI, "user": "ana"})
    assert owners.engine.submitted[0].session == SessionKey("main", "api:ana")
    assert devices.engine.submitted[0].session == SessionKey("main", "api:device%3Adev1:ana")


async def test_only_the_owner_names_a_session_by_its_key() -> None:
    pages = Pages(caller=device("read", "chat"))
    status, _ = await pages.call("POST", "/v1/chat/completions", {"messages": HI}, x_ostiary_session="agent:main:main")
    assert status == 403
    assert pages.engine.submitted == []


async def test_a_request_that_nobody_let_in_is_refused() -> None:
    pages = Pages(caller=None)  # type: ignore[arg-type]
    assert (await pages.call("POST", "/v1/responses", {"input": "hi"}))[0] == 401


async def test_a_model_is_found_by_its_whole_name() -> None:
    pages = Pages()
    status, body = await pages.call("GET", "/v1/models/*", path="/v1/models/fake/echo")
    assert (status, json.loads(body)["id"]) == (200, "fake/echo")
    assert (await pages.call("GET", "/v1/models/*", path="/v1/models/fake"))[0] == 404


async def test_a_response_cannot_be_followed_without_a_store() -> None:
    pages = Pages()
    status, body = await pages.call("POST", "/v1/responses", {"input": "hi", "previous_response_id": "resp_" + "0" * 33})
    assert (status, json.loads(body)["error"]["code"]) == (404, "previous_response_not_found")
