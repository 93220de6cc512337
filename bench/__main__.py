"""`python -m bench [--quick] [--json FILE] [--only NAME]`: measure, then print one table."""

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.machine import Moment, moment, others
from bench.processes import Broken
from bench.rows import Row, as_data, as_table, failures
from bench.scenes import SCENES
from bench.stage import BUILD, Stage

_BUSY = 10.0


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, _stop)
    # The disk of the working tree, since a temporary directory may be memory, where a durable commit costs nothing.
    BUILD.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="run-", dir=BUILD))
    stage = Stage(work=work, quick=arguments.quick, say=_say)
    begin = moment()
    try:
        rows = [row for name in arguments.only or SCENES for row in _play(name, stage)]
    except KeyboardInterrupt:
        _say("stopped", last=True)
        return 130
    finally:
        shutil.rmtree(work, ignore_errors=True)
    rows += _circumstances(stage, begin)
    _say(f"done in {time.monotonic() - begin.wall:.0f} s", last=True)
    print(as_table(rows))
    if failures(rows):
        print(f"\n{failures(rows)}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(_report(rows, quick=arguments.quick), indent=2) + "\n")
    return 1 if any(row.verdict == "failed" for row in rows) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the assembled gateway against its bars.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: under a minute, rougher figures")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement here")
    parser.add_argument("--only", action="append", choices=list(SCENES), help="one scene alone; may be given again")
    return parser.parse_args()


def _play(name: str, stage: Stage) -> list[Row]:
    """A scene that breaks loses its remaining rows, not the others'. Rows measured on a busy machine say so."""
    rows: list[Row] = []
    begin = moment()
    try:
        rows.extend(SCENES[name](stage))
    except Broken as error:
        rows.append(Row(f"{name}_failed", name, "", (), str(error)))
    share = others(begin, moment(), os.cpu_count() or 1)
    return [_noted(row, share) for row in rows] if share >= _BUSY else rows


def _noted(row: Row, share: float) -> Row:
    words = f"others used {share:.0f} % of the machine"
    return replace(row, note=f"{row.note}; {words}" if row.note else words)


def _circumstances(stage: Stage, begin: Moment) -> list[Row]:
    """How far to believe the figures above."""
    cores = os.cpu_count() or 1
    busy = Row("others", "CPU used by other programs meanwhile", "% of the machine", (others(begin, moment(), cores),))
    if not stage.shares:
        return [busy]
    share = Row("load_share", "the load generator's own CPU, at most", "% of a core", (100 * max(stage.shares),))
    return [share, busy]


def _report(rows: list[Row], *, quick: bool) -> dict[str, Any]:
    machine = {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
    return {"machine": machine, "quick": quick, "rows": as_data(rows)}


def _say(words: str, *, last: bool = False) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{words}" + ("\n" if last else ""))
    else:
        sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
