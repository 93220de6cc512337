"""The chat as a person uses it."""

import struct
import zlib

from playwright.async_api import FilePayload, expect

from tests.browser.conftest import MAIN, Watched
from tests.browser.fake_data import STREAMED


async def test_an_answer_is_written_while_it_comes_and_ends_whole(desk: Watched) -> None:
    await desk.say("slow please")
    live = desk.page.locator(".answer.live .prose")
    await expect(live).to_contain_text("Three things make a page")
    assert "That is all" not in await live.inner_text()
    desk.gateway.release()
    await desk.answer("That is all there is to it.")
    last = desk.page.locator(".turn").last
    await expect(last.locator(".prose strong")).to_have_text("fast")
    await expect(last.locator(".prose ol li")).to_have_count(3)
    await expect(last.locator(".bubble")).to_have_text("You: slow please")


async def test_what_is_selected_stays_selected_while_the_answer_grows(desk: Watched) -> None:
    await desk.say("slow please")
    await expect(desk.page.locator(".answer.live .prose")).to_contain_text("never waited")
    await desk.page.evaluate(
        """() => {
          const node = document.querySelector('.answer.live .prose p').firstChild;
          const range = document.createRange();
          range.setStart(node, 0); range.setEnd(node, 10);
          getSelection().removeAllRanges(); getSelection().addRange(range);
        }"""
    )
    desk.gateway.release()
    await desk.answer("That is all there is to it.")
    assert await desk.page.evaluate("String(getSelection())") == STREAMED[:10]


async def test_code_is_coloured_and_copied(desk: Watched) -> None:
    await desk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await desk.say("show me")
    await desk.answer("That is all there is to it.")
    block = desk.page.locator(".code").last
    await expect(block.locator(".hl-keyword").first).to_have_text("const")
    await block.get_by_role("button", name="Copy").click()
    await expect(block.get_by_role("button")).to_have_text("Copied")
    assert await desk.page.evaluate("navigator.clipboard.readText()") == "const soon = () => requestAnimationFrame(draw);"


