"""The assistant asks before it acts: what is asked is seen whole, and a yes is never given by accident."""

import json
import re
import time
from typing import Any

from playwright.async_api import expect

from tests.browser.conftest import MAIN, Watched
from tests.browser.fake_house import question

CARD = ".question"
ARMED = ".question[data-armed=true]"


async def ask(desk: Watched, command: str = "python3 hello.py", **more: Any) -> None:
    """A question about the turn that is on the screen."""
    await desk.gateway.house.ask(question("aaaa", MAIN, "t1", command, **more))
    await desk.page.wait_for_selector(CARD)


async def test_a_question_is_shown_whole_answered_and_folds_to_a_line(desk: Watched) -> None:
    await desk.say("write and run")
    card = desk.page.locator(CARD)
    await expect(card).to_contain_text("May I run this command?")
    await expect(card).to_contain_text("command: python3 hello.py Ana")
    await expect(card).to_contain_text("file:hello.py")
    await expect(card).to_contain_text("a command can do what cannot be taken back")
    await expect(card.locator(".layers")).to_contain_text("confirm")
    await card.get_by_role("button", name="Allow once").click()
    await expect(card).to_have_count(0)
    await desk.answer("It works: Hello, Ana")
    await expect(desk.page.locator(".answered.allowed")).to_contain_text("Allowedexecpython3 hello.py Ana")
    assert [(row["answer"], row["grant"]) for row in desk.gateway.house.answers] == [("allowed", "")]
    await desk.page.reload()
    await expect(desk.page.locator(".answered.allowed")).to_contain_text("Allowedexecpython3 hello.py Ana")


async def test_a_refusal_reaches_the_turn_and_is_told(desk: Watched) -> None:
    await desk.say("write and run")
    await desk.page.locator(CARD).get_by_role("button", name="Refuse").click()
    await desk.answer("It works: Hello, Ana")
    await expect(desk.page.locator(".answered.denied")).to_contain_text("Refused")
    assert [row["answer"] for row in desk.gateway.house.answers] == ["denied"]


