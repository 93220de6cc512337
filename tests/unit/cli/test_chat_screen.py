from pathlib import Path

import anyio
from textual.widgets import Static

from ostiary.cli.chat_screen import Answer, ChatScreen, Line, laid_out
from ostiary.cli.client import Piece, find_gateway
from ostiary.contracts.engine import Submission
from tests.unit.cli.fakes import running_gateway
from tests.unit.gateway.fakes import FakeEngine


def screen(home: Path) -> ChatScreen:
    gateway = find_gateway(home)
    assert gateway is not None
    return ChatScreen(gateway, "")


async def until(pilot, shown) -> None:  # type: ignore[no-untyped-def]
    with anyio.fail_after(10):
        while not shown():
            await pilot.pause()


async def test_what_is_typed_is_asked_and_the_answer_appears(tmp_path: Path) -> None:
    with running_gateway(tmp_path) as engine:
        app = screen(tmp_path)
        async with app.run_test() as pilot:
            await pilot.press(*"hi", "enter")
            await until(pilot, lambda: any("hello" in str(each.source) for each in app.query("Markdown").results()))
            status = str(app.query_one("#status", Static).content)
            await until(pilot, lambda: "ready" in str(app.query_one("#status", Static).content))
            status = str(app.query_one("#status", Static).content)
    assert engine.submitted[0].message.text == "hi"
    assert "fake/echo" in status
    assert "7 in, 2 out" in status


async def test_escape_stops_the_turn(tmp_path: Path) -> None:
    def wait(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)

    class Stopping(FakeEngine):
        async def stop(self, session, *, by, reason="stopped"):  # type: ignore[no-untyped-def]
            stopped = await super().stop(session, by=by, reason=reason)
            self.end(self.submitted[0], 1, status="aborted", text="half")
            return stopped

    with running_gateway(tmp_path, Stopping(wait)) as engine:
        app = screen(tmp_path)
        async with app.run_test() as pilot:
            await pilot.press(*"go", "enter")
            await until(pilot, lambda: bool(engine.submitted))
            await pilot.press("escape")
            await until(pilot, lambda: any("(stopped)" in str(each.source) for each in app.query("Markdown").results()))
    assert [str(each) for each in engine.stopped] == ["agent:main:main"]


async def test_the_line_remembers_and_completes(tmp_path: Path) -> None:
    with running_gateway(tmp_path):
        app = screen(tmp_path)
        async with app.run_test() as pilot:
            line = app.query_one(Line)
            line.remember("one")
            line.remember("two")
            await pilot.press("up", "up")
            older = line.value
            await pilot.press("down", "down")
            newest = line.value
            await pilot.press(*"/sto")
            await until(pilot, lambda: line._suggestion == "/stop")
            await pilot.press("tab")
            completed = line.value
    assert (older, newest, completed) == ("one", "", "/stop")


async def test_a_restart_clears_what_was_written(tmp_path: Path) -> None:
    with running_gateway(tmp_path):
        app = screen(tmp_path)
        async with app.run_test() as pilot:
            answer = Answer(app)
            answer.take(Piece("text", "void"))
            answer.take(Piece("restart"))
            answer.take(Piece("text", "valid"))
            answer.finish()
            await until(pilot, lambda: any(each.source == "valid  " for each in app.query("Markdown").results()))


def test_a_new_line_is_a_new_line_outside_code() -> None:
    assert laid_out("a\nb\n\n```\ncode\n```\nc") == "a  \nb  \n\n```\ncode\n```  \nc  "


async def test_a_question_is_shown_whole_and_the_next_line_answers_it(tmp_path: Path) -> None:
    question = {
        "id": "abcd",
        "reason": "it runs a command",
        "text": "exec\ncommand: ls",
        "deadline": 0.0,
        "trust": "owner",
        "sources": [],
        "offers": [],
    }
    with running_gateway(tmp_path) as engine:
        app = screen(tmp_path)
        async with app.run_test() as pilot:
            Answer(app).take(Piece("asked", "abcd", question))
            await pilot.pause()
            shown = [str(each.content) for each in app.query(".question").results(Static)]
            await pilot.press("y", "enter")
            await until(pilot, lambda: bool(engine.submitted))
            await pilot.press(*"hi", "enter")
            await until(pilot, lambda: len(engine.submitted) == 2)
    assert "command: ls" in shown[0]
    assert [each.message.text for each in engine.submitted] == ["/confirm abcd", "hi"]
