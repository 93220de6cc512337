"""A turn becomes a trace: the turn, its model and tool calls below it, and nothing of what was said."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostiary.adapters.telemetry import Tracing, open_tracing
from ostiary.contracts.events import TurnEnded
from tests.unit.gateway.ops.events import ENDED, SECRET, STARTED, answered, at, intended, requested, resulted


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracing(exporter: InMemorySpanExporter) -> Iterator[Tracing]:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield Tracing(provider.get_tracer("test"))
    provider.shutdown()


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def whole_turn(tracing: Tracing) -> None:
    for seconds, event in enumerate((STARTED, requested(), answered(), intended(), resulted(), ENDED)):
        tracing.take(at(10.0 + seconds, event))


def test_a_turn_is_one_trace_with_its_calls_below_it(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    whole_turn(tracing)
    spans = by_name(exporter)
    assert set(spans) == {"turn", "chat kit/one", "execute_tool read"}
    turn = spans["turn"]
    assert turn.parent is None
    for name in ("chat kit/one", "execute_tool read"):
        assert spans[name].parent is not None
        assert spans[name].parent == turn.context


def test_times_are_those_of_the_journal(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    whole_turn(tracing)
    spans = by_name(exporter)
    assert (spans["turn"].start_time, spans["turn"].end_time) == (10_000_000_000, 15_000_000_000)
    assert (spans["chat kit/one"].start_time, spans["chat kit/one"].end_time) == (11_000_000_000, 12_000_000_000)
    assert (spans["execute_tool read"].start_time, spans["execute_tool read"].end_time) == (13_000_000_000, 14_000_000_000)


def test_model_tokens_and_tool_fate_are_told(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    whole_turn(tracing)
    spans = by_name(exporter)
    assert dict(spans["chat kit/one"].attributes or {})["gen_ai.usage.output_tokens"] == 5
    assert dict(spans["execute_tool read"].attributes or {})["ostiary.tool.fate"] == "done"
    assert dict(spans["turn"].attributes or {})["gen_ai.agent.name"] == "main"


def test_nothing_that_was_said_and_nobody_is_in_a_trace(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    whole_turn(tracing)
    told = " ".join(span.to_json() for span in exporter.get_finished_spans())
    assert SECRET not in told
    assert "ada" not in told.lower()


def test_a_failed_turn_and_a_refused_call_are_errors(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    tracing.take(at(1.0, STARTED))
    tracing.take(at(2.0, resulted(is_error=True)))
    tracing.take(at(3.0, requested()))
    tracing.take(at(4.0, TurnEnded(status="failed", error_kind="rate_limit", reason=SECRET)))
    spans = by_name(exporter)
    assert spans["turn"].status.description == "rate_limit"
    assert spans["execute_tool read"].status.is_ok is False
    assert spans["chat kit/one"].status.description == "not finished"


def test_a_turn_whose_beginning_was_not_seen_is_not_traced(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    tracing.take(at(1.0, requested()))
    tracing.take(at(2.0, ENDED))
    assert exporter.get_finished_spans() == ()


def test_after_lost_events_nothing_stays_open(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    tracing.take(at(1.0, STARTED))
    tracing.take(at(2.0, intended()))
    tracing.lost()
    assert [span.status.description for span in exporter.get_finished_spans()] == ["not finished", "not finished"]
    tracing.take(at(3.0, ENDED))
    assert len(exporter.get_finished_spans()) == 2


def test_leaving_sends_what_is_left_under_the_name_of_the_service(exporter: InMemorySpanExporter) -> None:
    opened = open_tracing(endpoint="http://127.0.0.1:9/", headers={}, service="my house", version="1", exporter=exporter)
    with opened as tracing:
        whole_turn(tracing)
    spans = exporter.get_finished_spans()
    assert len(spans) == 3
    assert dict(spans[0].resource.attributes)["service.name"] == "my house"