async def test_a_click_right_after_a_card_appeared_does_nothing(desk: Watched) -> None:
    await desk.page.evaluate(
        """() => new MutationObserver(() => {
          const button = document.querySelector('.question .button.primary');
          if (!button || window.tried) return;
          window.tried = button.disabled ? 'disabled' : 'enabled';
          button.click(); button.disabled = false; button.click();
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    await ask(desk)
    await desk.page.wait_for_selector(ARMED)
    assert await desk.page.evaluate("window.tried") == "disabled"
    assert desk.gateway.house.answers == []
    await desk.page.get_by_role("button", name="Allow once").click()
    await expect(desk.page.locator(CARD)).to_have_count(0)
    assert [row["answer"] for row in desk.gateway.house.answers] == ["allowed"]


async def test_a_question_that_changed_is_a_new_card_and_takes_no_answer_at_first(desk: Watched) -> None:
    await ask(desk)
    await desk.page.wait_for_selector(ARMED)
    await desk.page.locator(CARD).evaluate("card => { card.dataset.seen = 'before' }")
    await desk.page.evaluate(
        """() => new MutationObserver(() => {
          const card = document.querySelector('.question:not([data-seen])');
          if (card) window.armed ??= card.dataset.armed;
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    changed = question("bbbb", MAIN, "t1", "rm -rf build", callId="t1-aaaa")
    await desk.gateway.house.ask(changed)
    await expect(desk.page.locator(".question:not([data-seen])")).to_contain_text("rm -rf build")
    assert await desk.page.evaluate("window.armed") == "false"
    await expect(desk.page.locator(CARD)).to_have_count(1)


async def test_a_card_that_may_have_moved_takes_no_answer_for_a_moment(desk: Watched) -> None:
    await ask(desk)
    await desk.page.wait_for_selector(ARMED)
    await desk.page.evaluate(
        """() => {
          const [card] = document.querySelectorAll('.question');
          window.was = [card.dataset.armed];
          new MutationObserver(() => window.was.push(card.dataset.armed)).observe(card, { attributes: true });
        }"""
    )
    await desk.gateway.house.ask(question("cccc", MAIN, "t1", "ls", group="another"))
    await expect(desk.page.locator(ARMED)).to_have_count(2)
    await desk.page.wait_for_function("window.was.length > 2")
    assert (await desk.page.evaluate("window.was"))[:3] == ["true", "false", "true"]


async def test_y_and_n_answer_the_card_that_has_the_focus_and_no_other(desk: Watched) -> None:
    await ask(desk)
    await desk.page.wait_for_selector(ARMED)
    await desk.page.get_by_label("Message", exact=True).fill("")
    await desk.page.keyboard.type("yn")
    assert desk.gateway.house.answers == []
    await desk.page.keyboard.press("Alt+q")
    await expect(desk.page.locator(CARD)).to_be_focused()
    await desk.page.keyboard.press("n")
    await expect(desk.page.locator(CARD)).to_have_count(0)
    assert [row["answer"] for row in desk.gateway.house.answers] == ["denied"]
    await expect(desk.page.get_by_label("Message", exact=True)).to_be_focused()


async def test_who_may_not_answer_sees_the_question_and_no_buttons(desk: Watched) -> None:
    desk.gateway.scopes = ["read", "chat"]
    await desk.page.reload()
    await desk.page.wait_for_selector(".prose")
    await ask(desk)
    await expect(desk.page.locator(CARD)).to_contain_text("This browser may not answer.")
    await expect(desk.page.locator(CARD).get_by_role("button")).to_have_count(0)
    await desk.page.wait_for_selector(ARMED)
    await desk.page.keyboard.press("Alt+q")
    await desk.page.keyboard.press("y")
    assert "approvals.answer" not in [method for method, _ in desk.gateway.methods]


async def test_a_question_is_said_aloud_once(desk: Watched) -> None:
    await ask(desk)
    crier = desk.page.locator("[aria-live=assertive]")
    await expect(crier).to_contain_text("The assistant asks: May I run this command? python3 hello.py.")
    await expect(
        desk.page.get_by_role("group", name="May I run this command? Press y to allow once, n to refuse.")
    ).to_be_visible()


async def test_like_questions_stand_together_and_take_one_answer(desk: Watched) -> None:
    await desk.say("ask three")
    card = desk.page.locator(CARD)
    await expect(card).to_have_count(1)
    await expect(card).to_contain_text("3 like this")
    await expect(card.locator(".asked-all pre")).to_have_count(3)
    await card.get_by_role("button", name="Allow all 3 once").click()
    await desk.answer("It works: Hello, Ana")
    assert [row["answer"] for row in desk.gateway.house.answers] == ["allowed"] * 3
    await expect(desk.page.locator(".answered.allowed")).to_have_count(3)


async def test_a_wider_yes_begins_with_the_narrowest_pattern_and_has_an_end(desk: Watched) -> None:
    await desk.say("write and run")
    card = desk.page.locator(CARD)
    await card.get_by_role("button", name="Allow like this").click()
    await expect(card.get_by_role("radio").first).to_be_checked()
    await card.get_by_role("button", name="8 hours").click()
    await card.get_by_role("button", name="Allow until").click()
    await desk.answer("It works: Hello, Ana")
    grant = desk.gateway.house.grants[0]
    assert grant["pattern"] == "python3 hello.py Ana"
    assert 28_000 < grant["until"] - time.time() <= 28_800


async def test_like_questions_are_offered_only_a_pattern_that_covers_all_of_them(desk: Watched) -> None:
    await desk.say("ask three")
    card = desk.page.locator(CARD)
    await card.get_by_role("button", name="Allow like this").click()
    await expect(card.locator(".choice code")).to_have_text(["python3 *"])


async def test_what_cannot_be_seen_is_written_out_and_html_stays_text(desk: Watched) -> None:
    await ask(desk, "cat a\\u{202E}gpj.exe <img src=x onerror=alert(1)>")
    block = desk.page.locator(".question pre")
    await expect(block.locator("mark")).to_have_text("\\u{202E}")
    await expect(block).to_contain_text("<img src=x onerror=alert(1)>")
    assert await desk.page.locator(".question img").count() == 0


async def test_a_text_that_does_not_fit_says_so(desk: Watched) -> None:
    await ask(desk, "\n".join(f"echo {number}" for number in range(60)))
    await expect(desk.page.locator(".more-text")).to_have_text("63 lines: scroll to read all of it")
    last = desk.page.locator(".question pre")
    await last.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    await expect(last).to_contain_text("echo 59")


async def test_a_tainted_question_names_where_the_text_came_from_and_offers_no_wider_yes(desk: Watched) -> None:
    await ask(
        desk, layers=["confirm", "taint"], trust="untrusted", private=True, sources=["web:evil.example"], offers=[], group="x"
    )  # fmt: skip
    card = desk.page.locator(CARD)
    await expect(card.locator(".origin")).to_contain_text("web:evil.example, and private things")
    await expect(card.get_by_role("button", name="Allow like this")).to_have_count(0)
    await expect(desk.page.get_by_role("button", name="Outside + private")).to_be_visible()


async def test_a_question_answered_elsewhere_goes_and_says_so(desk: Watched) -> None:
    await ask(desk)
    row = desk.gateway.house.waiting[0]
    await desk.gateway.house.settle(row, "denied", by="telegram:4711")
    await expect(desk.page.locator(CARD)).to_have_count(0)
    await expect(desk.page.locator(".answered.denied")).to_contain_text("telegram:4711")


async def test_a_page_that_comes_back_knows_what_waits(desk: Watched) -> None:
    await desk.gateway.crash()
    desk.gateway.house.waiting.append(question("dddd", MAIN, "t1", "make"))
    await desk.gateway.start()
    await expect(desk.page.locator(CARD)).to_contain_text("make")


async def test_an_answer_that_came_too_late_is_told_and_the_card_goes(desk: Watched) -> None:
    await ask(desk)
    await desk.page.wait_for_selector(ARMED)
    desk.gateway.house.waiting = []
    await desk.page.get_by_role("button", name="Allow once").click()
    await expect(desk.page.locator(".note.bad")).to_contain_text("was answered already")
    await expect(desk.page.locator(CARD)).to_have_count(0)


async def test_on_a_phone_a_question_fits_and_its_buttons_are_seen(phone: Watched) -> None:
    await phone.say("write and run")
    await phone.page.wait_for_selector(ARMED)
    assert await phone.page.evaluate("document.documentElement.scrollWidth") == 360
    await expect(phone.page.get_by_role("heading", name="May I run this command?")).to_be_in_viewport()
    await expect(phone.page.get_by_role("button", name="Allow once")).to_be_in_viewport()
    await expect(phone.page.get_by_role("button", name="Refuse", exact=True)).to_be_in_viewport()
    await expect(phone.page.locator(".chat-head .house-chip")).to_have_text("1")


async def test_the_chip_counts_on_every_page_and_leads_to_the_questions(desk: Watched) -> None:
    chip = desk.page.locator(".rail .house-chip")
    await expect(chip).to_have_text("awake")
    await desk.show("health")
    await desk.gateway.house.ask(question("eeee", MAIN, "t1", "make"))
    await expect(chip).to_have_text("1")
    await chip.click()
    await expect(desk.page.locator(CARD)).to_contain_text("Planning the trip to Vienna")


async def test_what_is_sent_is_only_the_answer(desk: Watched) -> None:
    await ask(desk)
    await desk.page.get_by_role("button", name="Allow once").click()
    await expect(desk.page.locator(CARD)).to_have_count(0)
    sent = [params for method, params in desk.gateway.methods if method == "approvals.answer"]
    assert [sorted(params) for params in sent] == [["allow", "id", "idempotencyKey"]]
    assert json.dumps(sent).count("python3") == 0


async def test_while_a_question_waits_nothing_pretends_to_be_at_work(desk: Watched) -> None:
    await desk.say("write and run")
    card = desk.page.locator(".question")
    await expect(card.locator(".time-left small")).to_have_text(re.compile(r"^4:\d\d$"))
    await desk.page.reload()
    await expect(card).to_be_visible()
    await expect(desk.page.locator(".dots, .ring, .ending")).to_have_count(0)
