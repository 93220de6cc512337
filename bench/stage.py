"""What every scene is played on: a state directory on a real disk, the gateway as a user starts it, a model, a load."""

import json
import os
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.machine import cpu_seconds
from bench.processes import Broken, Child, finish, last_lines, running
from ostiary.assembly.postures import merge

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"
TOKEN = "bench-only-0123456789abcdef"
ANSWER = "word9"
_LOAD_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Ran:
    """What a load came to. `cpu` is the gateway's, in seconds; the shares are of one core."""

    turns: list[list[float]]
    wall: float
    cpu: float
    load_share: float

    @property
    def all(self) -> list[float]:
        return [seconds for session in self.turns for seconds in session]

    @property
    def rate(self) -> float:
        return len(self.all) / self.wall

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cpu / len(self.all)


@dataclass(slots=True)
class Stage:
    """`say` shows progress. `shares` gathers what the load generator itself used."""

    work: Path
    quick: bool
    say: Callable[[str], None]
    shares: list[float] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        return 1 if self.quick else 3

    @property
    def ostiary(self) -> Path:
        """The command beside this interpreter, as `make setup` installs it."""
        return Path(sys.executable).parent / "ostiary"

    @property
    def log(self) -> Path:
        """What the gateways wrote to standard error."""
        return self.work / "gateway.log"

    @contextmanager
    def model(self, *, delay_ms: int = 0) -> Iterator[str]:
        """A model that answers at once or after a while; gives its base URL."""
        command = [sys.executable, "-m", "ostiary.kit.model_servers.instant", "--delay-ms", str(delay_ms)]
        with running(command, own_environ(), self.work / "model.log") as child:
            yield child.url

    @contextmanager
    def scripted_model(self, tool: str = "", arguments: str = "{}") -> Iterator[str]:
        command = [sys.executable, "-m", "bench.scripted_model", "--tool", tool, "--arguments", arguments]
        with running(command, own_environ(), self.work / "model.log") as child:
            yield child.url

    def home(self, model_url: str, *, whole_history: bool = False, rules: Mapping[str, object] | None = None) -> Path:
        """A new state directory with everything at its default but the model and the number of turns at once.

        The default posture sends the last 50 messages. `whole_history` sends all of them, as the peers do. `rules` are
        further keys.
        """
        home = Path(tempfile.mkdtemp(prefix="home-", dir=self.work))
        provider = {
            "baseUrl": model_url,
            "apiKey": "${BENCH_KEY}",
            "api": "openai-completions",
            "models": [{"id": "instant", "name": "Instant", "contextWindow": 1_000_000}],
        }
        config: dict[str, object] = {
            "gateway": {"auth": {"token": "${BENCH_TOKEN}"}},
            "agents": {"defaults": {"maxConcurrent": 256, "model": {"primary": "bench/instant"}}},
            "models": {"providers": {"bench": provider}},
        }
        config |= {"session": {"historyLimit": 10_000}} if whole_history else {}
        config = merge(config, rules or {})
        place = home / "ostiary.json5"
        place.write_text(json.dumps(config, indent=2))
        place.chmod(0o600)
        return home

    @contextmanager
    def gateway(self, home: Path) -> Iterator[Child]:
        with running([self.ostiary, "up", "--port", "0"], _environ(home), self.log) as child:
            yield child

    def command(self, home: Path, *words: str | Path) -> str:
        """Run `ostiary ...` to its end and give what it printed. Raises Broken."""
        return finish([self.ostiary, *words], _environ(home), seconds=30)

    def load(self, gateway: Child, *, sessions: int, turns: int, prefix: str, expect: str = ANSWER, streams: bool = False) -> Ran:
        """Raises Broken if a single turn is not answered."""
        command: list[str] = [sys.executable, "-m", "bench.load", "--url", gateway.url, "--prefix", prefix, "--expect", expect]
        command += ["--sessions", str(sessions), "--turns", str(turns), "--seconds", str(_LOAD_SECONDS)]
        command += ["--stream"] if streams else []
        before = cpu_seconds(gateway.pid)
        try:
            result = json.loads(finish(command, own_environ(), seconds=_LOAD_SECONDS + 30))
        except Broken as error:
            raise Broken(f"{error}; the gateway said: {last_lines(self.log.read_text())}") from None
        cpu = cpu_seconds(gateway.pid) - before
        share = result["cpu"] / result["wall"]
        self.shares.append(share)
        return Ran(result["turns"], result["wall"], cpu, share)

    def turn(self, gateway: Child, user: str = "first") -> None:
        """One turn from this very process, without starting another. Raises Broken."""
        body = json.dumps({"model": "ostiary", "user": user, "messages": [{"role": "user", "content": "hi"}]}).encode()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{gateway.url}/v1/chat/completions", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                answer = json.load(response)
        except OSError as error:
            raise Broken(f"the first turn failed: {error}") from error
        if not answer["choices"][0]["message"]["content"]:
            raise Broken("the first turn had no answer")


def get(url: str) -> bytes:
    """Of one of the bench's own servers on loopback. Raises Broken."""
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            content: bytes = response.read()
            return content
    except OSError as error:
        raise Broken(f"{url}: {error}") from error


def _environ(home: Path) -> dict[str, str]:
    """The caller's, without settings of another installation and without proxies: everything stays on loopback."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OSTIARY_") and "proxy" not in name.lower()}
    return kept | {"BENCH_TOKEN": TOKEN, "BENCH_KEY": "sk-bench-0123456789abcdef", "OSTIARY_HOME": str(home)}


def own_environ() -> dict[str, str]:
    """For the bench's own programs."""
    return os.environ | {"BENCH_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
