"""What happened since the start, counted from the events that every screen sees. No message text, no session, no person."""

from collections import OrderedDict

from ostiary.contracts.events import (
    ModelAnswered,
    ModelSpent,
    Recorded,
    ToolResulted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from ostiary.gateway.ops.exposition import Counter, Gauge, Histogram

_OPEN_TURNS = 10_000
_TURN_BOUNDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_MODEL_BOUNDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_TOOL_BOUNDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120)


class _Run:
    """How long a turn has been at work: the time it waits for somebody is not counted."""

    def __init__(self, at: float) -> None:
        self.since: float | None = at
        self.seconds = 0.0

    def pause(self, at: float) -> None:
        if self.since is not None:
            self.seconds += max(0.0, at - self.since)
            self.since = None


class Tally:
    """A turn that began before this process did, or while events were lost, is counted but not timed."""

    def __init__(self) -> None:
        self._turns = Counter("ostiary_turns_total", "Turns that ended, by status.", ("status",))
        self._turn_seconds = Histogram("ostiary_turn_seconds", "Time a turn was at work, without waiting.", _TURN_BOUNDS)
        self._model_seconds = Histogram("ostiary_model_seconds", "Time of model calls.", _MODEL_BOUNDS, ("model",))
        self._tokens = Counter("ostiary_model_tokens_total", "Tokens, by model and kind.", ("model", "kind"))
        self._cost = Counter("ostiary_model_cost_usd_total", "Cost in US dollars where a price is known.", ("model",))
        self._tools = Counter("ostiary_tool_calls_total", "Tool calls, by name and what became of them.", ("tool", "fate"))
        self._tool_seconds = Histogram("ostiary_tool_seconds", "Time of tool calls.", _TOOL_BOUNDS, ("tool",))
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self.gaps = 0

    def take(self, recorded: Recorded) -> None:
        event, turn, at = recorded.event, recorded.turn, recorded.at
        match event:
            case TurnStarted():
                self._runs[turn] = _Run(at)
                if len(self._runs) > _OPEN_TURNS:
                    self._runs.popitem(last=False)
            case TurnSuspended():
                self._pause(turn, at)
            case TurnResumed():
                run = self._runs.get(turn)
                if run is not None and run.since is None:
                    run.since = at
            case ModelAnswered():
                self._model_seconds.add(event.model, seconds=event.seconds)
                self._spent(event)
            case ModelSpent():
                self._spent(event)
            case ToolResulted():
                self._tools.add(event.name, event.fate)
                self._tool_seconds.add(event.name, seconds=event.seconds)
            case TurnEnded():
                self._turns.add(event.status)
                self._pause(turn, at)
                run = self._runs.pop(turn, None)
                if run is not None:
                    self._turn_seconds.add(seconds=run.seconds)

    def lost(self) -> None:
        """Events were missed: what is open now can no longer be timed."""
        self.gaps += 1
        self._runs.clear()

    def families(self) -> list[Counter | Histogram | Gauge]:
        counted = (
            self._turns,
            self._turn_seconds,
            self._model_seconds,
            self._tokens,
            self._cost,
            self._tools,
            self._tool_seconds,
        )
        gaps = Gauge("ostiary_observer_gaps_total", "How often the figures missed events.", self.gaps, kind="counter")
        return [*counted, gaps]

    def _pause(self, turn: str, at: float) -> None:
        run = self._runs.get(turn)
        if run is not None:
            run.pause(at)

    def _spent(self, event: ModelAnswered | ModelSpent) -> None:
        model, usage = event.model, event.usage
        counts = {"input": usage.input, "output": usage.output, "cache_read": usage.cache_read, "cache_write": usage.cache_write}
        for kind, count in counts.items():
            self._tokens.add(model, kind, amount=count)
        if usage.cost is not None:
            self._cost.add(model, amount=usage.cost)
