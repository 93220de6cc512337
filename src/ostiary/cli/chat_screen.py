"""The chat's screen: what was said, a line to type in, and a line that says how things stand."""

from time import time
from typing import Any, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.suggester import SuggestFromList
from textual.widgets import Input, Markdown, Static

from ostiary.cli.agent import target
from ostiary.cli.asking import HOW, command_for, whole
from ostiary.cli.client import Gateway, Piece
from ostiary.cli.output import safe
from ostiary.contracts.errors import OstiaryError

_REMEMBERED = 500
_STYLES = """
Screen { background: $background; }
#said { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
.user { color: $accent; margin: 1 0 0 0; padding: 0 1; border-left: thick $accent; }
.answer { margin: 0; padding: 0 1; background: $background; }
.note { color: $text-muted; padding: 0 1; }
.question { color: $warning; margin: 1 0; padding: 0 1; border-left: thick $warning; }
.error { color: $error; padding: 0 1; }
#status { height: 1; color: $text-muted; padding: 0 2; }
Input { border: round $primary; }
"""


class Line(Input):
    """One line to type in. Up and Down walk through what was typed before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "older", show=False),
        Binding("down", "newer", show=False),
        Binding("tab", "complete", show=False),
    ]

    def __init__(self, commands: list[str]) -> None:
        names = [f"/{name}" for name in commands]
        super().__init__(placeholder="Say something; / for commands", id="line", suggester=SuggestFromList(names))
        self._before: list[str] = []
        self._at = 0

    def remember(self, text: str) -> None:
        if text and self._before[-1:] != [text]:
            self._before = [*self._before, text][-_REMEMBERED:]
        self._at = len(self._before)

    def action_older(self) -> None:
        self._go(self._at - 1)

    def action_newer(self) -> None:
        self._go(self._at + 1)

    def action_complete(self) -> None:
        self.action_cursor_right()

    def _go(self, at: int) -> None:
        if 0 <= at <= len(self._before):
            self._at = at
            self.value = self._before[at] if at < len(self._before) else ""
            self.cursor_position = len(self.value)


class ChatScreen(App[None]):
    """Turns belong to the gateway: leaving the screen does not stop them, Escape does."""

    TITLE = "Ostiary"
    CSS = _STYLES
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "stop"),
        Binding("ctrl+c", "quit", "leave", priority=True),
        Binding("ctrl+d", "quit", "leave", priority=True),
    ]

    def __init__(self, gateway: Gateway, session: str) -> None:
        super().__init__()
        self._gateway = gateway
        self._body, self._headers = target(session)
        self._key = session if session.startswith("agent:") else f"agent:main:api:{session}" if session else "agent:main:main"
        self._model = ""
        self._tokens = ""
        self._busy = 0
        self._questions: dict[str, dict[str, Any]] = {}

    def compose(self) -> ComposeResult:
        yield VerticalScroll(id="said")
        yield Static(id="status")
        yield Line(self._commands())

    def on_mount(self) -> None:
        said = self.query_one("#said", VerticalScroll)
        said.anchor()
        said.can_focus = False
        self._load()
        self._tell("ready")
        self.query_one(Line).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        line = self.query_one(Line)
        line.remember(text)
        line.value = ""
        if text in ("/quit", "/exit"):
            self.exit()
        elif text or self._questions:
            self._said(text)

    def _said(self, text: str) -> None:
        self._add(Static(safe(text) or "(nothing)", classes="user", markup=False))
        # While a question is open, what is typed answers it; a command is still a command.
        question = next(iter(self._questions.values()), None)
        if question is None or text.startswith("/"):
            self._ask(text)
        else:
            self.settled(question["id"])
            self._ask(command_for(question, text))

    def asked(self, question: dict[str, Any]) -> None:
        """Shown whole; the next line that is typed answers it."""
        self._questions[question["id"]] = question
        self._add(Static(f"{whole(question, time())}\n\n  Type {HOW}.", classes="question", markup=False))
        self._tell(f"waiting for your answer to {question['id']}")

    def settled(self, approval: str) -> None:
        if self._questions.pop(approval, None) is not None:
            self._tell("thinking …  (Esc stops)")

    def action_stop(self) -> None:
        if self._busy:
            self._tell("stopping …")
            self._stop()
        else:
            self.query_one(Line).value = ""

    @work(thread=True, group="stop", exclusive=True)
    def _stop(self) -> None:
        try:
            self._gateway.post("/v1/ostiary/stop", {"session": self._key})
        except OstiaryError as error:
            self.call_from_thread(self._complain, error)

    @work(thread=True, group="history")
    def _load(self) -> None:
        try:
            session = self._gateway.get(f"/v1/ostiary/session?key={_quoted(self._key)}")
        except OstiaryError:
            # A session that does not exist yet has nothing to show.
            return
        self.call_from_thread(self._show_history, session)

    @work(thread=True, group="turns")
    def _ask(self, text: str) -> None:
        answer = self.call_from_thread(self._begin)
        body = {"model": "ostiary", "messages": [{"role": "user", "content": text}], **self._body}
        try:
            for piece in self._gateway.stream(body, {**self._headers, "X-Ostiary-Detail": "true"}):
                self.call_from_thread(answer.take, piece)
        except OstiaryError as error:
            self.call_from_thread(self._complain, error)
        finally:
            self.call_from_thread(self._end, answer)

    def _begin(self) -> "Answer":
        self._busy += 1
        self._tell("thinking …  (Esc stops)")
        return Answer(self)

    def _end(self, answer: "Answer") -> None:
        self._busy -= 1
        answer.finish()
        self._tell("ready" if not self._busy else "thinking …  (Esc stops)")

    def learned(self, *, model: str = "", tokens: str = "") -> None:
        self._model, self._tokens = model or self._model, tokens or self._tokens

    def activity(self, text: str) -> None:
        self._tell(text)

    def add(self, widget: Any) -> None:
        self._add(widget)

    def _show_history(self, session: dict[str, Any]) -> None:
        self.learned(model=session.get("model", ""))
        for line in session.get("said", ()):
            if line["role"] == "user":
                self._add(Static(safe(line["text"]), classes="user", markup=False))
            else:
                self._add(Markdown(laid_out(line["text"]), classes="answer", open_links=False))
        self._tell("ready")

    def _complain(self, error: OstiaryError) -> None:
        self._add(Static(f"{error} {error.hint}".strip(), classes="error", markup=False))

    def _add(self, widget: Any) -> None:
        said = self.query_one("#said", VerticalScroll)
        said.mount(widget)
        said.anchor()

    def _tell(self, state: str) -> None:
        parts = [state, self._model, self._tokens, self._key]
        self.query_one("#status", Static).update(" · ".join(part for part in parts if part))

    def _commands(self) -> list[str]:
        try:
            return [*self._gateway.get("/v1/ostiary/status").get("commands", ()), "quit"]
        except OstiaryError:
            return ["quit"]


class Answer:
    """One answer being written. A restart clears it, as the wire's mark asks."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._widget = Markdown("", classes="answer", open_links=False)
        self._text = ""
        self._stale = False
        self._is_turn = False
        self._timer = screen.set_interval(0.08, self._draw)
        screen.add(self._widget)

    def take(self, piece: Piece) -> None:
        match piece.kind:
            case "text":
                self._text += piece.text
                self._stale = True
                self._screen.activity("writing …  (Esc stops)")
            case "restart":
                self._text, self._stale = "", True
            case "thinking":
                self._screen.activity("thinking …  (Esc stops)")
            case "tool":
                self._screen.activity(f"using {piece.text} …  (Esc stops)")
            case "asked":
                self._screen.asked(piece.fields)
            case "answered":
                self._screen.settled(piece.text)
            case "usage" if self._is_turn:
                tokens = f"{piece.fields.get('prompt_tokens', 0)} in, {piece.fields.get('completion_tokens', 0)} out"
                self._screen.learned(tokens=tokens)
            case "end":
                self._is_turn = bool(piece.fields.get("turn"))
                model = str(piece.fields.get("model", ""))
                self._screen.learned(model=model if "/" in model else "")
                if piece.fields.get("status") == "aborted":
                    self._text += "\n\n*(stopped)*"
                    self._stale = True

    def finish(self) -> None:
        self._timer.stop()
        self._draw()
        if not self._text:
            self._widget.remove()

    def _draw(self) -> None:
        """At most some twelve times a second: laying out Markdown for every word would be slower than the model."""
        if self._stale:
            self._stale = False
            self._widget.update(laid_out(self._text))


def laid_out(text: str) -> str:
    """Markdown in which a new line is a new line, as people and models mean it in a chat. Code is left alone."""
    lines, fenced = [], False
    for line in safe(text).split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        lines.append(line if fenced or not line.strip() else f"{line}  ")
    return "\n".join(lines)


def _quoted(key: str) -> str:
    from urllib.parse import quote

    return quote(key, safe="")
