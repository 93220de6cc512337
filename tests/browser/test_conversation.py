"""How a conversation is put together out of pieces: asked of the page's own module, without a screen."""

from typing import Any

from tests.browser.conftest import Watched

RUN = """async ([calls]) => {
  const place = document.querySelector('script[type=module]').src.replace(/main\\.js$/, '');
  const { addDelta, applyToTurn } = await import(place + 'conversation.js');
  const turn = { id: 't', status: 'running', inputs: [], steps: [], reply: '' };
  for (const event of calls) applyToTurn(turn, event);
  return turn;
}"""


async def told(desk: Watched, *events: dict[str, Any]) -> dict[str, Any]:
    turn: dict[str, Any] = await desk.page.evaluate(RUN, [list(events)])
    return turn


def piece(text: str, offset: int, attempt: int = 1, **more: Any) -> dict[str, Any]:
    return {"state": "delta", "step": 1, "attempt": attempt, "offset": offset, "text": text, "stream": "assistant", **more}


async def test_pieces_are_joined_and_a_repeated_one_changes_nothing(desk: Watched) -> None:
    turn = await told(desk, piece("one ", 0), piece("two", 4), piece("two", 4), piece("e two and", 2))
    assert turn["steps"][0]["text"] == "one two and"


async def test_characters_are_counted_as_the_gateway_counts_them(desk: Watched) -> None:
    turn = await told(desk, piece("👋🏽 hi ", 0), piece("there", 6), piece("🎉", 11))
    assert turn["steps"][0]["text"] == "👋🏽 hi there🎉"


async def test_a_missing_piece_shows_until_the_whole_answer_comes(desk: Watched) -> None:
    holed = await told(desk, piece("one ", 0), piece("three", 8))
    assert holed["steps"][0]["text"] == "one  … three"
    whole = await told(desk, piece("one ", 0), piece("three", 8), {"state": "answered", "step": 1, "text": "one two three"})
    assert whole["steps"][0]["text"] == "one two three"


async def test_a_new_attempt_voids_the_old_one_and_its_late_pieces(desk: Watched) -> None:
    turn = await told(desk, piece("wrong", 0, 1), piece("right", 0, 2), piece(" way", 5, 1))
    assert turn["steps"][0]["text"] == "right"


async def test_pieces_after_the_end_are_late_and_dropped(desk: Watched) -> None:
    end = {"state": "final", "reply": "done", "status": "completed"}
    turn = await told(desk, piece("done", 0), {"state": "answered", "step": 1, "text": "done"}, end, piece(" and more", 4))
    assert turn["steps"][0]["text"] == "done"
    assert turn["status"] == "completed"


async def test_thoughts_and_words_are_kept_apart(desk: Watched) -> None:
    turn = await told(desk, piece("hm", 0, stream="thinking"), piece("yes", 0))
    assert (turn["steps"][0]["thinking"], turn["steps"][0]["text"]) == ("hm", "yes")


async def test_a_call_is_told_once_however_often_it_is_reported(desk: Watched) -> None:
    begun = {"state": "tool", "step": 1, "id": "c", "name": "read", "phase": "started", "arguments": "{}"}
    done = {"state": "tool", "step": 1, "id": "c", "name": "read", "phase": "ended", "fate": "refused", "isError": True}
    turn = await told(desk, begun, begun, done, done)
    assert [(call["name"], call["state"]) for call in turn["steps"][0]["calls"]] == [("read", "refused")]


async def test_what_a_running_call_says_is_shown_until_it_ends(desk: Watched) -> None:
    begun = {"state": "tool", "step": 1, "id": "c", "name": "exec", "phase": "started", "arguments": "{}"}
    words = [{"state": "progress", "step": 1, "id": "c", "text": text} for text in ("exec", "one\n", "tw", "o\n")]
    turn = await told(desk, begun, *words)
    assert turn["steps"][0]["calls"][0]["progress"] == "one\ntwo\n"
    done = {"state": "tool", "step": 1, "id": "c", "name": "exec", "phase": "ended", "fate": "done", "details": {"code": 0}}
    ended = (await told(desk, begun, *words, done, words[1]))["steps"][0]["calls"][0]
    assert ("progress" in ended, ended["details"]) == (False, {"code": 0})


SHOWN = """async ([text, reply]) => {
  const place = document.querySelector('script[type=module]').src.replace(/main\\.js$/, '');
  const { segments } = await import(place + 'chat/turn.js');
  const steps = [{ step: 1, text: 'Looking.', calls: [] }, { step: 2, text, calls: [] }];
  return segments({ id: 't', status: 'completed', inputs: [], steps, reply }).map((part) => part.text);
}"""


async def test_what_the_house_adds_to_an_answer_does_not_show_it_twice(desk: Watched) -> None:
    answer = "Ines lives in Porto."
    cited = f"{answer}\n\nSource: MEMORY.md#L3"
    assert await desk.page.evaluate(SHOWN, [answer, cited]) == ["Looking.", cited]
    assert await desk.page.evaluate(SHOWN, [answer, answer]) == ["Looking.", answer]
    assert await desk.page.evaluate(SHOWN, [answer, "Something else."]) == ["Looking.", answer, "Something else."]
