from bench.rows import Row, as_data, as_table, failures, shown


def test_the_median_decides_whether_a_bar_holds() -> None:
    assert Row("ready", "start", "s", (0.1, 0.5, 9.0)).verdict == "ok"
    assert Row("ready", "start", "s", (0.1, 0.7, 9.0)).verdict == "over"


def test_a_bar_may_be_the_least_that_is_promised() -> None:
    assert Row("sessions_64", "turns", "/s", (301,)).verdict == "ok"
    assert Row("sessions_64", "turns", "/s", (299,)).verdict == "over"


def test_a_row_without_a_bar_is_not_judged() -> None:
    assert Row("calibration", "loop", "ms", (50,)).verdict == ""


def test_a_row_without_measurements_failed_and_says_why_below_the_table() -> None:
    row = Row("ready", "start", "s", (), "it did not start")
    assert row.verdict == "failed"
    assert "it did not start" not in as_table([row])
    assert failures([row, Row("agent", "agent", "s", (1,))]) == "start: it did not start"


def test_the_spread_is_shown_beside_the_median() -> None:
    assert Row("ready", "start", "s", (0.5, 0.25, 0.75)).measured == "0.500 s (0.250–0.750)"
    assert Row("ready", "start", "s", (0.5,)).measured == "0.500 s"


def test_numbers_keep_three_figures() -> None:
    assert [shown(value) for value in (0.01639, 1.0006, 12.345, 45, 1234.5)] == ["0.0164", "1.00", "12.3", "45", "1,234"]


def test_every_line_of_the_table_is_as_wide_as_the_others() -> None:
    rows = [Row("ready", "start", "s", (0.5,)), Row("prompt", "a longer description", "chars", (3161.0,), "note")]
    assert len({len(line) for line in as_table(rows).splitlines()}) == 1


def test_the_data_hold_every_measurement() -> None:
    (data,) = as_data([Row("agent", "agent", "s", (0.3, 0.1, 0.2))])
    assert (data["values"], data["median"], data["bar"], data["verdict"]) == ([0.3, 0.1, 0.2], 0.2, 0.35, "ok")
