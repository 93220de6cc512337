"""A house with a command desk, whose controls remember what was asked of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ostiary.contracts.engine import SessionView, Stopped
from ostiary.contracts.errors import BadInput, NotAllowed
from ostiary.contracts.identity import EXTERNAL, OWNER, Principal, SessionKey
from ostiary.contracts.messages import InboundMessage
from ostiary.contracts.model import ModelChoice, ModelFacts, ModelRef, Usage
from ostiary.core.routing.builtin_commands import builtin_commands
from ostiary.core.routing.commands import Commands
from ostiary.core.routing.desk import CommandDesk, DeskRules
from ostiary.core.routing.intake import Handled
from tests.unit.core.routing.inbound import direct

MAIN = SessionKey("main", "main")
OWN = SessionKey("main", "telegram:direct:123")

REPORT: Mapping[str, object] = {
    "prompt": {"characters": 4000, "tokens": 1000},
    "files": [
        {"name": "AGENTS.md", "raw": 1742, "injected": 1742, "truncated": False, "missing": False},
        {"name": "TOOLS.md", "raw": 54210, "injected": 20000, "truncated": True, "missing": False},
        {"name": "SOUL.md", "raw": 0, "injected": 0, "truncated": False, "missing": True},
    ],
    "tools": [{"name": "read", "characters": 400}, {"name": "session_status", "characters": 800}],
    "skills": [],
    "history": {"messages": 6, "tokens": 700},
    "window": 20_000,
}


@dataclass
class RecordingControls:
    settings: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    running: str = ""
    queued: int = 0
    waiting_for: str = ""
    report: Mapping[str, object] = field(default_factory=lambda: REPORT)
    usage: Usage = field(default_factory=lambda: Usage(input=1200, output=34, cache_read=5, cost=0.0123))

    async def view(self, session: SessionKey) -> SessionView:
        return SessionView(
            key=session,
            settings=dict(self.settings),
            usage=self.usage,
            turns=3,
            messages=6,
            model="anthropic/claude-opus-5",
            running_turn=self.running,
            waiting_for=self.waiting_for,
            queued=self.queued,
            created_at=0.0,
            updated_at=0.0,
            context_tokens=2000,
            context_report=self.report,
        )

    async def change_setting(self, session: SessionKey, name: str, value: str, *, by: Principal) -> None:
        self.asked.append(f"set {name}={value} by {by.user}")
        self.settings[name] = value

    async def reset(self, session: SessionKey, *, reason: str, by: Principal) -> None:
        self.asked.append(f"reset {reason}")

    async def stop(self, session: SessionKey, *, by: Principal, reason: str = "stopped") -> Stopped:
        self.asked.append("stop")
        stopped = Stopped(turns=int(bool(self.running)), queued=self.queued)
        self.running, self.queued = "", 0
        return stopped


class FixedCatalogue:
    """Two models; `opus` and `sonnet` are aliases, `gpt-5` is known but not allowed."""

    _refs = (ModelRef("anthropic", "claude-opus-5"), ModelRef("anthropic", "claude-sonnet-5"))

    def facts(self, ref: ModelRef) -> ModelFacts:
        return ModelFacts(ref=ref, context_window=20_000, reasons=True)

    def choose(self, agent: str, override: str = "", *, with_images: bool = False) -> ModelChoice:
        if "gpt-5" in override:
            raise NotAllowed(f"{override} is not on the list of models", hint="/models lists them.")
        name, _, profile = override.partition("@")
        found = [ref for ref in self._refs if name.lower() in str(ref)]
        if not found:
            raise BadInput(f"no model is called {override!r}", hint="/models lists them.")
        return ModelChoice(primary=found[0], fallbacks=self._refs[1:] if not override else (), profile=profile)

    def choices(self, agent: str) -> tuple[ModelFacts, ...]:
        return tuple(self.facts(ref) for ref in self._refs)


@dataclass
class House:
    controls: RecordingControls = field(default_factory=RecordingControls)
    rules: DeskRules = field(default_factory=DeskRules)
    commands: Commands = field(default_factory=lambda: builtin_commands(version="1.2.3"))

    @property
    def desk(self) -> CommandDesk:
        return CommandDesk(
            commands=self.commands, controls=lambda: self.controls, catalogue=FixedCatalogue, rules=lambda: self.rules
        )

    async def hears(
        self, text: str, *, owner: bool = True, session: SessionKey = MAIN, message: InboundMessage | None = None
    ) -> Handled:
        heard = replace(message or direct(), text=text)
        principal = Principal(user=heard.sender, role=OWNER if owner else EXTERNAL)
        return await self.desk.handle(heard, principal=principal, session=session)

    async def says(self, text: str, **more: object) -> str:
        handled = await self.hears(text, **more)  # type: ignore[arg-type]
        assert handled.reply is not None, f"went on to the model: {handled.text!r}"
        return handled.reply
