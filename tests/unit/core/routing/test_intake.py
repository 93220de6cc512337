"""The one way in: nobody who may not speak gets further, nothing accepted is half admitted, commands happen once."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.content import AssistantMessage, Image, Label, Text, ToolCall, ToolMessage, ToolOutcome, Trust, UserMessage
from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import SettingChanged, TurnStarted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Attachment, Quoted
from ostiary.contracts.model import ModelFacts, ModelRef
from ostiary.contracts.store import Accept, Write
from ostiary.core.routing.builtin_commands import builtin_commands
from ostiary.core.routing.desk import CommandDesk
from ostiary.core.routing.intake import checked, lane_of, redacted, session_queue
from ostiary.core.routing.queue import QueueRules
from ostiary.core.routing.supervisor import Supervisor
from ostiary.kit.house import OneModel
from ostiary.kit.models import ScriptedModel, say
from tests.unit.core.engines import MAIN, OWNER, Engine, engine
from tests.unit.core.routing.inbound import direct, quick

ROOM = SessionKey("main", "memory:group:room")


class Doorbell:
    """The real desk with the built-in commands; the engine it controls is set once it runs."""

    def __init__(self) -> None:
        self.engine: Supervisor | None = None
        self.desk = CommandDesk(
            commands=builtin_commands(version="1"), controls=lambda: self.controls, catalogue=lambda: OneModel()
        )

    def hang(self, engine: Supervisor) -> None:
        self.engine = engine

    @property
    def controls(self) -> Supervisor:
        assert self.engine is not None
        return self.engine


async def texts(house: Engine, key: SessionKey = MAIN) -> list[str]:
    started = await house.events(TurnStarted, key)
    return [part.text for turn in started for each in turn.inputs for part in each.parts if isinstance(part, Text)]


async def test_a_repeated_message_is_answered_once_even_when_both_come_at_once(tmp_path: Path) -> None:
    model = ScriptedModel([say("once")])
    async with engine(tmp_path, model) as house:
        message = house.channel.message("hi")
        statuses: list[str] = []

        async def deliver() -> None:
            accepted = await house.channel.say("hi", message=message)
            outcome = await house.supervisor.outcome(accepted.item or 0)
            statuses.append(f"{accepted.status} {outcome.text}")

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(deliver)
    assert sorted(statuses) == ["accepted once", *["duplicate once"] * 4]
    assert len(model.requests) == 1


async def test_somebody_who_may_not_speak_leaves_no_trace(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        message = house.channel.message("hi")
        unknown = replace(message, address=replace(message.address, channel="nowhere"))
        accepted = await house.supervisor.receive(unknown)
        assert (accepted.status, house.store.commits) == ("dropped", 0)


async def test_a_group_that_set_activation_is_heard_after_a_restart_too(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        await house.supervisor.change_setting(ROOM, "activation", "mention", by=OWNER)
    async with engine(tmp_path, ScriptedModel([say("I was named")]), start=10) as house:
        unnamed = replace(house.channel.message("hi all", chat="room"), mentions_us=False)
        assert (await house.supervisor.receive(unnamed)).status == "dropped"
        await house.channel.say("hi you", chat="room")
        await house.channel.until_sent(1)


async def test_a_channels_bad_message_is_dropped_and_does_not_break_the_channel(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([say("fine")])) as house:
        assert (await house.channel.say("  ")).status == "dropped"
        await house.channel.say("hi")
        assert (await house.channel.until_sent(1))[0].text == "fine"


async def test_a_door_is_told_what_is_wrong_with_its_message(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        with pytest.raises(BadInput, match="empty"):
            await house.supervisor.submit(Submission(message=house.channel.message(" "), principal=OWNER))


async def test_a_command_whose_caller_went_away_is_still_carried_out(tmp_path: Path) -> None:
    bell, writing, go_on = Doorbell(), anyio.Event(), anyio.Event()
    async with engine(tmp_path, ScriptedModel([]), desk=bell.desk, made=bell.hang) as house:

        async def hold(number: int, writes: Sequence[Write]) -> None:
            if any(isinstance(write, Accept) for write in writes):
                writing.set()
                with anyio.CancelScope(shield=True):
                    await go_on.wait()

        house.store.before = hold
        async with anyio.create_task_group() as group:
            group.start_soon(house.channel.say, "/think high")
            await writing.wait()
            group.cancel_scope.cancel()
            go_on.set()
        changed = await house.events(SettingChanged)
    assert [(each.name, each.value) for each in changed] == [("thinking", "high")]


async def test_a_repeated_command_is_carried_out_once(tmp_path: Path) -> None:
    bell = Doorbell()
    async with engine(tmp_path, ScriptedModel([]), desk=bell.desk, made=bell.hang) as house:
        message = house.channel.message("/think high")
        statuses = [(await house.channel.say("/think high", message=message)).status for _ in range(3)]
        changed = await house.events(SettingChanged)
    assert statuses == ["answered", "duplicate", "duplicate"]
    assert len(changed) == 1


async def test_a_restart_does_not_let_an_old_new_swallow_what_was_said_after_it(tmp_path: Path) -> None:
    bell = Doorbell()
    async with engine(tmp_path, ScriptedModel([]), desk=bell.desk, made=bell.hang, caps={"main": 0}) as house:
        await house.channel.say("/new tell me a story")
        later = await house.channel.say("and a joke")
    model = ScriptedModel(lambda request: say("ok"))
    async with engine(tmp_path, model, desk=bell.desk, made=bell.hang, start=10) as house:
        with anyio.fail_after(5):
            outcome = await house.supervisor.outcome(later.item or 0)
        await house.until(lambda: not house.lanes.running and not house.lanes.queued)
        assert outcome.status == "completed"
        assert await texts(house) == ["tell me a story", "and a joke"]


async def test_a_picture_beside_a_directive_reaches_the_model(tmp_path: Path) -> None:
    bell, picture = Doorbell(), b"picture"
    digest = sha256(picture).hexdigest()
    seeing = OneModel(ModelFacts(ref=ModelRef("kit", "scripted"), sees_images=True))
    model = ScriptedModel([say("a cat")])
    async with engine(tmp_path, model, desk=bell.desk, made=bell.hang, catalogue=seeing) as house:
        attachment = Attachment(name="cat.png", media_type="image/png", digest=digest, size=len(picture))
        message = replace(house.channel.message("/think high what is this?"), attachments=(attachment,))
        await house.supervisor.submit(Submission(message=message, principal=OWNER, blobs={digest: picture}))
        await house.channel.until_sent(1)
    assert model.requests[0].blobs == {digest: picture}
    assert any(isinstance(part, Image) for part in model.requests[0].messages[0].parts)  # type: ignore[union-attr]


async def test_a_word_that_looks_like_a_command_is_no_way_around_a_full_queue(tmp_path: Path) -> None:
    bell, hold = Doorbell(), anyio.Event()
    model = ScriptedModel(lambda request: say("ok").held(hold))
    rules = QueueRules(mode="followup", cap=2, drop="new")
    async with engine(tmp_path, model, desk=bell.desk, made=bell.hang, queue=rules) as house:
        await house.channel.say("first")
        await house.settle(lambda: len(model.requests) == 1)
        said = [await house.channel.say(f"/think high {number}") for number in range(6)]
        assert house.lanes.queued == 2
        assert [each.status for each in said] == ["accepted"] * 2 + ["answered"] * 4
        assert "already wait" in said[-1].text
        hold.set()
        await house.until(lambda: not house.lanes.running and not house.lanes.queued)


async def test_the_doors_word_decides_who_speaks_not_the_message(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([say("ok")])) as house:
        guest = Principal(user=OWNER.user)
        accepted = await house.supervisor.submit(Submission(message=house.channel.message("hi"), principal=guest))
        await house.supervisor.outcome(accepted.item or 0)
        (started,) = await house.events(TurnStarted)
    assert started.principal.role == "external"


@pytest.mark.parametrize(
    ("scope", "lane"), [("main", "main"), ("subagent:x", "subagent"), ("cron:daily", "cron"), ("crony", "main")]
)
def test_the_lane_follows_the_kind_of_session(scope: str, lane: str) -> None:
    assert lane_of(SessionKey("main", scope)) == lane


@quick
@given(text=st.text(st.characters(codec=None), min_size=1, max_size=200))
def test_whatever_is_said_what_is_kept_can_be_stored_and_shown(text: str) -> None:
    message = replace(direct(text=f"x{text}"), quoted=Quoted(sender=text, text=text), sender_name=text)
    kept = checked(message, 1000)
    assert kept.quoted is not None
    for part in (kept.text, kept.quoted.text, kept.quoted.sender, kept.sender_name):
        part.encode()
        assert not any(character < " " and character not in "\n\r\t" for character in part)
    assert checked(kept, 1000) == kept


def test_a_quotation_counts_towards_the_length() -> None:
    message = replace(direct(text="x"), quoted=Quoted(sender="them", text="y" * 2000))
    with pytest.raises(BadInput, match="characters"):
        checked(message, 1000)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, QueueRules(mode="collect", debounce=1.0, cap=20, drop="summarize")),
        ({"queue.mode": "steer"}, QueueRules(mode="steer")),
        ({"queue.debounce_ms": "2500"}, QueueRules(debounce=2.5)),
        ({"queue.cap": "3", "queue.drop": "old"}, QueueRules(cap=3, drop="old")),
        ({"queue.mode": "nonsense", "queue.cap": "-1", "queue.debounce_ms": "soon", "queue.drop": "x"}, QueueRules()),
    ],
)
def test_a_sessions_own_queue_settings_beat_the_general_ones(settings: dict[str, str], expected: QueueRules) -> None:
    assert session_queue(settings, QueueRules()) == expected


def test_secrets_are_taken_out_of_everything_that_a_caller_brings_along() -> None:
    label = Label(trust=Trust.OWNER)
    outcome = ToolOutcome(call_id="c", name="t", text="key KEY", is_error=False, label=label)
    brought = (
        UserMessage(parts=(Text(text="my KEY", label=label),)),
        AssistantMessage(parts=(Text(text="your KEY", label=label), ToolCall(id="c", name="t", arguments="{}"))),
        ToolMessage(outcomes=(outcome,)),
    )
    submission = Submission(message=direct("ann"), context=brought, instructions="use KEY")
    safe = redacted(submission, lambda text: text.replace("KEY", "[redacted]"))
    assert "KEY" not in str(safe.context) + safe.instructions
    assert redacted(safe, lambda text: text.replace("KEY", "[redacted]")) is safe
