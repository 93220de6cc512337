import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from tests.unit.adapters.models.embedded.cases import TOOLS

from ostiary.adapters.models.embedded.catalogue import QWEN, Weights
from ostiary.adapters.models.embedded.client import Embedded, Settings
from ostiary.adapters.models.embedded.weights import Report
from ostiary.contracts.content import Label, Text, ToolCall, Trust, UserMessage
from ostiary.contracts.errors import ContextOverflow, ModelMisconfigured, ModelRejected, ModelUnavailable
from ostiary.contracts.model import (
    Answered,
    AnswerForm,
    CallDelta,
    ModelChoice,
    ModelEvent,
    ModelRef,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    ToolChoice,
    ToolSchema,
    Usage,
)

REF = ModelRef("embedded", QWEN.model)
FAKE = str(Path(__file__).with_name("fake_child.py"))


def settings(mode: str = "", **changed: float | bool) -> Settings:
    return Settings(command=(sys.executable, "-P", FAKE, mode), **changed)  # type: ignore[arg-type]


def ask(text: str, tools: tuple[ToolSchema, ...] = (), max_tokens: int | None = None) -> ModelRequest:
    message = UserMessage(parts=(Text(text=text, label=Label(trust=Trust.OWNER)),))
    return ModelRequest(
        choice=ModelChoice(primary=REF), system=("Be kind.",), messages=(message,), tools=tools, max_tokens=max_tokens
    )


async def heard(model: Embedded, request: ModelRequest) -> list[ModelEvent]:
    with anyio.fail_after(20):
        async with model.stream(request, REF, "") as events:
            return [event async for event in events]


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """With a file of the right size: the fake child never looks into it."""
    with (tmp_path / QWEN.file).open("wb") as file:
        file.truncate(QWEN.size)
    return tmp_path


