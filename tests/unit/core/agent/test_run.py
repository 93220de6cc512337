"""The loop: each step durable before the next, every end recorded, nothing asked for twice."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from tests.unit.core.engines import MAIN, OWNER, Tool, engine

from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import ContextOverflow, ModelRateLimited, ModelUnavailable
from ostiary.contracts.events import (
    Delta,
    ModelAnswered,
    ModelRequested,
    PrefixPinned,
    Shown,
    Trimmed,
    TurnEnded,
    TurnStarted,
)
from ostiary.contracts.model import (
    Answered,
    ModelEvent,
    ModelFacts,
    ModelRef,
    ModelRequest,
    Restarted,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from ostiary.contracts.store import Append, Write
from ostiary.core.agent.run import RunRules
from ostiary.core.routing.queue import QueueRules
from ostiary.kit.house import OneModel
from ostiary.kit.models import ScriptedModel, Step, call, cut, fail, say


async def ended_of(tmp_path: Path, *steps: Step, **parts: object) -> TurnEnded:
    async with engine(tmp_path, ScriptedModel(list(steps)), **parts) as house:
        accepted = await house.channel.say("hi")
        with anyio.fail_after(10):
            await house.supervisor.outcome(accepted.item or 0)
        (ended,) = await house.events(TurnEnded)
    assert isinstance(ended, TurnEnded)
    return ended


@pytest.mark.parametrize(
    ("step", "kind", "words"),
    [
        (cut("half an"), "unavailable", "cut off"),
        (fail(ModelUnavailable("the server is away")), "unavailable", "away"),
        (fail(ModelRateLimited("too many requests", retry_after=5)), "rate_limit", "too many"),
        (say(""), "empty", "empty answer"),
        (fail(RuntimeError("bug")), "", "inside"),
        (fail(ContextOverflow("too long")), "context_overflow", "too long"),
    ],
    ids=["cut", "away", "rate", "empty", "bug", "overflow with nothing to forget"],
)
async def test_whatever_the_model_does_the_turn_ends_and_says_why(tmp_path: Path, step: Step, kind: str, words: str) -> None:
    ended = await ended_of(tmp_path, step)
    assert (ended.status, ended.error_kind) == ("failed", kind)
    assert words in ended.reason


async def test_an_unknown_model_ends_the_turn_and_the_session_goes_on(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([say("fine")])) as house:
        await house.supervisor.change_setting(MAIN, "model", "no/such", by=OWNER)
        await house.channel.say("hi")
        await house.channel.until_sent(1)
        await house.supervisor.change_setting(MAIN, "model", "", by=OWNER)
        await house.channel.say("again")
        sent = await house.channel.until_sent(2)
    assert "no model" in sent[0].text
    assert sent[1].text == "fine"


class Babbler:
    """A model that goes on talking after its answer."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        yield self._talk()

    async def _talk(self) -> AsyncIterator[ModelEvent]:
        label = Label(trust=Trust.UNTRUSTED)
        yield TextDelta("answer")
        yield Answered(parts=(Text(text="answer", label=label),), stop="stop", usage=Usage(), model="kit/m")
        yield TextDelta(" and more")
        yield Answered(parts=(Text(text="another", label=label),), stop="stop", usage=Usage(), model="kit/m")


async def test_what_comes_after_the_answer_does_not_count(tmp_path: Path) -> None:
    async with engine(tmp_path, Babbler()) as house, house.supervisor.watcher(str(MAIN)) as watcher:
        await house.channel.say("hi")
        sent = await house.channel.until_sent(1)
        shown: list[Shown] = watcher.take_ready()
    assert sent[0].text == "answer"
    assert "".join(each.text for each in shown if isinstance(each, Delta)) == "answer"


async def test_a_new_attempt_voids_what_was_shown(tmp_path: Path) -> None:
    events = (TextDelta("wrong"), Restarted(model="kit/b", reason="cut"), ThinkingDelta("hm"), TextDelta("right"))
    step = replace(say("right"), events=events)
    async with engine(tmp_path, ScriptedModel([step])) as house, house.supervisor.watcher(str(MAIN)) as watcher:
        await house.channel.say("hi")
        await house.channel.until_sent(1)
        deltas = [each for each in watcher.take_ready() if isinstance(each, Delta)]
    assert [(each.attempt, each.offset, each.text) for each in deltas if each.stream == "assistant"] == [
        (1, 0, "wrong"),
        (2, 0, ""),
        (2, 0, "right"),
    ]


async def test_a_model_that_never_ends_is_cut_at_the_time_limit_and_what_was_shown_is_kept(tmp_path: Path) -> None:
    never = anyio.Event()
    ended = await ended_of(tmp_path, say("so far").held(never), run=RunRules(timeout=0.05))
    assert (ended.status, ended.partial) == ("timeout", "so far")