async def test_stop_ends_the_answer_and_says_so(desk: Watched) -> None:
    await desk.say("slow please")
    await expect(desk.page.locator(".answer.live .prose")).to_contain_text("Three things")
    await desk.page.keyboard.press("Escape")
    await expect(desk.page.get_by_text("Stopped.")).to_be_visible()
    await expect(desk.page.locator(".turn").last.locator(".prose")).to_contain_text("Three things")
    await expect(desk.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


async def test_tool_activity_is_folded_under_the_answer_and_can_be_opened(desk: Watched) -> None:
    await desk.say("use tools")
    await desk.answer("That is all there is to it.")
    turn = desk.page.locator(".turn").last
    await turn.get_by_role("button", name="Used read_file").click()
    await turn.locator(".call summary").last.click()
    await expect(turn.locator(".call-body pre").first).to_contain_text("notes/<img src=x>.md")
    await expect(turn.locator(".call-body pre").last).to_contain_text("</script><script>")


async def test_a_failed_turn_says_what_to_do_and_is_retried(desk: Watched) -> None:
    await desk.say("fail")
    await expect(desk.page.get_by_text("The provider refused the key.")).to_be_visible()
    await desk.page.locator(".turn").last.get_by_role("button", name="Retry").click()
    await expect(desk.page.get_by_text("The provider refused the key.")).to_have_count(2)


async def test_a_message_that_is_refused_can_be_edited(desk: Watched) -> None:
    await desk.say("refuse this")
    await expect(desk.page.get_by_text("Not sent: Too many messages wait already.")).to_be_visible()
    await desk.page.get_by_role("button", name="Edit", exact=True).click()
    await expect(desk.page.get_by_label("Message", exact=True)).to_have_value("refuse this")


async def test_an_edited_message_continues_in_a_branch(desk: Watched) -> None:
    await desk.page.locator(".said").first.hover()
    await desk.page.get_by_role("button", name="Edit and branch").first.click()
    await desk.page.get_by_label("Edit your message").fill("And to Prague?")
    await desk.page.keyboard.press("Enter")
    await desk.answer("That is all there is to it.")
    assert MAIN not in desk.page.url
    await expect(desk.page.locator(".bubble")).to_have_text(["You: And to Prague?"])
    assert [turn["id"] for turn in desk.gateway.conversations[MAIN]["turns"]] == ["t1"]


async def test_commands_are_completed_and_answered_outside_the_conversation(desk: Watched) -> None:
    await desk.page.get_by_label("Message", exact=True).fill("/sta")
    await expect(desk.page.get_by_role("option", name="/status")).to_be_visible()
    await desk.page.keyboard.press("Tab")
    await expect(desk.page.get_by_label("Message", exact=True)).to_have_value("/status ")
    await desk.page.keyboard.press("Enter")
    await expect(desk.page.locator(".command-card")).to_contain_text("is answered at once")


async def test_the_model_of_the_conversation_is_chosen(desk: Watched) -> None:
    await desk.page.get_by_role("button", name="Model:").click()
    await desk.page.get_by_label("Find a model").fill("opus")
    await desk.page.keyboard.press("Enter")
    await expect(desk.page.get_by_role("button", name="Model: Claude Opus 5")).to_be_visible()
    assert desk.gateway.conversations[MAIN]["settings"] == {"model": "anthropic/claude-opus-5"}


async def test_a_pasted_picture_is_sent_with_the_message(desk: Watched) -> None:
    await desk.page.set_input_files("input[type=file]", files=[{"name": "dot.png", "mimeType": "image/png", "buffer": PNG}])
    await expect(desk.page.locator(".tray li.sent")).to_have_count(1)
    await desk.say("what is this")
    await desk.answer("That is all there is to it.")
    picture = desk.page.locator(".turn").last.locator(".picture img")
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1


async def test_pictures_that_come_late_do_not_push_the_end_out_of_sight(phone: Watched) -> None:
    files = [FilePayload(name=f"{number}.png", mimeType="image/png", buffer=picture(300, 200 + number)) for number in range(3)]
    await phone.page.set_input_files("input[type=file]", files=files)
    await expect(phone.page.locator(".tray li.sent")).to_have_count(3)
    await phone.say("echo three of them")
    await phone.answer("three of them")
    await phone.page.wait_for_function(IS_AT_THE_END)
    await phone.page.reload()
    await expect(phone.page.locator(".picture img")).to_have_count(3)
    await phone.page.wait_for_function(IS_AT_THE_END)


async def test_a_file_of_a_kind_that_cannot_be_sent_is_named(desk: Watched) -> None:
    await desk.page.set_input_files(
        "input[type=file]", files=[{"name": "a.exe", "mimeType": "application/x-dosexec", "buffer": b"MZ"}]
    )
    await expect(desk.page.locator(".tray")).to_contain_text("Only images, text and PDF can be sent")


async def test_the_transcript_stays_where_one_reads(desk: Watched) -> None:
    await desk.say("echo " + "\n\n".join(f"Paragraph {n}" for n in range(60)))
    await desk.answer("Paragraph 59")
    box = desk.page.locator(".transcript")
    await box.evaluate("box => box.scrollTo({ top: 0 })")
    await expect(desk.page.get_by_role("button", name="To the newest message")).to_be_visible()
    await box.evaluate("box => box.scrollTo({ top: 40 })")
    await desk.gateway.push_answer(MAIN, "A word from elsewhere")
    word = desk.page.locator(".prose", has_text="A word from elsewhere")
    await expect(word).to_have_count(1)
    assert await box.evaluate("box => box.scrollTop") == 40
    await desk.page.get_by_role("button", name="To the newest message").click()
    await expect(word).to_be_in_viewport()


async def test_sessions_are_found_renamed_and_deleted(desk: Watched) -> None:
    await desk.page.get_by_label("Find a conversation").fill("winter")
    row = desk.page.locator(".session")
    await expect(row).to_have_count(1)
    await row.hover()
    await row.get_by_role("button").click()
    await desk.page.get_by_role("menuitem", name="Rename").click()
    await desk.page.get_by_role("textbox", name="Name this conversation").fill("Winter books")
    await desk.page.keyboard.press("Enter")
    await expect(desk.page.locator(".session-title")).to_have_text("Winter books")
    await row.hover()
    await row.get_by_role("button").click()
    await desk.page.get_by_role("menuitem", name="Delete").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(row).to_have_count(0)
    assert "agent:main:webchat:direct:old" not in desk.gateway.conversations


async def test_everything_can_be_done_with_the_keyboard(desk: Watched) -> None:
    keyboard = desk.page.keyboard
    await keyboard.press("Alt+ArrowDown")
    await expect(desk.page.locator("h1")).to_have_text("A web server that tells the time")
    await keyboard.press("Control+k")
    await keyboard.type("quarter")
    await keyboard.press("Enter")
    await expect(desk.page.locator("h1")).to_have_text("Quarterly figures")
    await keyboard.press("Alt+n")
    await expect(desk.page.locator("h1")).to_have_text("New conversation")
    await keyboard.type("hello")
    await keyboard.press("Shift+Enter")
    await keyboard.type("there")
    await keyboard.press("Enter")
    await desk.answer("That is all there is to it.")
    await expect(desk.page.locator(".bubble")).to_have_text("You: hello\nthere")
    await keyboard.press("ArrowUp")
    await expect(desk.page.get_by_label("Edit your message")).to_be_focused()
    await keyboard.press("Escape")
    await desk.page.locator(".transcript").focus()
    await keyboard.press("?")
    await expect(desk.page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await keyboard.press("Escape")
    await expect(desk.page.get_by_role("dialog")).to_have_count(0)
    await keyboard.press("/")
    await expect(desk.page.get_by_label("Message", exact=True)).to_be_focused()


async def test_the_finished_answer_is_announced_once(desk: Watched) -> None:
    await desk.say("hello")
    await desk.answer("That is all there is to it.")
    await expect(desk.page.locator("[role=log][aria-live=polite]")).to_contain_text("Answer: Of course.")


IS_AT_THE_END = """() => {
  const images = [...document.querySelectorAll('.picture img')];
  const box = document.querySelector('.transcript');
  return images.length === 3 && images.every((image) => image.complete && image.naturalWidth === 300)
    && box.scrollHeight - box.scrollTop - box.clientHeight < 2;
}"""


def picture(width: int, height: int) -> bytes:
    """A black PNG."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack("!I", len(content)) + kind + content + struct.pack("!I", zlib.crc32(kind + content))

    head = struct.pack("!IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(width)) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63f8cfc0f01f00050001ff56c7"
    "2f0d0000000049454e44ae426082"
)


async def test_where_a_conversation_was_summarised_is_marked_and_the_summary_can_be_read(desk: Watched) -> None:
    mark = desk.page.locator(".summarised")
    await expect(desk.page.locator(".turn").first).to_be_visible()
    await expect(mark).to_have_count(0)
    last = desk.gateway.conversations[MAIN]["turns"][-1]["id"]
    told = {"keptFrom": last, "summary": "They spoke of **quinces**.", "at": 1.0}
    desk.gateway.conversations[MAIN]["summarised"] = told
    await desk.gateway.sessions.tell(MAIN, {"turn": last, "state": "summarised", **told})
    await mark.locator("summary").click()
    await expect(mark.locator(".prose")).to_have_text("They spoke of quinces.")
    assert await mark.evaluate("(node, id) => node.nextElementSibling.id === `turn-${id}`", last)
    await desk.page.reload()
    await expect(mark).to_have_count(1)


async def test_a_draft_is_there_again_in_another_tab_and_gone_once_it_is_sent(desk: Watched) -> None:
    await desk.page.get_by_label("Message", exact=True).fill("half a thought")
    other = await desk.page.context.new_page()
    await other.goto(desk.gateway.url)
    await expect(other.get_by_label("Message", exact=True)).to_have_value("half a thought")
    await other.close()
    await desk.page.keyboard.press("Enter")
    await expect(desk.page.locator(".bubble", has_text="half a thought")).to_be_visible()
    await desk.page.reload()
    await expect(desk.page.get_by_label("Message", exact=True)).to_have_value("")


async def test_a_message_whose_turn_began_under_other_words_does_not_wait_for_ever(desk: Watched) -> None:
    await desk.say("reworded please")
    await desk.answer("That is all there is to it.")
    await expect(desk.page.locator(".turn.pending")).to_have_count(0)
    await expect(desk.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


async def test_how_long_nothing_was_heard_is_told(stranger: Watched) -> None:
    await stranger.page.clock.install()
    await stranger.sign_in()
    stranger.gateway.thinking.clear()
    await stranger.say("ponder this")
    await expect(stranger.page.locator(".answer.live .dots")).to_be_visible()
    await stranger.page.clock.fast_forward(25_000)
    await expect(stranger.page.locator(".quiet")).to_contain_text("the model is reading")
    stranger.gateway.thinking.set()
    await stranger.answer("That is all there is to it.")
    await expect(stranger.page.locator(".quiet")).to_have_count(0)
