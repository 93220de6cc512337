"""Models that misbehave: the turn ends with a clear sentence, the session goes on, nothing is lost."""

from collections.abc import Iterator

import pytest

from ostiary.kit.model_servers import Call, Failure, Reply, Words, say
from tests.journeys.gateway.house import Gateway, Home, config, said
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


@pytest.fixture
def nonsense(request: pytest.FixtureRequest) -> Iterator[str]:
    content, content_type = NONSENSE[request.param]
    with saying(content, content_type=content_type) as url:
        yield url


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, model_server: Model) -> Iterator[Gateway]:
    """A gateway with one provider for every kind of nonsense, and a sane one."""
    home = Home(tmp_path_factory.mktemp("wide") / "home")
    base = config(model_server.url)
    from contextlib import ExitStack

    with ExitStack() as stack:
        providers = {
            f"bad{number}": {
                "baseUrl": stack.enter_context(saying(content, content_type=kind)),
                "api": "openai-completions",
                "apiKey": "${KIT_KEY}",
                "models": [{"id": "m"}],
            }
            for number, (content, kind) in enumerate(NONSENSE.values())
        }
        providers |= {
            "closed": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "${KIT_KEY}", "models": [{"id": "m"}]},
            "nohost": {"baseUrl": "http://no-such-host.invalid/v1", "api": "openai-completions", "apiKey": "${KIT_KEY}", "models": [{"id": "m"}]},
            "keyless": {"baseUrl": model_server.url, "api": "openai-completions", "apiKey": "${NO_SUCH_VARIABLE}", "models": [{"id": "m"}]},
            "wrongkey": {"baseUrl": model_server.url, "api": "openai-completions", "apiKey": "${OSTIARY_TOKEN}", "models": [{"id": "m"}]},
        }
        base["models"] = {"providers": {**base["models"]["providers"], **providers}}  # type: ignore[index]
        home.configure(base)
        yield stack.enter_context(home.up())


@pytest.mark.parametrize("number", range(len(NONSENSE)), ids=NONSENSE)
def test_nonsense_fails_the_turn_and_the_session_goes_on(wide: Gateway, model: Model, number: int) -> None:
    answer = wide.ask(said("hi", f"nonsense-{number}", model=f"bad{number}/m"))
    assert answer.status == 502, answer.body[:500]
    assert answer.code == "provider_unavailable"
    assert len(answer.error) < 600
    model.begin("sane")
    assert wide.say("and now?", f"nonsense-{number}").text == "sane"
    assert "hi" in [m["content"] for m in model.last["messages"]]


@pytest.mark.parametrize("provider", ["closed", "nohost"])
def test_an_unreachable_server_fails_the_turn_and_the_session_goes_on(wide: Gateway, model: Model, provider: str) -> None:
    answer = wide.ask(said("hi", provider, model=f"{provider}/m"))
    assert (answer.status, answer.code) == (502, "provider_unavailable"), answer.body
    assert provider in answer.error
    model.begin("sane")
    assert wide.say("and now?", provider).text == "sane"


def test_a_missing_key_says_so_and_the_session_goes_on(wide: Gateway, model: Model) -> None:
    answer = wide.ask(said("hi", "keyless", model="keyless/m"))
    assert answer.status in (500, 502), answer.body
    assert "key" in answer.error
    model.begin("sane")
    assert wide.say("and now?", "keyless").text == "sane"


def test_a_refused_key_says_so_without_showing_it(wide: Gateway, model: Model) -> None:
    answer = wide.ask(said("hi", "wrongkey", model="wrongkey/m"))
    assert (answer.status, answer.code) == (502, "provider_auth"), answer.body
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
    model.begin(Reply(parts=(Words(pieces=("blah " * 4000,)),), endless=True), "sane")
    answer = wide.ask(said("hi", "endless", max_tokens=100))
    assert answer.status in (200, 502), answer.body[:300]
    model.begin("sane")
    assert wide.say("and now?", "endless").text == "sane"


@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", '"x"', '{"path": 7}', "{'path': 'x'}", "\x00", '{"path": "' + "x" * 100_000])
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


@pytest.mark.parametrize(
    ("kind", "status"),
    [("auth", 502), ("billing", 402), ("context", 400), ("rejected", 400), ("server", 502), ("unknown_model", None)],
)
def test_a_providers_refusal_is_told_with_the_right_status(tmp_path_factory: pytest.TempPathFactory, model: Model, kind: str, status: int | None) -> None:
    home = Home(tmp_path_factory.mktemp("refusal") / "home")
    home.configure(config(model.url))
    model.begin(*[Failure(kind=kind)] * 8)  # type: ignore[arg-type]
    with home.up() as gateway:
        answer = gateway.say("hi", "ada")
    assert answer.status == (status or answer.status), answer.body
    assert 400 <= answer.status < 600
    assert answer.error


def test_an_empty_answer_ends_the_turn(wide: Gateway, model: Model) -> None:
    model.begin(say(""), say(""), "fine")
    first = wide.say("hi", "empty")
    assert first.status in (200, 502)
    model.begin("fine")
    assert wide.say("and now?", "empty").text == "fine"


def test_an_answer_with_control_characters_arrives_as_it_is(wide: Gateway, model: Model) -> None:
    model.begin("a\x00b\x1b[31mc\u2028d\ud83d\ude00")
    assert "c\u2028d" in wide.say("hi", "odd").text