async def test_the_request_is_durable_before_the_model_is_asked(tmp_path: Path) -> None:
    seen: list[list[str]] = []
    house_of: list[object] = []

    def look(request: ModelRequest) -> Step:
        committed.set()
        return say("ok")

    committed = anyio.Event()
    async with engine(tmp_path, ScriptedModel(look)) as house:
        house_of.append(house)

        async def note(number: int, writes: Sequence[Write]) -> None:
            kinds = [type(write.event).__name__ for write in writes if isinstance(write, Append)]
            seen.append([*kinds, "asked" if committed.is_set() else "not asked"])

        house.store.after = note
        await house.channel.say("hi")
        await house.channel.until_sent(1)
    assert ["TurnStarted", "PrefixPinned", "ModelRequested", "not asked"] in seen
    assert ["ModelAnswered", "TurnEnded", "asked"] in seen


async def test_a_plain_turn_takes_three_commits(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([say("ok")])) as house:
        await house.channel.say("hi")
        await house.channel.until_sent(1)
        await house.settle(lambda: house.supervisor.status()["outbox"] == 0)
        # Accept, begin with request, answer with end and reply; the fourth records the delivery.
        assert house.store.commits == 4


async def test_the_prefix_is_pinned_once_and_again_only_when_it_changes(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel(lambda request: say("ok"))) as house:
        for number in (1, 2, 3):
            await house.channel.say("hi")
            await house.channel.until_sent(number)
        assert len(await house.events(PrefixPinned)) == 1
        requests = await house.events(ModelRequested)
    assert len({each.prefix for each in requests}) == 1
    assert len({each.history for each in requests}) == 3


async def test_a_stop_before_the_first_step_still_records_the_message_and_its_end(tmp_path: Path) -> None:
    beginning, go_on = anyio.Event(), anyio.Event()
    async with engine(tmp_path, ScriptedModel([say("never")])) as house:

        async def hold(number: int, writes: Sequence[Write]) -> None:
            if any(isinstance(write, Append) and isinstance(write.event, TurnStarted) for write in writes):
                beginning.set()
                with anyio.CancelScope(shield=True):
                    await go_on.wait()

        house.store.before = hold
        accepted = await house.channel.say("hi")
        await beginning.wait()
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: house.supervisor.stop(MAIN, by=OWNER))
            await anyio.wait_all_tasks_blocked()
            go_on.set()
        assert (await house.supervisor.outcome(accepted.item or 0)).status == "aborted"
        assert len(await house.events(TurnStarted)) == len(await house.events(TurnEnded)) == 1
        assert (await house.store.pending()).inbox == ()


async def test_a_stop_that_meets_a_full_disk_is_kept_and_carried_out_when_there_is_room(tmp_path: Path) -> None:
    from ostiary.contracts.errors import StoreUnavailable

    never = anyio.Event()
    model = ScriptedModel([say("half").held(never), say("never asked")])
    async with engine(tmp_path, model, queue=QueueRules(mode="interrupt")) as house:
        first = await house.channel.say("first")
        await house.settle(lambda: len(model.requests) == 1)
        refusals = [2]

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            if refusals[0] and any(isinstance(write, Append) and isinstance(write.event, TurnEnded) for write in writes):
                refusals[0] -= 1
                raise StoreUnavailable("the disk is full")

        house.store.before = refuse
        await house.channel.say("second")
        await house.until(lambda: not house.lanes.running and not house.lanes.queued)
        assert (await house.supervisor.outcome(first.item or 0)).status == "aborted"
        assert [each.status for each in await house.events(TurnEnded)] == ["aborted", "completed"]
    assert len(model.requests) == 2


async def test_long_conversations_are_trimmed_by_turns_and_the_person_is_told(tmp_path: Path) -> None:
    small = OneModel(ModelFacts(ref=ModelRef("kit", "scripted"), context_window=400, max_tokens=50))
    model = ScriptedModel(lambda request: say("y" * 300))
    async with engine(tmp_path, model, catalogue=small) as house:
        for number in range(1, 6):
            await house.channel.say("x" * 200)
            await house.channel.until_sent(number)
        trims = await house.events(Trimmed)
    assert trims
    assert any("no longer in view" in each.text for each in house.channel.sent)
    assert all(request.messages[0].role == "user" for request in model.requests)


async def test_every_answer_is_labelled_by_what_the_model_had_read(tmp_path: Path) -> None:
    model = ScriptedModel([call("web"), say("as the page says")])
    async with engine(tmp_path, model, tools=[Tool("web", untrusted=True)]) as house:
        await house.channel.say("go")
        await house.channel.until_sent(1)
        answers: list[ModelAnswered] = await house.events(ModelAnswered)
    assert [each.label.trust for each in answers if each.label] == [Trust.OWNER, Trust.UNTRUSTED]
    (text,) = [part for part in answers[1].parts if isinstance(part, Text)]
    assert (text.label.trust, "tool:web" in text.label.sources) == (Trust.UNTRUSTED, True)


async def test_terms_of_one_call_bind_that_turn_only(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: say("ok"))
    async with engine(tmp_path, model) as house:
        special = Submission(
            message=house.channel.message("one"), principal=OWNER, instructions="Be brief.", max_tokens=7, temperature=0.5
        )
        first = await house.supervisor.submit(special)
        await house.supervisor.outcome(first.item or 0)
        await house.channel.say("two")
        await house.channel.until_sent(2)
    one, two = model.requests
    assert (one.max_tokens, one.temperature, "Be brief." in one.system[-1]) == (7, 0.5, True)
    assert (two.max_tokens, two.temperature, len(two.system)) == (None, None, 1)
