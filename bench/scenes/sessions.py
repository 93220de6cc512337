"""Turns: in one session, in many, with a slow model, with a long past."""

import json
from collections.abc import Iterator
from pathlib import Path

from bench.processes import Child
from bench.rows import Row
from bench.stage import Ran, Stage, get
from bench.stats import growth, median, percentile

_PAST = 600


def one_session(stage: Stage) -> Iterator[Row]:
    with stage.model() as model, stage.gateway(stage.home(model)) as gateway:
        rounds = _rounds_of_300(stage, gateway, "300 turns in one session")
        size = _last_request(model)
        stage.say("streamed turns")
        streamed = stage.load(gateway, sessions=1, turns=100, prefix="stream", expect="[DONE]", streams=True)
    yield Row("turn_cpu", "CPU per plain turn, 300 in one session", "ms", tuple(ran.cpu_ms for ran in rounds))
    yield Row("turn_p50", "wall time of a plain turn, p50", "ms", tuple(1000 * median(ran.all) for ran in rounds))
    yield Row("turn_p95", "wall time of a plain turn, p95", "ms", tuple(1000 * percentile(ran.all, 95) for ran in rounds))
    yield Row(
        "growth", "median of turns 250–300 against 1–50", "×", _growths(rounds), f"last request {size:.1f} kB: history is limited"
    )
    yield Row("stream_cpu", "CPU per turn, streamed to the caller", "ms", (streamed.cpu_ms,), "100 turns")
    yield Row("stream_p50", "wall time of a streamed turn, p50", "ms", (1000 * median(streamed.all),))
    yield Row("sessions_1", "turns per second, 1 session", "/s", tuple(ran.rate for ran in rounds), "instant model")


def whole_history(stage: Stage) -> Iterator[Row]:
    """The same 300 turns with every message of the past sent each time."""
    with stage.model() as model, stage.gateway(stage.home(model, whole_history=True)) as gateway:
        rounds = _rounds_of_300(stage, gateway, "300 turns, whole history sent")
        size = _last_request(model)
    yield Row("whole_cpu", "whole history sent: CPU per plain turn", "ms", tuple(ran.cpu_ms for ran in rounds))
    p95 = min(1000 * percentile(ran.all, 95) for ran in rounds)
    yield Row(
        "whole_p50", "whole history sent: wall time, p50", "ms", tuple(1000 * median(ran.all) for ran in rounds), f"p95 {p95:.1f}"
    )
    yield Row(
        "whole_growth", "whole history sent: turns 250–300 against 1–50", "×", _growths(rounds), f"last request {size:.1f} kB"
    )


def _rounds_of_300(stage: Stage, gateway: Child, what: str) -> list[Ran]:
    stage.load(gateway, sessions=1, turns=20, prefix="warm")
    rounds = []
    for number in range(stage.rounds):
        stage.say(f"{what} {number + 1}/{stage.rounds}")
        rounds.append(stage.load(gateway, sessions=1, turns=300, prefix=f"one{number}"))
    return rounds


def _growths(rounds: list[Ran]) -> tuple[float, ...]:
    return tuple(growth(ran.all, first=50, last=50) for ran in rounds)


def _last_request(model: str) -> float:
    """The size of what the model was sent last, in kB."""
    size: int = json.loads(get(model.removesuffix("/v1") + "/count"))["last_body_bytes"]
    return size / 1000


def many_sessions(stage: Stage) -> Iterator[Row]:
    with stage.model() as model, stage.gateway(stage.home(model)) as gateway:
        stage.load(gateway, sessions=16, turns=3, prefix="warm")
        for sessions, turns in ((16, 40), (64, 20), (200, 6)):
            turns = turns // 2 if stage.quick else turns
            rounds = []
            for number in range(stage.rounds):
                stage.say(f"{sessions} sessions {number + 1}/{stage.rounds}")
                rounds.append(stage.load(gateway, sessions=sessions, turns=turns, prefix=f"many{sessions}-{number}"))
            p95 = min(1000 * percentile(ran.all, 95) for ran in rounds)
            cpu = min(ran.cpu_ms for ran in rounds)
            note = f"p95 {p95:.0f} ms, {cpu:.1f} ms CPU a turn, new sessions"
            yield Row(
                f"sessions_{sessions}", f"turns per second, {sessions} sessions", "/s", tuple(ran.rate for ran in rounds), note
            )


def slow_model(stage: Stage) -> Iterator[Row]:
    rounds = []
    with stage.model(delay_ms=500) as model, stage.gateway(stage.home(model)) as gateway:
        stage.load(gateway, sessions=16, turns=1, prefix="warm")
        for number in range(stage.rounds):
            stage.say(f"200 sessions, model taking 500 ms {number + 1}/{stage.rounds}")
            rounds.append(stage.load(gateway, sessions=200, turns=4 if stage.quick else 8, prefix=f"slow{number}"))
    what = "200 sessions, model taking 500 ms"
    yield Row("slow_rate", f"{what}: turns per second", "/s", tuple(ran.rate for ran in rounds), "400 is the most possible")
    yield Row("slow_p95", f"{what}: p95", "s", tuple(percentile(ran.all, 95) for ran in rounds))


def long_session(stage: Stage) -> Iterator[Row]:
    """A session that starts with a long past, cold from the disk, beside one that starts with none."""
    opening, ratios, cpus = [], [], []
    turns = 30 if stage.quick else 50
    with stage.model() as model:
        home = stage.home(model, whole_history=True)
        past = stage.work / "past.jsonl"
        _write_past(past)
        for number in range(stage.rounds):
            stage.command(home, "sessions", "import", f"agent:main:api:long{number}-0", past)
        with stage.gateway(home) as gateway:
            stage.load(gateway, sessions=1, turns=20, prefix="warm")
            for number in range(stage.rounds):
                stage.say(f"long session {number + 1}/{stage.rounds}")
                short = stage.load(gateway, sessions=1, turns=turns, prefix=f"short{number}")
                long = stage.load(gateway, sessions=1, turns=turns, prefix=f"long{number}")
                opening.append(1000 * long.all[0])
                ratios.append(median(long.all) / median(short.all))
                cpus.append(long.cpu_ms)
        size = _last_request(model)
    note = f"all sent, last request {size:.0f} kB"
    yield Row("long_first", f"first turn of a session with {_PAST} messages, cold", "ms", tuple(opening), note)
    yield Row("long_cpu", f"CPU per turn after {_PAST} messages", "ms", tuple(cpus))
    yield Row("long_ratio", f"turns after {_PAST} messages against a new session", "×", tuple(ratios), "medians")


def _write_past(file: Path) -> None:
    lines: list[dict[str, object]] = [{"type": "session", "version": 3, "id": "past", "timestamp": "2026-01-01T00:00:00.000Z"}]
    for number in range(_PAST):
        role = "assistant" if number % 2 else "user"
        text = f"Message {number}: " + "a few words about the weather and the garden, " * 4
        lines.append({"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
