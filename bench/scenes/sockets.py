"""The door's other side: round trips, turns, watchers and idle clients on WebSockets."""

import json
import sys
from collections.abc import Iterator

from bench.machine import cpu_seconds, memory, settle
from bench.processes import Child, finish, running
from bench.rows import Row
from bench.stage import Stage, own_environ
from bench.stats import median, percentile

_IDLE = 1000
_WATCHERS = 50


def round_trips(stage: Stage) -> Iterator[Row]:
    count = 1000 if stage.quick else 3000
    cpus, walls = [], []
    with stage.model() as model, stage.gateway(stage.home(model)) as gateway:
        _play(stage, gateway, "health", "--count", "200")
        for number in range(stage.rounds):
            stage.say(f"health over a socket {number + 1}/{stage.rounds}")
            cpu, result = _play(stage, gateway, "health", "--count", str(count))
            cpus.append(1000 * cpu / count)
            walls.append(1000 * median(result["seconds"]))
    yield Row("health_cpu", "CPU of a `health` round trip, open socket", "ms", tuple(cpus))
    yield Row("health_p50", "wall time of the same, p50", "ms", tuple(walls))


def socket_turns(stage: Stage) -> Iterator[Row]:
    count = 100 if stage.quick else 300
    cpus, p50, p95 = [], [], []
    with stage.model() as model, stage.gateway(stage.home(model)) as gateway:
        _play(stage, gateway, "turns", "--count", "20", "--key", "agent:main:warm")
        for number in range(stage.rounds):
            stage.say(f"turns through a socket {number + 1}/{stage.rounds}")
            cpu, result = _play(stage, gateway, "turns", "--count", str(count), "--key", f"agent:main:socket{number}")
            cpus.append(1000 * cpu / count)
            p50.append(1000 * median(result["seconds"]))
            p95.append(1000 * percentile(result["seconds"], 95))
    yield Row("socket_cpu", "CPU per turn through a socket, streamed", "ms", tuple(cpus), "follows its own session")
    yield Row("socket_p50", "wall time of a turn through a socket, p50", "ms", tuple(p50), f"p95 {min(p95):.1f}")


def fan_out(stage: Stage) -> Iterator[Row]:
    """The same streamed answer with nobody and with fifty clients watching it."""
    count = 3 if stage.quick else 6
    ratios, cpus, seen = [], [], 0
    command = [sys.executable, "-m", "bench.paced_model", "--chunks", "50", "--every-ms", "10"]
    with running(command, own_environ(), stage.work / "model.log") as model, stage.gateway(stage.home(model.url)) as gateway:
        _play(stage, gateway, "turns", "--count", "2", "--key", "agent:main:warm")
        for number in range(stage.rounds):
            stage.say(f"fan-out {number + 1}/{stage.rounds}")
            alone_cpu, alone = _play(stage, gateway, "turns", "--count", str(count), "--key", f"agent:main:alone{number}")
            words = ("--count", str(count), "--key", f"agent:main:many{number}", "--watchers", str(_WATCHERS))
            many_cpu, many = _play(stage, gateway, "turns", *words)
            ratios.append(median(many["seconds"]) / median(alone["seconds"]))
            cpus.append(1000 * (many_cpu - alone_cpu) / count)
            seen = many["deltas"] // (count * _WATCHERS)
    note = f"50 chunks in 0.5 s, joined to {seen} deltas per client"
    yield Row("fan_out", f"a streamed turn with {_WATCHERS} watchers against none", "×", tuple(ratios), note)
    yield Row("fan_out_cpu", f"CPU of {_WATCHERS} watchers per streamed answer", "ms", tuple(cpus), "with their joining")


def idle_sockets(stage: Stage) -> Iterator[Row]:
    grown, opening = [], []
    with stage.model() as model:
        for number in range(stage.rounds):
            stage.say(f"{_IDLE} idle sockets {number + 1}/{stage.rounds}")
            with stage.gateway(stage.home(model)) as gateway:
                _play(stage, gateway, "health", "--count", "10")
                settle(gateway.pid)
                before, begun = memory(gateway.pid)[0], cpu_seconds(gateway.pid)
                words = ["--url", gateway.url, "--sockets", str(_IDLE), "--seconds", "600"]
                command = [sys.executable, "-m", "bench.socket_load", "hold", *words]
                with running(command, own_environ(), stage.work / "hold.log"):
                    opening.append(1000 * (cpu_seconds(gateway.pid) - begun) / _IDLE)
                    settle(gateway.pid)
                    grown.append(memory(gateway.pid)[0] - before)
    yield Row("idle_sockets", f"memory of {_IDLE:,} idle sockets", "MB", tuple(grown))
    yield Row("connect_cpu", "CPU of connecting one socket", "ms", tuple(opening))


def _play(stage: Stage, gateway: Child, verb: str, *words: str) -> tuple[float, dict[str, list[float]]]:
    """The gateway's CPU seconds and what the clients saw. Raises Broken."""
    before = cpu_seconds(gateway.pid)
    said = finish([sys.executable, "-m", "bench.socket_load", verb, "--url", gateway.url, *words], own_environ(), seconds=120)
    return cpu_seconds(gateway.pid) - before, json.loads(said)
