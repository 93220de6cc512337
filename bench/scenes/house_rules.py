"""What the house rules cost: a decision, the fence, a command in a turn, the search for secrets, an audit entry."""

import asyncio
import json
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from bench.policy import policy_row
from bench.processes import Broken
from bench.rows import Row
from bench.scenes.tools import tool_turns
from bench.stage import Ran, Stage
from bench.stats import median

if TYPE_CHECKING:
    from ostiary.core.policy.secrets import Guard

_SCANNED = 10_000_000


def house_rules(stage: Stage) -> Iterator[Row]:
    stage.say("rules")
    yield policy_row()
    yield from _scanning(stage)
    yield from _auditing(stage)
    yield from _fence(stage)
    yield from _commands(stage)


def _scanning(stage: Stage) -> Iterator[Row]:
    from ostiary.core.policy.secrets import Guard

    # As keys are: random letters and digits behind a provider's prefix.
    known = tuple(f"sk-{b64encode(sha256(bytes([number])).digest(), b'xy').decode().rstrip('=')}" for number in range(50))
    guard = Guard(lambda: known)
    source = Path(__file__).parents[2] / "src"
    ordinary = "\n".join(path.read_text() for path in sorted(source.rglob("*.py")))
    yield Row("secret_scan", "search for secrets, 10 MB of source, 50 known ones", "MB/s", _rates(stage, guard, ordinary))
    # Names of secrets with a value that is none: every place is worth a look.
    yield Row("secret_scan_hostile", "search for secrets, 10 MB of token=1", "MB/s", _rates(stage, guard, "token=1 "))


def _rates(stage: Stage, guard: "Guard", piece: str) -> tuple[float, ...]:
    text = (piece * (_SCANNED // len(piece) + 1))[:_SCANNED]
    rates = []
    for _ in range(stage.rounds):
        began = time.process_time()
        guard.redact(text)
        rates.append(len(text) / 1e6 / (time.process_time() - began))
    return tuple(rates)


def _auditing(stage: Stage) -> Iterator[Row]:
    """The same commits with and without an entry: what the entry adds to its turn's own commit."""
    from ostiary.adapters.store.sqlite import open_store
    from ostiary.assembly.machine import SystemClock
    from ostiary.contracts.store import Audit, SetValue

    async def run(with_audit: bool, path: Path) -> float:
        async with open_store(path, bytes(32), clock=SystemClock()) as store:
            began = time.process_time()
            for number in range(count):
                value = SetValue(space="bench", key=str(number), value=b"x" * 200)
                entry = Audit(
                    at=0.0, kind="tool.decided", actor="bench", subject="exec", outcome="allow", detail={"turn": "t" * 30}
                )
                await store.commit([value, entry] if with_audit else [value])
            return (time.process_time() - began) * 1000 / count

    count = 300 if stage.quick else 1000
    values = []
    for _ in range(stage.rounds):
        with tempfile.TemporaryDirectory(dir=stage.work) as place:
            plain = asyncio.run(run(False, Path(place) / "plain.db"))
            values.append(max(0.0, asyncio.run(run(True, Path(place) / "audit.db")) - plain))
    yield Row("audit", "an audit entry in a commit, CPU added", "ms", tuple(values))


def _fence(stage: Stage) -> Iterator[Row]:
    cold = [asyncio.run(_true(stage, fork_server=False)) for _ in range(stage.rounds)]
    warm = [asyncio.run(_true(stage, fork_server=True)) for _ in range(stage.rounds)]
    yield Row("fence_cold", "sandboxed true, started anew, p50", "ms", tuple(cold))
    yield Row("fence_warm", "sandboxed true, through the fork server, p50", "ms", tuple(warm))


async def _true(stage: Stage, *, fork_server: bool) -> float:
    from ostiary.adapters.sandbox.bubblewrap import Bubblewrap
    from ostiary.contracts.sandbox import Command, Mount, SandboxProfile

    with tempfile.TemporaryDirectory(prefix="fence-") as place:
        work = Path(place) / "work"
        work.mkdir()
        sandbox = Bubblewrap(state=Path(place) / "state", fork_server=fork_server)
        profile = SandboxProfile(mounts=(Mount(source=str(work), target="/workspace", writable=True),), workdir="/workspace")
        command = Command(argv=("/bin/true",))
        times = []
        try:
            await sandbox.probe()
            for _ in range(5 + (20 if stage.quick else 100)):
                began = time.perf_counter()
                ended = await sandbox.run(command, profile)
                times.append((time.perf_counter() - began) * 1000)
                if ended.code != 0:
                    raise Broken(f"true ended with {ended}")
        finally:
            await sandbox.aclose()
        return median(times[5:])


def _commands(stage: Stage) -> Iterator[Row]:
    """Plain turns and turns with one command on one gateway, in alternation."""
    script = json.dumps({"command": "true"})
    rules = {
        # The one posture in which nobody is asked: a bench has no hands to say yes with.
        "posture": "open",
        "gateway": {"http": {"endpoints": {"chatCompletions": {"enabled": True}}}},
        "agents": {"defaults": {"sandbox": {"mode": "all", "workspaceAccess": "rw"}}},
    }
    plain: list[Ran] = []
    acting = list(tool_turns(stage, "exec", script, rules, plain))
    added = tuple(one.cpu_ms - other.cpu_ms for one, other in zip(acting, plain, strict=True))
    yield Row("exec_cpu", "CPU a command adds to a plain turn", "ms", added)
    yield Row("exec_p50", "wall time of a turn with one command, p50", "ms", tuple(1000 * median(ran.all) for ran in acting))
