"""Images on every wire: as bytes where the model sees, as a sentence where it does not."""

from base64 import b64encode

from ostiary.contracts.content import AssistantMessage, Image, Text, ToolCall, ToolMessage, ToolOutcome, UserMessage
from ostiary.kit.model_servers import say
from tests.conformance.models.conftest import OWNER, Rig, user

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
PICTURE = Image(digest="d1", media_type="image/png", label=OWNER)
QUESTION = UserMessage(parts=(Text(text="What is this?", label=OWNER), PICTURE))
CALL = ToolCall(id="call_1", name="shot", arguments="{}")
SEEN_BY_TOOL = [
    user("look"),
    AssistantMessage(parts=(CALL,), model="kit/kit-1"),
    ToolMessage(
        outcomes=(ToolOutcome(call_id="call_1", name="shot", text="here", is_error=False, label=OWNER, images=(PICTURE,)),)
    ),
]
ENCODED = b64encode(PNG).decode()


async def test_an_image_of_the_user_is_sent(rig: Rig) -> None:
    rig.server.script(say("A dot."))
    await rig.answer([QUESTION], blobs={"d1": PNG})
    assert rig.server.refused == []
    assert ENCODED in str(rig.last)


async def test_an_image_of_a_tool_is_sent(rig: Rig) -> None:
    rig.server.script(say("A dot."))
    await rig.answer(SEEN_BY_TOOL, blobs={"d1": PNG})
    assert rig.server.refused == []
    assert ENCODED in str(rig.last)


async def test_a_model_that_cannot_see_is_told_so(rig: Rig) -> None:
    rig.server.script(say("ok"), say("ok"))
    blind = rig.knowing(sees_images=False)
    await blind.answer([QUESTION], blobs={"d1": PNG})
    await blind.answer(SEEN_BY_TOOL, blobs={"d1": PNG})
    assert rig.server.refused == []
    assert all(ENCODED not in str(asked.body) and "cannot see" in str(asked.body) for asked in rig.server.requests)


async def test_an_image_whose_bytes_are_gone_is_named_and_may_come_back(rig: Rig) -> None:
    rig.server.script(say("ok"), say("ok"))
    await rig.answer([QUESTION])
    assert "its bytes are gone" in str(rig.last)
    await rig.answer([QUESTION], blobs={"d1": PNG})
    assert ENCODED in str(rig.last)


async def test_a_large_image_is_sent_without_a_warning(rig: Rig) -> None:
    rig.server.script(say("ok"))
    await rig.answer([QUESTION], blobs={"d1": PNG + bytes(3_000_000)})
    assert rig.server.refused == []
