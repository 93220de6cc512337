"""Measure the router on the real model: `python -m tests.unit.adapters.models.embedded.evaluate [model]`."""

import sys
import time

import anyio
from tests.unit.adapters.models.embedded.cases import CHAT_CASES, TOOL_CASES, TOOLS

from ostiary.adapters.models.embedded.client import Embedded
from ostiary.adapters.models.embedded.router import worth_asking
from ostiary.adapters.models.embedded.weights import weights_directory
from ostiary.contracts.content import Label, Text, ToolCall, Trust, UserMessage
from ostiary.contracts.model import Answered, ModelChoice, ModelRef, ModelRequest

_OWNER = Label(trust=Trust.OWNER)


def request(question: str, ref: ModelRef) -> ModelRequest:
    return ModelRequest(
        choice=ModelChoice(primary=ref),
        system=("You are Ostiary, a personal assistant.",),
        messages=(UserMessage(parts=(Text(text=question, label=_OWNER),)),),
        tools=TOOLS,
        max_tokens=1,
    )


async def chosen(model: Embedded, question: str, ref: ModelRef) -> ToolCall | None:
    async with model.stream(request(question, ref), ref, "") as events:
        last = [event async for event in events][-1]
    assert isinstance(last, Answered)
    return next((part for part in last.parts if isinstance(part, ToolCall)), None)


async def main() -> None:
    ref = ModelRef("embedded", sys.argv[1] if len(sys.argv) > 1 else "qwen2.5-coder-0.5b")
    right = right_tool = asked = quiet = 0
    async with Embedded(weights_directory()) as model:
        for question, tool, argument in TOOL_CASES:
            began = time.perf_counter()
            call = await chosen(model, question, ref)
            took = time.perf_counter() - began
            got = f"{call.name} {call.arguments}" if call else "answer"
            right_tool += call is not None and call.name == tool
            good = call is not None and call.name == tool and argument in call.arguments
            right += good
            print(f"{'ok ' if good else 'BAD'} {took:5.2f} s  {question!r} -> {got}")
        for question in CHAT_CASES:
            began = time.perf_counter()
            call = await chosen(model, question, ref)
            took = time.perf_counter() - began
            needs = worth_asking(question, TOOLS)
            asked += needs
            quiet += call is None
            print(f"{'ok ' if call is None else 'BAD'} {took:5.2f} s  {'asked' if needs else 'plain'} {question!r} -> {call}")
    print(f"right tool {right_tool}, and right arguments {right}, of {len(TOOL_CASES)}")
    print(f"no tool {quiet} of {len(CHAT_CASES)}, {asked} of which were asked about")


if __name__ == "__main__":
    anyio.run(main)
