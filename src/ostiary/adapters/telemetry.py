"""Each turn as an OpenTelemetry trace, made from the events of the journal: a span for the turn, one below it for each model
and tool call. No message text, no arguments, no session. Needs the extra `telemetry`; import it only when it is switched on.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from ostiary.contracts.events import (
    ModelAnswered,
    ModelRequested,
    Recorded,
    ToolIntended,
    ToolResulted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)

_OPEN_TURNS = 1000
_QUEUE = 2048
_EXPORT_SECONDS = 5


class _Open:
    """A turn under way: its own span, and those of its calls that have no answer yet."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.model: Span | None = None
        self.tools: dict[str, Span] = {}

    def end(self, at: int, *, is_cut: bool) -> None:
        calls = [*self.tools.values(), *([self.model] if self.model is not None else [])]
        for span in [*calls, self.span] if is_cut else calls:
            span.set_status(Status(StatusCode.ERROR, "not finished"))
        for span in [*calls, self.span]:
            span.end(at)


class Tracing:
    """An observer. A turn whose beginning was not seen (before a restart) is not traced."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._seen_at = 0

    def take(self, recorded: Recorded) -> None:
        at = self._seen_at = int(recorded.at * 1e9)
        event = recorded.event
        if isinstance(event, TurnStarted):
            self._begin(recorded, event, at)
            return
        turn = self._open.get(recorded.turn)
        if turn is None:
            return
        match event:
            case ModelRequested():
                if turn.model is not None:
                    turn.model.end(at)
                turn.model = self._child(turn, f"chat {event.model}", at, kind=SpanKind.CLIENT)
                turn.model.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.request.model": event.model})
            case ModelAnswered():
                _answered(turn, event, at)
            case ToolIntended():
                turn.tools[event.call_id] = self._child(turn, f"execute_tool {event.name}", at)
            case ToolResulted():
                span = turn.tools.pop(event.call_id, None) or self._child(turn, f"execute_tool {event.name}", at)
                _resulted(span, event, at)
            case TurnSuspended():
                turn.span.add_event("suspended", {"ostiary.waiting_for": event.waiting_for}, at)
            case TurnResumed():
                turn.span.add_event("resumed", timestamp=at)
            case TurnEnded():
                del self._open[recorded.turn]
                _ended(turn, event, at)

    def lost(self) -> None:
        """What was open is ended as it stands: its end may have been missed."""
        while self._open:
            self._open.popitem()[1].end(self._seen_at, is_cut=True)

    def _begin(self, recorded: Recorded, event: TurnStarted, at: int) -> None:
        span = self._tracer.start_span("turn", kind=SpanKind.SERVER, start_time=at)
        agent = recorded.session.split(":", 2)[1] if recorded.session.count(":") >= 2 else ""
        span.set_attributes(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": agent,
                "ostiary.turn": recorded.turn,
                "ostiary.lane": event.lane,
                "ostiary.inputs": len(event.inputs),
            }
        )
        self._open[recorded.turn] = _Open(span)
        if len(self._open) > _OPEN_TURNS:
            self._open.popitem(last=False)[1].end(at, is_cut=True)

    def _child(self, turn: _Open, name: str, at: int, *, kind: SpanKind = SpanKind.INTERNAL) -> Span:
        return self._tracer.start_span(name, context=set_span_in_context(turn.span), kind=kind, start_time=at)


@contextmanager
def open_tracing(
    *, endpoint: str, headers: Mapping[str, str], service: str, version: str, exporter: SpanExporter | None = None
) -> Iterator[Tracing]:
    """Traces go to `endpoint` from a thread of their own with a bounded queue; when it is full they are dropped.

    Leaving sends what is left, for a few seconds at most. `exporter` stands in for the one that sends."""
    if exporter is None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter(endpoint=endpoint, headers=dict(headers), timeout=_EXPORT_SECONDS)
    resource = Resource.create({"service.name": service, "service.version": version})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=_QUEUE, export_timeout_millis=_EXPORT_SECONDS * 1000))
    tracing = Tracing(provider.get_tracer("ostiary", version))
    try:
        yield tracing
    finally:
        tracing.lost()
        provider.shutdown()


def _answered(turn: _Open, event: ModelAnswered, at: int) -> None:
    span, turn.model = turn.model, None
    if span is None:
        return
    usage = event.usage
    span.set_attributes(
        {
            "gen_ai.response.model": event.model,
            "gen_ai.response.finish_reasons": [event.stop],
            "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
            "gen_ai.usage.output_tokens": usage.output,
        }
    )
    span.end(at)


def _resulted(span: Span, event: ToolResulted, at: int) -> None:
    span.set_attributes(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": event.name, "ostiary.tool.fate": event.fate}
    )
    if event.is_error:
        span.set_status(Status(StatusCode.ERROR, event.fate))
    span.end(at)


def _ended(turn: _Open, event: TurnEnded, at: int) -> None:
    turn.span.set_attribute("ostiary.status", event.status)
    if event.status != "completed":
        turn.span.set_status(Status(StatusCode.ERROR, event.error_kind or event.status))
    turn.end(at, is_cut=False)
