"""The page is what Prometheus expects: names, labels that cannot break out, cumulative buckets, bounded series."""

from ostiary.gateway.ops.exposition import Counter, Gauge, Histogram, exposed


def lines(*families: Counter | Histogram | Gauge) -> list[str]:
    return exposed(families).decode().splitlines()


def test_a_counter_has_its_help_its_type_and_a_line_for_each_label() -> None:
    turns = Counter("turns_total", "Turns.", ("status",))
    turns.add("completed")
    turns.add("completed")
    turns.add("failed", amount=0.5)
    assert lines(turns) == [
        "# HELP turns_total Turns.",
        "# TYPE turns_total counter",
        'turns_total{status="completed"} 2',
        'turns_total{status="failed"} 0.5',
    ]


def test_the_page_ends_with_a_line_break() -> None:
    assert exposed([Gauge("up", "Is up.", 1)]).endswith(b"up 1\n")


def test_a_label_cannot_break_out_of_its_quotes() -> None:
    calls = Counter("calls_total", "Calls.", ("tool",))
    calls.add('x"} 1\nforged_total 9\\')
    assert lines(calls)[2] == 'calls_total{tool="x\\"} 1\\nforged_total 9\\\\"} 1'


def test_buckets_are_cumulative_and_their_limit_is_inside() -> None:
    took = Histogram("took_seconds", "Time.", (0.1, 1))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        took.add(seconds=seconds)
    assert lines(took)[2:] == [
        'took_seconds_bucket{le="0.1"} 2',
        'took_seconds_bucket{le="1"} 3',
        'took_seconds_bucket{le="+Inf"} 4',
        "took_seconds_sum 7.65",
        "took_seconds_count 4",
    ]


def test_labels_that_never_end_are_counted_together() -> None:
    calls = Counter("calls_total", "Calls.", ("tool",))
    for number in range(1000):
        calls.add(f"tool-{number}")
    found = lines(calls)
    assert len(found) == 2 + 201
    assert found[-1] == 'calls_total{tool="other"} 800'


def test_a_gauge_may_carry_labels() -> None:
    assert lines(Gauge("build_info", "Version.", 1, labels=(("version", "1.2"),)))[-1] == 'build_info{version="1.2"} 1'
