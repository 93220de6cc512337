"""What makes a provider's prompt cache hit: marks where they are wanted, a stable key where it is named."""

from typing import Any

from ostiary.contracts.content import AssistantMessage, Text
from ostiary.contracts.model import ToolSchema
from ostiary.kit.model_servers import say
from tests.conformance.models.conftest import OWNER, REF, Rig, rig_of, user

TOOLS = tuple(ToolSchema(name=name, description="x", parameters={"type": "object", "properties": {}}) for name in ("one", "two"))
EPHEMERAL = {"type": "ephemeral"}


def answer(text: str) -> AssistantMessage:
    return AssistantMessage(parts=(Text(text=text, label=OWNER),), model=str(REF))


def marks(blocks: list[dict[str, Any]]) -> list[bool]:
    return ["cache_control" in block for block in blocks]


async def test_anthropic_marks_the_stable_prefix_the_tools_and_the_end_of_history() -> None:
    async with rig_of("anthropic-messages") as rig:
        rig.server.script(say("ok"))
        history = [user("a"), answer("b"), user("c"), answer("d"), user("e")]
        await rig.answer(history, tools=TOOLS, system=("stable", "today"))
        body = rig.last
    assert marks(body["system"]) == [True, False]
    assert marks(body["tools"]) == [False, True]
    assert [marks(message["content"]) for message in body["messages"]] == [[False], [False], [True], [False], [True]]
    assert body["system"][0]["cache_control"] == EPHEMERAL


async def test_a_mark_does_not_stay_in_what_is_sent_later() -> None:
    async with rig_of("anthropic-messages") as rig:
        rig.server.script(say("ok"), say("ok"))
        history = [user("a")]
        await rig.answer(history)
        await rig.answer([*history, answer("b"), user("c"), answer("d"), user("e")])
    assert [marks(message["content"]) for message in rig.last["messages"]] == [[False], [False], [True], [False], [True]]


async def test_the_openai_wires_name_the_session_without_telling_who_it_is() -> None:
    async with rig_of("openai-completions") as chat, rig_of("openai-responses") as responses:
        for rig in (chat, responses):
            rig.server.script(say("ok"), say("ok"), say("ok"))
            await rig.answer(session="agent:main:telegram:4915112345")
            await rig.answer(session="agent:main:telegram:4915112345")
            await rig.answer(session="agent:main:telegram:other")
    keys = [asked.body["prompt_cache_key"] for asked in chat.server.requests]
    assert keys == [asked.body["prompt_cache_key"] for asked in responses.server.requests]
    assert keys[0] == keys[1] != keys[2]
    assert "4915112345" not in str(keys)


async def test_the_beginning_of_a_longer_history_is_byte_for_byte_the_shorter_one(rig: Rig) -> None:
    rig.server.script(say("ok"), say("ok"))
    history = [user("a"), answer("b"), user("c")]
    await rig.answer(history, tools=TOOLS)
    await rig.answer([*history, answer("d"), user("e")], tools=TOOLS)
    first, second = (messages_of(asked.body) for asked in rig.server.requests)
    assert unmarked(second)[: len(first)] == unmarked(first)


def messages_of(body: dict[str, Any]) -> list[Any]:
    return body.get("messages") or body.get("input") or body["contents"]


def unmarked(messages: list[Any]) -> list[str]:
    return [str(message).replace(", 'cache_control': {'type': 'ephemeral'}", "") for message in messages]