async def test_an_answer_streams_and_ends_with_its_usage(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        *deltas, last = await heard(model, ask("hello"))
    assert deltas == [TextDelta("echo: "), TextDelta("hello")]
    assert isinstance(last, Answered)
    assert last.usage == Usage(input=5, output=2, cache_read=3, cost=0.0)
    assert (last.stop, last.model) == ("stop", "embedded/qwen2.5-coder-0.5b")
    assert [part.text for part in last.parts if isinstance(part, Text)] == ["echo: hello"]


async def test_an_answer_cut_by_its_limit_says_so(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        last = (await heard(model, ask("hello", max_tokens=1)))[-1]
    assert isinstance(last, Answered)
    assert last.stop == "length"


async def test_a_chosen_tool_becomes_a_call(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        delta, last = await heard(model, ask("read a.txt", TOOLS))
    assert delta == CallDelta(0, "read", '{"path": "a.txt"}')
    assert isinstance(last, Answered)
    assert last.stop == "tool_calls"
    assert [(part.name, part.arguments) for part in last.parts if isinstance(part, ToolCall)] == [("read", '{"path": "a.txt"}')]


async def test_plain_talk_is_not_asked_about_tools(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        assert text(await heard(model, ask("Who wrote Romeo and Juliet?", TOOLS))) == "echo: Who wrote Romeo and Juliet?"


async def test_a_form_is_the_grammar_of_the_answer(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        free = await heard(model, ask("hi"))
        formed = await heard(model, replace(ask("hi"), form=AnswerForm()))
    assert text(free).startswith("echo: ")
    assert text(formed).startswith("{")


async def test_no_tool_is_chosen_where_none_may_be_called(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        answered = (await heard(model, replace(ask("read a.txt", TOOLS), tool_choice=ToolChoice(mode="none"))))[-1]
    assert isinstance(answered, Answered)
    assert [type(part) for part in answered.parts] == [Text]


async def test_a_demanded_call_is_refused_by_name(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        with pytest.raises(ModelRejected, match=r"^tool_choice: "):
            await heard(model, replace(ask("read a.txt", TOOLS), tool_choice=ToolChoice(mode="required")))


async def test_one_child_serves_many_requests_and_ends_with_its_owner(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        await heard(model, ask("one"))
        first = model.child_pid
        await heard(model, ask("two"))
        assert model.child_pid == first
    assert first is not None
    assert not is_running(first)


async def test_a_crash_is_told_and_the_next_request_gets_a_fresh_child(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        with pytest.raises(ModelUnavailable, match="its process ended"):
            await heard(model, ask("crash"))
        assert text(await heard(model, ask("again"))) == "echo: again"


async def test_a_child_that_hangs_is_killed(directory: Path) -> None:
    async with Embedded(directory, settings(silence_seconds=0.1)) as model:
        with pytest.raises(ModelUnavailable, match="silent"):
            await heard(model, ask("talk for ever"))
        assert model.child_pid is None


async def test_leaving_early_stops_the_model_and_keeps_the_child(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        async with model.stream(ask("talk for ever"), REF, "") as events:
            assert await anext(events) == TextDelta("on and ")
            pid = model.child_pid
        assert text(await heard(model, ask("next"))) == "echo: next"
        assert model.child_pid == pid


async def test_cancelling_stops_the_model_and_keeps_the_child(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        await heard(model, ask("warm"))
        pid = model.child_pid
        begun = anyio.Event()

        async def listen() -> None:
            async with model.stream(ask("talk for ever"), REF, "") as events:
                async for _ in events:
                    begun.set()

        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            await begun.wait()
            group.cancel_scope.cancel()
        assert text(await heard(model, ask("next"))) == "echo: next"
        assert model.child_pid == pid


async def test_a_child_that_will_not_stop_is_replaced(directory: Path) -> None:
    async with Embedded(directory, settings("deaf", stop_seconds=0.1)) as model:
        async with model.stream(ask("talk for ever"), REF, "") as events:
            await anext(events)
            pid = model.child_pid
        assert text(await heard(model, ask("next"))) == "echo: next"
        assert model.child_pid != pid


async def test_requests_beyond_the_queue_are_refused_at_once(directory: Path) -> None:
    async with Embedded(directory, settings(queue=1)) as model, model.stream(ask("talk for ever"), REF, "") as events:
        await anext(events)
        with pytest.raises(ModelUnavailable, match="busy"):
            await heard(model, ask("me too"))


async def test_a_request_that_waits_too_long_for_its_turn_is_refused(directory: Path) -> None:
    async with (
        Embedded(directory, settings(queue_seconds=0.05)) as model,
        model.stream(ask("talk for ever"), REF, "") as events,
    ):
        await anext(events)
        with pytest.raises(ModelUnavailable, match="busy with other requests"):
            await heard(model, ask("me too"))


async def test_requests_are_answered_in_the_order_they_came(directory: Path) -> None:
    order: list[str] = []
    async with Embedded(directory, settings()) as model:

        async def listen(word: str) -> None:
            await heard(model, ask(word))
            order.append(word)

        async with anyio.create_task_group() as group:
            for word in ("a", "b", "c", "d"):
                group.start_soon(listen, word)
    assert order == ["a", "b", "c", "d"]


async def test_an_idle_child_is_ended_and_a_later_request_starts_another(directory: Path) -> None:
    async with Embedded(directory, settings(idle_seconds=0.05)) as model:
        await heard(model, ask("one"))
        with anyio.fail_after(10):
            while model.child_pid is not None:
                await anyio.lowlevel.checkpoint()
        assert text(await heard(model, ask("two"))) == "echo: two"


async def test_damaged_weights_are_removed(directory: Path) -> None:
    async with Embedded(directory, settings("damaged")) as model:
        with pytest.raises(ModelUnavailable, match="damaged"):
            await heard(model, ask("hello"))
    assert not (directory / QWEN.file).exists()


async def test_a_child_that_cannot_load_says_why(directory: Path) -> None:
    async with Embedded(directory, settings("failed")) as model:
        with pytest.raises(ModelUnavailable, match="no such engine"):
            await heard(model, ask("hello"))


async def test_a_child_that_never_gets_ready_is_given_up(directory: Path) -> None:
    async with Embedded(directory, settings("mute", load_seconds=0.2)) as model:
        with pytest.raises(ModelUnavailable, match=r"silent for 0\.2 s"):
            await heard(model, ask("hello"))


async def test_too_long_a_conversation_is_an_overflow_and_the_child_lives_on(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        with pytest.raises(ContextOverflow):
            await heard(model, ask("too long"))
        assert text(await heard(model, ask("short"))) == "echo: short"


async def test_an_unknown_model_is_misconfigured(directory: Path) -> None:
    async with Embedded(directory, settings()) as model:
        with pytest.raises(ModelMisconfigured):
            async with model.stream(ask("hello"), ModelRef("embedded", "huge"), ""):
                pass


class Depot:
    """A download that a test lets go on."""

    def __init__(self, *, fails: bool = False) -> None:
        self.calls = 0
        self.half = anyio.Event()
        self.go = anyio.Event()
        self._fails = fails

    async def pull(self, directory: Path, report: Report, weights: Weights) -> Path:
        self.calls += 1
        report("the depot", weights.size // 2, weights.size)
        self.half.set()
        await self.go.wait()
        if self._fails:
            raise ModelUnavailable("nothing could be fetched", hint="ostiary models pull")
        with (directory / weights.file).open("wb") as file:
            file.truncate(weights.size)
        return directory / weights.file


@asynccontextmanager
async def fresh(directory: Path, depot: Depot, **changed: float | bool) -> AsyncIterator[Embedded]:
    async with Embedded(directory, settings(**changed), fetch=depot.pull) as model:
        yield model


async def test_a_first_message_waits_for_the_download_and_shows_how_far_it_is(tmp_path: Path) -> None:
    depot = Depot()
    async with fresh(tmp_path, depot) as model, model.stream(ask("hello"), REF, "") as events:
        assert await anext(events) == ThinkingDelta("fetching the embedded model: 0 %\n")
        assert await anext(events) == ThinkingDelta("fetching the embedded model: 50 %\n")
        depot.go.set()
        assert text([event async for event in events]) == "echo: hello"


async def test_a_download_in_the_background_is_shared_with_requests(tmp_path: Path) -> None:
    depot = Depot()
    states: list[tuple[str, int, int]] = []

    def note(*state: object) -> None:
        states.append(state)  # type: ignore[arg-type]
        depot.go.set()

    async with fresh(tmp_path, depot) as model, anyio.create_task_group() as group:
        group.start_soon(_ensure, model, note)
        await depot.half.wait()
        assert text(await heard(model, ask("hello"))) == "echo: hello"
    assert depot.calls == 1
    assert states[0] == ("looking for a source", 0, QWEN.size)


async def _ensure(model: Embedded, report: Callable[..., None]) -> None:
    await model.ensure_weights(report)


async def test_a_failed_download_is_told_and_not_repeated_at_once(tmp_path: Path) -> None:
    depot = Depot(fails=True)
    depot.go.set()
    async with fresh(tmp_path, depot) as model:
        for _ in range(2):
            with pytest.raises(ModelUnavailable, match="nothing could be fetched"):
                await heard(model, ask("hello"))
    assert depot.calls == 1


async def test_a_failed_download_is_tried_again_later(tmp_path: Path) -> None:
    depot = Depot(fails=True)
    depot.go.set()
    async with fresh(tmp_path, depot, retry_seconds=0.0) as model:
        for _ in range(2):
            with pytest.raises(ModelUnavailable, match="nothing could be fetched"):
                await heard(model, ask("hello"))
    assert depot.calls == 2


async def test_where_fetching_is_off_the_command_is_named(tmp_path: Path) -> None:
    async with fresh(tmp_path, Depot(), fetches=False) as model:
        with pytest.raises(ModelUnavailable) as refused:
            await heard(model, ask("hello"))
        assert "ostiary models pull" in model.available()
    assert "ostiary models pull" in refused.value.hint


async def test_leaving_while_fetching_ends_the_download(tmp_path: Path) -> None:
    depot = Depot()
    with anyio.fail_after(5):
        async with fresh(tmp_path, depot) as model, model.stream(ask("hello"), REF, "") as events:
            await anext(events)
    assert not (tmp_path / QWEN.file).exists()


def test_a_model_that_is_there_is_available(directory: Path) -> None:
    assert Embedded(directory).available() == ""


async def test_the_callers_own_error_comes_through_unwrapped(directory: Path) -> None:
    with pytest.raises(KeyError):
        async with Embedded(directory, settings()):
            raise KeyError
