"""Figures are counted from events: by status, model and tool, without a word of what was said."""

from ostiary.contracts.events import TurnEnded, TurnResumed, TurnSuspended
from ostiary.contracts.model import Usage
from ostiary.gateway.ops.exposition import exposed
from ostiary.gateway.ops.tally import Tally
from tests.unit.gateway.ops.events import ENDED, SECRET, STARTED, answered, at, intended, requested, resulted


def page(tally: Tally) -> list[str]:
    return exposed(tally.families()).decode().splitlines()


def test_a_turn_is_counted_and_timed_from_its_first_event_to_its_last() -> None:
    tally = Tally()
    tally.take(at(100.0, STARTED))
    tally.take(at(102.0, ENDED))
    assert 'ostiary_turns_total{status="completed"} 1' in page(tally)
    assert "ostiary_turn_seconds_sum 2" in page(tally)


def test_the_time_a_turn_waits_for_somebody_is_not_its_own() -> None:
    tally = Tally()
    tally.take(at(100.0, STARTED))
    tally.take(at(101.0, TurnSuspended(waiting_for="client_tool", call_ids=("c1",))))
    tally.take(at(500.0, TurnResumed()))
    tally.take(at(503.0, ENDED))
    assert "ostiary_turn_seconds_sum 4" in page(tally)


def test_a_turn_from_before_the_start_is_counted_but_not_timed() -> None:
    tally = Tally()
    tally.take(at(7.0, TurnEnded(status="aborted")))
    assert 'ostiary_turns_total{status="aborted"} 1' in page(tally)
    assert not [line for line in page(tally) if line.startswith("ostiary_turn_seconds_count")]


def test_models_are_counted_by_time_tokens_and_cost() -> None:
    tally = Tally()
    tally.take(at(1.0, answered("kit/one", seconds=0.5, usage=Usage(input=3, output=5, cache_read=7, cost=0.25))))
    tally.take(at(2.0, answered("kit/two", seconds=1.0)))
    found = page(tally)
    assert 'ostiary_model_seconds_sum{model="kit/one"} 0.5' in found
    assert 'ostiary_model_tokens_total{model="kit/one",kind="cache_read"} 7' in found
    assert 'ostiary_model_tokens_total{model="kit/two",kind="output"} 5' in found
    assert 'ostiary_model_cost_usd_total{model="kit/one"} 0.25' in found
    assert not [line for line in found if line.startswith('ostiary_model_cost_usd_total{model="kit/two"}')]


def test_tool_calls_are_counted_by_what_became_of_them() -> None:
    tally = Tally()
    tally.take(at(1.0, resulted("c1")))
    tally.take(at(2.0, resulted("c2", is_error=True)))
    assert 'ostiary_tool_calls_total{tool="read",fate="done"} 1' in page(tally)
    assert 'ostiary_tool_calls_total{tool="read",fate="refused"} 1' in page(tally)


def test_after_lost_events_open_turns_are_not_timed_wrongly() -> None:
    tally = Tally()
    tally.take(at(1.0, STARTED))
    tally.lost()
    tally.take(at(900.0, ENDED))
    assert "ostiary_observer_gaps_total 1" in page(tally)
    assert not [line for line in page(tally) if line.startswith("ostiary_turn_seconds_count")]


def test_nothing_of_the_conversation_is_on_the_page() -> None:
    tally = Tally()
    for event in (STARTED, requested(), answered(), intended(), resulted(), ENDED):
        tally.take(at(1.0, event))
    assert not [line for line in page(tally) if SECRET in line or "ada" in line]
