"""`python -m bench.soak --minutes 10`: a steady load on a real gateway, and whether its memory and files stay level.

Samples are taken every five seconds; the first three minutes (or the first third of a run below nine), while
bounded caches fill, are not judged.
Exit code 1 if anything rose by more than is allowed, or a single turn failed.
"""

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench.flatness import Series, as_svg
from bench.machine import cpu_seconds, memory
from bench.processes import Child
from bench.rows import shown
from bench.soak_load import Load
from bench.stage import BUILD, TOKEN, Stage

_EVERY = 5.0
_WARM = 180.0
# What may come and go without being a leak: a thread with its connection, a socket that is just closing.
_ALLOWED = {"memory": 2.0, "files": 4.0, "threads": 2.0, "tasks": 6.0}
_UNITS = {"memory": "MB", "files": "", "threads": "", "tasks": ""}


async def sampled(gateway: Child, load: Load, minutes: float) -> list[dict[str, float]]:
    """Raises Broken-like errors of the load as they come."""
    samples: list[dict[str, float]] = []
    begun = time.monotonic()
    async with asyncio.TaskGroup() as group:
        working = group.create_task(load.run())
        while time.monotonic() - begun < minutes * 60:
            await asyncio.sleep(_EVERY)
            samples.append({"at": time.monotonic() - begun, **await _sample(gateway, load)})
            _say(samples[-1], load)
        working.cancel()
    return samples


async def _sample(gateway: Child, load: Load) -> dict[str, float]:
    process = Path("/proc") / str(gateway.pid)
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    figures = await load.figures()
    return {
        "memory": memory(gateway.pid)[0],
        "files": float(len(list((process / "fd").iterdir()))),
        "threads": float(status["Threads"]),
        "tasks": figures["ostiary_tasks"],
        "cpu": cpu_seconds(gateway.pid),
        "lag": figures["ostiary_event_loop_lag_seconds"],
    }


def judged(samples: list[dict[str, float]], minutes: float) -> list[Series]:
    """The series after the warming up."""
    begin = min(_WARM, minutes * 20)
    kept = [sample for sample in samples if sample["at"] >= begin]
    times = tuple(sample["at"] for sample in kept)
    return [
        Series(name, _UNITS[name], times, tuple(sample[name] for sample in kept), allowed) for name, allowed in _ALLOWED.items()
    ]


def report(series: list[Series], load: Load, samples: list[dict[str, float]]) -> str:
    lines = [f"{'':<8}  {'first':>8} {'last':>8} {'most':>8} {'rise':>8} {'allowed':>8}"]
    for each in series:
        figures = (each.values[0], each.values[-1], max(each.values), each.rise, each.allowed)
        cells = " ".join(f"{shown(round(figure, 2)):>8}" for figure in figures)
        lines.append(f"{each.name:<8}  {cells}  {'level' if each.is_level else 'RISES':<6} {each.sketch}")
    seconds = samples[-1]["at"]
    lines.append(
        f"{load.turns:,} turns, {load.connects:,} sockets came and went, {load.reloads} reloads in {seconds / 60:.1f} min; "
        f"{100 * (samples[-1]['cpu'] - samples[0]['cpu']) / max(1e-9, seconds - samples[0]['at']):.0f} % of a core; "
        f"longest delay of the loop {1000 * max(sample['lag'] for sample in samples):.0f} ms; {len(load.problems)} failures"
    )
    return "\n".join([*lines, *load.problems[:5]])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.soak", description="A steady load, and whether the gateway stays level."
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--svg", type=Path, default=BUILD / "soak.svg", help="where the plot goes")
    arguments = parser.parse_args()
    if arguments.minutes < 0.5:
        parser.error("half a minute is the least")
    signal.signal(signal.SIGTERM, _stop)
    BUILD.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="soak-", dir=BUILD))
    stage = Stage(work=work, quick=True, say=lambda words: None)
    try:
        with stage.model() as model:
            home = stage.home(model)
            with stage.gateway(home) as gateway:
                load = Load(gateway.url, TOKEN, home / "ostiary.json5")
                samples = asyncio.run(sampled(gateway, load, arguments.minutes))
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(work, ignore_errors=True)
    series = judged(samples, arguments.minutes)
    print(report(series, load, samples))
    arguments.svg.write_text(as_svg(series))
    print(f"plot: {arguments.svg}")
    return 0 if all(each.is_level for each in series) and not load.problems else 1


def _say(sample: dict[str, float], load: Load) -> None:
    end = "" if sys.stderr.isatty() else "\n"
    words = f"{sample['at']:5.0f} s  {sample['memory']:6.1f} MB  {sample['files']:3.0f} files  {sample['threads']:2.0f} threads  "
    sys.stderr.write(f"{chr(13) if not end else ''}{words}{sample['tasks']:3.0f} tasks  {load.turns:6d} turns{end}")
    sys.stderr.flush()


def _stop(number: int, frame: object) -> None:
    """As Ctrl-C does: what was started is ended on the way out."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
