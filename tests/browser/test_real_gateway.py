"""The web app on the real process: it is signed in to, talked through, killed and started again."""

import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, expect

from ostiary.kit.model_servers import Call, Reply, Words
from tests.browser.conftest import DESKTOP, Watched
from tests.journeys.gateway.house import OSTIARY, Gateway, Home, config
from tests.journeys.gateway.model import Model, running

PASSWORD = "three locks and 1 key"


class Process:
    """The gateway at one port, through restarts. Stands where a watched page expects its gateway."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.port = 0
        self.current = self.begin()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def kill(self) -> None:
        self.current.kill()
        self.current.end()

    def begin(self) -> Gateway:
        with (self.home.path.parent / "home.stderr").open("ab") as stderr:
            process = subprocess.Popen(
                [OSTIARY, "up", "--port", str(self.port)], env=self.home.environ, stdout=subprocess.PIPE, stderr=stderr
            )
        self.current = Gateway(home=self.home, process=process)
        self.current.wait_ready()
        self.port = self.current.port
        return self.current


@pytest.fixture(scope="module")
def model_server() -> Iterator[Model]:
    with running() as model:
        yield model


@pytest.fixture
def model(model_server: Model) -> Model:
    model_server.begin()
    return model_server


@pytest.fixture
def process(tmp_path: Path, model: Model) -> Iterator[Process]:
    home = Home(tmp_path / "home")
    settings = config(model.url)
    settings["gateway"] = {
        "auth": {"mode": "password", "password": "${PASSWORD}", "token": "${OSTIARY_TOKEN}"},
        "drainSeconds": 1,
    }
    settings["models"]["providers"]["kit"]["models"][0]["input"] = ["text", "image"]  # type: ignore[index]
    home.configure(settings)
    home.environ["PASSWORD"] = PASSWORD
    process = Process(home)
    yield process
    process.current.end()


@pytest.fixture
async def desk(browser: Browser, process: Process) -> AsyncIterator[Watched]:
    context = await browser.new_context(viewport=DESKTOP)  # type: ignore[arg-type]
    watched = Watched(await context.new_page(), process)
    await watched.page.goto(process.url)
    await watched.page.get_by_label("Or the gateway’s password").fill(PASSWORD)
    await watched.page.keyboard.press("Enter")
    await watched.page.wait_for_selector(".shell")
    yield watched
    await context.close()
    assert watched.problems == []


async def test_the_link_of_the_command_line_signs_one_browser_in_once(browser: Browser, process: Process) -> None:
    link = process.home.run("gateway", "link").stdout.split()[-1]
    context = await browser.new_context()
    watched = Watched(await context.new_page(), process)
    await watched.page.goto(link)
    await watched.page.wait_for_selector(".shell")
    assert "k=" not in watched.page.url
    other = await browser.new_context()
    late = await other.new_page()
    await late.goto(link)
    await expect(late.get_by_role("alert")).to_contain_text("used already")
    await context.close()
    await other.close()
    assert watched.problems == []


async def test_an_answer_comes_through_the_real_house(desk: Watched, model: Model) -> None:
    model.begin("It is **open**.")
    await desk.page.keyboard.press("Alt+n")
    await desk.say("Is the door open?")
    await desk.answer("It is open.")
    await expect(desk.page.locator(".session-title")).to_have_text("Is the door open?")
    await desk.page.get_by_role("link", name="Open the timeline of this turn").click()
    await expect(desk.page.locator(".turn-block")).to_have_count(1)
    await expect(desk.page.locator(".event").last).to_contain_text("Turn completed")


async def test_a_killed_gateway_finishes_the_turn_and_the_page_shows_it_once(
    desk: Watched, model: Model, process: Process
) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("The first half ", "and the rest.")),), holds={2: gate}), "The whole answer, once.")
    await desk.say("Tell me")
    await expect(desk.page.locator(".answer.live .prose")).to_contain_text("The first")
    process.kill()
    await expect(desk.page.get_by_text("Reconnecting to the gateway")).to_be_visible()
    process.begin()
    await desk.answer("The whole answer, once.")
    model.release(gate)
    await expect(desk.page.locator(".bubble")).to_have_text(["You: Tell me"])
    await expect(desk.page.locator(".prose", has_text="The whole answer, once.")).to_have_count(1)


async def test_a_new_conversation_is_listed_while_its_first_answer_is_written(desk: Watched, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("Half, ", "whole.")),), holds={2: gate}))
    await desk.page.keyboard.press("Alt+n")
    await desk.say("A new thing")
    await expect(desk.page.locator(".session-title")).to_have_text("A new thing")
    await expect(desk.page.locator(".session .dot.live")).to_be_visible()
    await desk.page.reload()
    await expect(desk.page.locator(".session-title")).to_have_text("A new thing")
    model.release(gate)
    await desk.answer("whole.")
    await expect(desk.page.locator(".session .dot.live")).to_have_count(0)


async def test_a_page_reloaded_in_the_middle_of_an_answer_shows_what_is_there_and_goes_on(desk: Watched, model: Model) -> None:
    first, second = model.gate(), model.gate()
    model.begin(Reply(parts=(Words(pieces=("The first half, ", "the second, ", "the end.")),), holds={2: first, 3: second}))
    await desk.say("Tell me")
    await expect(desk.page.locator(".answer.live .prose")).to_contain_text("The first")
    await desk.page.reload()
    await expect(desk.page.locator(".answer.live .prose")).to_contain_text("The first")
    model.release(first)
    await expect(desk.page.locator(".answer.live .prose")).to_contain_text("The first half, the")
    model.release(second)
    await desk.answer("The first half, the second, the end.")


async def test_commands_are_answered_by_the_house(desk: Watched) -> None:
    await desk.say("/status")
    await expect(desk.page.locator(".command-card")).to_contain_text("kit/kit-1")
    await expect(desk.page.locator(".bubble")).to_have_count(0)


async def test_a_picture_reaches_the_model(desk: Watched, model: Model) -> None:
    model.begin("A dot.")
    await desk.page.set_input_files("input[type=file]", files=[{"name": "dot.png", "mimeType": "image/png", "buffer": PNG}])
    await expect(desk.page.locator(".tray li.sent")).to_have_count(1)
    await desk.say("What is it?")
    await desk.answer("A dot.")
    assert "image_url" in json.dumps(model.last)
    picture = desk.page.locator(".picture img")
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1


async def test_every_file_of_a_message_is_there_after_a_reload_with_its_name_and_size(desk: Watched, model: Model) -> None:
    model.begin("A dot and a list.")
    picture = FilePayload(name="dot.png", mimeType="image/png", buffer=PNG)
    text = FilePayload(name="shopping list.txt", mimeType="text/plain", buffer=b"milk\n" * 300)
    await desk.page.set_input_files("input[type=file]", files=[picture, text])
    await expect(desk.page.locator(".tray li.sent")).to_have_count(2)
    await desk.say("What are these?")
    await desk.answer("A dot and a list.")
    await desk.page.reload()
    await expect(desk.page.locator(".picture .file-name")).to_have_text("dot.png70 B")
    await expect(desk.page.locator(".file .file-name")).to_have_text("shopping list.txt1 KB")
    await expect(desk.page.locator(".bubble")).to_have_text("You: What are these?")
    shown = desk.page.locator(".picture img")
    assert await shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1


async def test_an_earlier_message_is_edited_into_a_branch(desk: Watched, model: Model) -> None:
    model.begin("First.", "Second.", "Another second.")
    await desk.say("One")
    await desk.answer("First.")
    await desk.say("Two")
    await desk.answer("Second.")
    await desk.page.locator(".said").last.hover()
    await desk.page.get_by_role("button", name="Edit and branch").last.click()
    await desk.page.get_by_label("Edit your message").fill("Two, but different")
    await desk.page.keyboard.press("Enter")
    await desk.answer("Another second.")
    said = [message["content"] for message in model.last["messages"] if message["role"] == "assistant"]
    assert said == ["First."]
    await expect(desk.page.locator(".bubble")).to_have_text(["You: One", "You: Two, but different"])


async def test_every_page_shows_the_real_house(desk: Watched, model: Model) -> None:
    model.begin("Yes.")
    await desk.say("Ready?")
    await desk.answer("Yes.")
    shown = {
        "sessions": "Ready?",
        "usage": "kit/kit-1",
        "models": "kit/kit-2",
        "config": "Posture",
        "devices": "this browser",
        "logs": "listens at",
        "health": "All is well",
    }
    for path, words in shown.items():
        await desk.show(path)
        await expect(desk.page.locator("main")).to_contain_text(words)


async def test_a_setting_is_saved_into_the_real_file(desk: Watched, process: Process) -> None:
    await desk.show("config")
    await desk.page.get_by_role("button", name="Agents", exact=True).click()
    await desk.page.get_by_label("Thinking default").select_option("low")
    await desk.page.get_by_role("button", name="Save").click()
    await expect(desk.page.get_by_text("Saved. It is in force.")).to_be_visible()
    assert '"low"' in process.home.file.read_text()
    assert PASSWORD not in await desk.page.content()


async def test_signing_out_closes_the_door(desk: Watched) -> None:
    await desk.show("devices")
    await desk.page.get_by_role("button", name="Sign out").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    await expect(desk.page.get_by_text("Knock, and be let in")).to_be_visible()
    await desk.page.reload()
    await expect(desk.page.get_by_text("Knock, and be let in")).to_be_visible()


def uses(name: str, **arguments: object) -> Reply:
    return Reply(parts=(Call(name=name, pieces=(json.dumps(arguments),), id=f"call_{name}"),), stop="tool_calls")


async def test_a_small_program_is_written_asked_about_run_seen_and_undone(desk: Watched, model: Model) -> None:
    model.begin(
        uses("write", path="hello.py", content="print('Hello, Ana')\n"),
        uses("exec", command="python3 hello.py"),
        "It says: Hello, Ana.",
    )
    await desk.say("Write a small program and run it.")
    card = desk.page.locator(".question")
    await expect(card).to_have_count(1)
    await expect(card).to_contain_text("command: python3 hello.py")
    await expect(desk.page.locator(".rail .house-chip")).to_have_text("1")
    await expect(desk.page.locator(".changes pre .plus")).to_have_text("+print('Hello, Ana')\n")
    await card.get_by_role("button", name="Allow once").click()
    await desk.answer("It says: Hello, Ana.")
    await expect(desk.page.locator(".answered.allowed")).to_contain_text("python3 hello.py")
    turn = desk.page.locator(".turn").last
    await expect(turn.locator(".progress")).to_have_text("Hello, Ana")
    await turn.locator(".work-line").last.click()
    await turn.locator(".call summary").last.click()
    await expect(turn.locator(".call-body").last.locator(".badge")).to_have_text("exit 0")
    await expect(turn.locator(".call-body").last.locator("pre").last).to_have_text("Hello, Ana")
    await turn.get_by_role("button", name="Undo").click()
    await expect(turn.locator(".undone")).to_contain_text("hello.py is removed.")
    await desk.page.reload()
    await expect(turn.locator(".changes header")).to_contain_text("taken back")
    await expect(turn.get_by_role("button", name="Undo")).to_have_count(0)


async def test_a_house_moved_at_the_terminal_is_followed_by_the_open_page(desk: Watched, process: Process) -> None:
    chip = desk.page.locator(".rail .house-chip")
    process.home.run("wake")
    await expect(chip).to_have_text("awake")
    process.home.run("sleep")
    await expect(chip).to_have_text("asleep")
    process.home.run("kill")
    await expect(desk.page.get_by_text("Everything is stopped.")).to_be_visible()


async def test_where_a_long_conversation_was_summarised_is_marked(desk: Watched, model: Model) -> None:
    model.begin("First.", "Second.", "They spoke twice.", "Third.")
    await desk.say("One")
    await desk.answer("First.")
    await desk.say("Two")
    await desk.answer("Second.")
    await desk.say("/compact")
    mark = desk.page.locator(".summarised")
    await mark.locator("summary").click()
    await expect(mark.locator(".prose")).to_contain_text("They spoke twice.")
    await expect(desk.page.locator(".turn.pending")).to_have_count(0)
    await desk.page.reload()
    await expect(mark).to_have_count(1)


async def test_a_wider_yes_lets_the_next_like_call_run_unasked_until_it_is_taken_back(desk: Watched, model: Model) -> None:
    model.begin(
        uses("exec", command="echo one"), "First.", uses("exec", command="echo one"), "Second.", uses("exec", command="echo one")
    )
    await desk.say("Once")
    card = desk.page.locator(".question")
    await card.get_by_role("button", name="Allow like this").click()
    await card.get_by_role("button", name="Allow until").click()
    await desk.answer("First.")
    await desk.say("Again")
    await desk.answer("Second.")
    await desk.show("approvals")
    await desk.page.locator(".profiles li").get_by_role("button", name="Take back").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    await expect(desk.page.locator(".profiles li")).to_have_count(0)
    await desk.show("chat/agent:main:main")
    await desk.say("And again")
    await expect(card).to_contain_text("echo one")


async def test_a_question_outlives_a_kill_of_the_process_and_is_answered_after_it(
    desk: Watched, model: Model, process: Process
) -> None:
    model.begin(uses("exec", command="echo still here"), "Done after all.")
    await desk.say("Go")
    card = desk.page.locator(".question")
    await expect(card).to_contain_text("echo still here")
    process.kill()
    await expect(desk.page.get_by_text("Reconnecting to the gateway")).to_be_visible()
    process.begin()
    await expect(desk.page.get_by_text("Reconnecting to the gateway")).to_have_count(0)
    await card.get_by_role("button", name="Allow once").click()
    await desk.answer("Done after all.")


async def test_the_owner_rules_the_real_house_from_its_pages(desk: Watched, model: Model) -> None:
    model.begin(uses("exec", command="echo x"), "No then.")
    await desk.say("Go")
    await desk.page.locator(".question").get_by_role("button", name="Refuse").click()
    await desk.answer("No then.")
    await desk.show("rules")
    await desk.page.get_by_label("Tool", exact=True).fill("exec")
    await desk.page.get_by_label("Arguments").fill('{"command": "ls"}')
    await desk.page.get_by_role("button", name="Explain").click()
    await expect(desk.page.get_by_role("heading", name="A person is asked")).to_be_visible()
    await expect(desk.page.locator(".chain [aria-current=step]")).to_contain_text("confirm")
    await expect(desk.page.get_by_role("row", name="exec Run")).to_contain_text("asks")
    await desk.show("audit")
    await expect(desk.page.locator(".entry", has_text="approval.answered")).to_contain_text("denied")
    await desk.page.get_by_role("button", name="Verify").click()
    await expect(desk.page.get_by_text("The chain holds")).to_be_visible()
    await desk.show("control")
    await desk.page.get_by_label("Switch on", exact=True).fill("exec")
    await desk.page.get_by_role("button", name="Switch on", exact=True).click()
    await expect(desk.page.locator(".plain-list li")).to_contain_text("exec")
    await desk.page.locator("main").get_by_role("button", name="Stop everything").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Stop everything").click()
    await expect(desk.page.get_by_role("dialog")).to_contain_text("Everything is stopped")
    await desk.page.get_by_role("dialog").locator("footer").get_by_role("button", name="Close").click()
    await expect(desk.page.get_by_role("heading", name="The house is stopped")).to_be_visible()
    await desk.page.get_by_role("button", name="Wake").click()
    await expect(desk.page.get_by_role("heading", name="The house is awake")).to_be_visible()


async def test_a_file_of_the_assistant_is_opened_changed_and_restored_in_the_vault(desk: Watched, model: Model) -> None:
    model.begin(uses("write", path="plan.md", content="# Plan\n\nLeave on Monday.\n"), "Written.")
    await desk.say("Write down the plan")
    await desk.answer("Written.")
    await desk.show("vault")
    await desk.page.locator(".collections").get_by_role("link", name="Workspace").click()
    await desk.page.locator(".docs").get_by_role("link", name="plan.md").click()
    await expect(desk.page.locator(".paper")).to_contain_text("Leave on Monday.")
    await expect(desk.page.locator(".versions").get_by_role("link", name="the turn")).to_be_visible()
    await desk.page.get_by_role("button", name="Edit").click()
    await desk.page.get_by_label("Text of plan.md").fill("# Plan\n\nLeave on Tuesday.\n")
    await desk.page.get_by_role("button", name="Save").click()
    await expect(desk.page.locator(".compare")).to_contain_text("Tuesday")
    await desk.page.locator(".versions li").last.get_by_role("button", name="Bring back").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Bring 1 document back").click()
    await expect(desk.page.locator(".paper")).to_contain_text("Leave on Monday.")
    await expect(desk.page.locator(".versions li")).to_have_count(3)


async def test_what_is_told_is_remembered_with_its_source_and_found_again(desk: Watched, model: Model) -> None:
    model.begin(uses("memory_write", text="The spare key hangs in the greenhouse."), "I keep that.")
    await desk.say("Remember that the spare key hangs in the greenhouse.")
    await desk.answer("I keep that.")
    await desk.show("memory")
    entry = desk.page.locator(".memory-entry", has_text="greenhouse")
    await entry.get_by_role("button", name="Why?").click()
    await expect(entry.locator("blockquote")).to_contain_text("Remember that the spare key")
    await desk.page.get_by_label("Search memory").fill("where is the spare key")
    await expect(desk.page.locator(".found").first).to_contain_text("greenhouse")
    await desk.show("sessions")
    await desk.page.get_by_label("Find a session").fill("spare key greenhouse")
    await desk.page.get_by_label("Said in conversations").locator(".found a").first.click()
    await expect(desk.page.locator(".turn-block.wanted")).to_be_visible()


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63f8cfc0f01f00050001ff56c7"
    "2f0d0000000049454e44ae426082"
)
