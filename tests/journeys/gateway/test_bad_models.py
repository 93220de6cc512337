"""Models that misbehave: the turn ends with a clear sentence, the session goes on, nothing is lost."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from ostiary.kit.model_servers import Call, Failure, Reply, Words, say
from ostiary.kit.model_servers.script import Kind
from tests.journeys.gateway.house import Answer, Gateway, Home, config, said
from tests.journeys.gateway.model import Model, saying

NONSENSE: dict[str, tuple[bytes, str]] = {
    "HTML": (b"<html><body>Welcome to the captive portal</body></html>", "text/html"),
    "HTML that claims to be events": (b"<html></html>", "text/event-stream"),
    "nothing at all": (b"", "text/event-stream"),
    "plain words": (b"I am fine, thanks", "text/plain"),
    "an empty object": (b"{}", "application/json"),
    "null": (b"data: null\n\ndata: [DONE]\n\n", "text/event-stream"),
    "events that are no JSON": (b"data: hello\n\ndata: [DONE]\n\n", "text/event-stream"),
    "events of another shape": (b'data: {"choices": "many"}\n\ndata: [DONE]\n\n', "text/event-stream"),
    "choices of another shape": (b'data: {"choices": [7]}\n\ndata: [DONE]\n\n', "text/event-stream"),
    "only the end": (b"data: [DONE]\n\n", "text/event-stream"),
    "bytes": (bytes(range(256)) * 8, "application/octet-stream"),
    "one endless line": (b"data: " + b"x" * 4_000_000, "text/event-stream"),
}


def provider(url: str, *, model: str = "m", key: str = "${KIT_KEY}") -> dict[str, object]:
    return {"baseUrl": url, "api": "openai-completions", "apiKey": key, "models": [{"id": model}]}


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, model_server: Model) -> Iterator[Gateway]:
    """A gateway with one provider for every kind of nonsense, and a sane one."""
    home = Home(tmp_path_factory.mktemp("wide") / "home")
    with ExitStack() as stack:
        bad = {
            f"bad{number}": provider(stack.enter_context(saying(content, content_type=kind)))
            for number, (content, kind) in enumerate(NONSENSE.values())
        }
        others = {
            "kit": provider(model_server.url, model="kit-1"),
            "closed": provider("http://127.0.0.1:9/v1"),
            "nohost": provider("http://no-such-host.invalid/v1"),
            "keyless": provider(model_server.url, key="${NO_SUCH_VARIABLE}"),
            "wrongkey": provider(model_server.url, key="${OSTIARY_TOKEN}"),
        }
        agents = {"defaults": {"model": {"primary": "kit/kit-1"}, "maxConcurrent": 32}}
        home.configure(config(model_server.url, agents=agents, models={"providers": {**bad, **others}}))
        yield stack.enter_context(home.up())


@pytest.fixture(scope="module")
def heard(wide: Gateway) -> dict[str, Answer]:
    """What became of asking every bad provider, all at once: each is tried twice with a pause between."""
    names = [*(f"bad{number}" for number in range(len(NONSENSE))), "closed", "nohost", "keyless", "wrongkey"]
    with ThreadPoolExecutor(len(names)) as pool:
        asked = {name: pool.submit(wide.ask, said("hi", name, model=f"{name}/m")) for name in names}
        return {name: each.result() for name, each in asked.items()}


@pytest.mark.parametrize("number", range(len(NONSENSE)), ids=NONSENSE)
def test_nonsense_fails_the_turn_and_the_session_goes_on(
    wide: Gateway, heard: dict[str, Answer], model: Model, number: int
) -> None:
    answer = heard[f"bad{number}"]
    assert answer.status == 502, answer.body[:500]
    assert answer.code in ("provider_unavailable", "empty_answer")
    assert len(answer.error) < 600
    model.begin("sane")
    assert wide.say("and now?", f"bad{number}").text == "sane"
    assert "hi" in [m["content"] for m in model.last["messages"]]


@pytest.mark.parametrize("provider", ["closed", "nohost"])
def test_an_unreachable_server_fails_the_turn_and_the_session_goes_on(
    wide: Gateway, heard: dict[str, Answer], model: Model, provider: str
) -> None:
    answer = heard[provider]
    assert (answer.status, answer.code) == (502, "provider_unavailable"), answer.body
    assert provider in answer.error
    assert "Check the network" in answer.error
    model.begin("sane")
    assert wide.say("and now?", provider).text == "sane"


def test_a_missing_key_says_so_and_the_session_goes_on(wide: Gateway, heard: dict[str, Answer], model: Model) -> None:
    answer = heard["keyless"]
    assert answer.status in (500, 502), answer.body
    assert "key" in answer.error
    model.begin("sane")
    assert wide.say("and now?", "keyless").text == "sane"


def test_a_refused_key_says_so_without_showing_it(wide: Gateway, heard: dict[str, Answer]) -> None:
    answer = heard["wrongkey"]
    assert answer.status == 502, answer.body
    assert "refused the key" in answer.error
    assert wide.token not in answer.error


def test_a_failing_stream_ends_with_an_error_event(wide: Gateway, model: Model) -> None:
    cut = Reply(parts=(Words(pieces=("half an ", "answer")),), cut_after=300)
    model.begin(cut, cut, cut, cut, cut, cut, cut, cut)
    answer = wide.ask(said("hi", "cut", stream=True))
    assert answer.status in (200, 502)
    assert b'"error"' in answer.body
    model.begin("sane")
    assert wide.say("and now?", "cut").text == "sane"


def test_endless_text_is_cut_off(wide: Gateway, model: Model) -> None:
    # What is said so far is far too long for the next request: it is summarised first, in several calls.
    model.begin(Reply(parts=(Words(pieces=("blah " * 4000,)),), endless=True), *["sane"] * 20)
    answer = wide.ask(said("hi", "endless"))
    assert answer.json["choices"][0]["finish_reason"] == "length"
    assert len(answer.body) < 5_000_000
    assert wide.say("and now?", "endless").text.endswith("sane")


@pytest.mark.parametrize(
    "arguments", ["", "{", "[]", "null", '"x"', '{"path": 7}', "{'path': 'x'}", "\x00", '{"path": "' + "x" * 100_000]
)
def test_invalid_arguments_become_a_result_the_model_reads(wide: Gateway, model: Model, arguments: str) -> None:
    call = Reply(parts=(Call(name="read", pieces=(arguments,), id="call_a"),), stop="tool_calls")
    model.begin(call, "I see.")
    assert wide.say("read it", "arguments").text == "I see."
    assert not model.refused
    assert model.last["messages"][-1]["role"] == "tool"


def test_a_tool_that_does_not_exist_becomes_a_result_the_model_reads(wide: Gateway, model: Model) -> None:
    model.begin(Reply(parts=(Call(name="launch_rocket"),), stop="tool_calls"), "I have no rockets.")
    assert wide.say("launch", "rocket").text == "I have no rockets."
    assert "launch_rocket" in model.last["messages"][-1]["content"]


@pytest.mark.parametrize("name", ["", "a b", "x" * 5000, "läs", "read\n", "../read"])
def test_a_tool_with_an_impossible_name_bricks_no_session(wide: Gateway, model: Model, name: str) -> None:
    model.begin(Reply(parts=(Call(name=name),), stop="tool_calls"), "ok", "ok")
    wide.say("call", "impossible")
    model.begin("fine")
    assert wide.say("and now?", "impossible").text == "fine"
    assert not model.refused


def test_a_hundred_calls_at_once_are_all_answered_in_order(wide: Gateway, model: Model) -> None:
    calls = tuple(Call(name="session_status", id=f"call_{number}") for number in range(100))
    model.begin(Reply(parts=calls, stop="tool_calls"), "done")
    assert wide.say("status", "hundred").text == "done"
    answered = [m["tool_call_id"] for m in model.last["messages"] if m["role"] == "tool"]
    assert answered == [call.id for call in calls]


def test_calls_with_the_same_id_are_told_apart(wide: Gateway, model: Model) -> None:
    calls = tuple(Call(name="session_status", id="same") for _ in range(3))
    model.begin(Reply(parts=calls, stop="tool_calls"), "done")
    assert wide.say("status", "same-ids").text == "done"
    assert not model.refused


def test_a_model_that_only_ever_calls_tools_is_stopped(wide: Gateway, model: Model) -> None:
    model.begin(*(Reply(parts=(Call(name="session_status", id=f"c{n}"),), stop="tool_calls") for n in range(80)))
    answer = wide.say("loop", "loop")
    assert answer.status >= 400
    assert "steps" in answer.error
    model.begin("sane")
    assert wide.say("and now?", "loop").text == "sane"


REFUSALS: tuple[tuple[Kind, int], ...] = (("context", 400), ("rejected", 400), ("server", 502), ("auth", 502))


def test_a_providers_refusals_are_told_with_the_right_status(home: Home, model: Model) -> None:
    with home.up() as gateway:
        for kind, status in REFUSALS:
            model.begin(*[Failure(kind=kind)] * 8)
            assert gateway.say("hi", kind).status == status


def test_an_account_without_money_is_told_as_such(home: Home, model: Model) -> None:
    model.begin(Failure(kind="billing"))
    with home.up() as gateway:
        answer = gateway.say("hi", "ada")
    assert (answer.status, answer.code) == (402, "insufficient_quota")


def test_a_rate_limit_is_told_as_such(home: Home, model: Model) -> None:
    model.begin(Failure(kind="rate"))
    with home.up() as gateway:
        answer = gateway.say("hi", "ada")
    assert (answer.status, answer.code) == (429, "rate_limit_exceeded")
    assert answer.headers["retry-after"] == "60"


def test_a_rate_limit_tells_how_long_the_provider_wants_to_be_left_alone(home: Home, model: Model) -> None:
    model.begin(Failure(kind="rate", headers={"Retry-After": "432"}))
    with home.up() as gateway:
        first, second = gateway.say("hi", "ada"), gateway.say("hi", "bob")
    assert [(each.status, len(model.requests)) for each in (first, second)] == [(429, 1), (429, 1)]
    assert first.headers["retry-after"] == "432"
    assert 400 < int(second.headers["retry-after"]) <= 432


def test_an_empty_answer_ends_the_turn(wide: Gateway, model: Model) -> None:
    model.begin(say(""), "fine")
    first = wide.say("hi", "empty")
    assert (first.status, first.code) == (502, "empty_answer")
    assert wide.say("and now?", "empty").text == "fine"


def test_an_answer_with_control_characters_arrives_as_it_is(wide: Gateway, model: Model) -> None:
    model.begin("a\x00b\x1b[31mc\u2028d\U0001f600")
    assert "c\u2028d\U0001f600" in wide.say("hi", "odd").text
