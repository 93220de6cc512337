"""Feeding messages to a house, killing it, and checking what the world and the journal say afterwards."""

import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from ostiary.adapters.store.sqlite import open_reader
from ostiary.contracts.events import ModelAnswered, Recorded, ToolIntended, ToolResulted, TurnEnded, TurnStarted
from ostiary.contracts.identity import SessionKey
from tests.crash.child import ACKNOWLEDGED, KEY, PARTS, part
from tests.crash.ledger import Effect, Ledger

PATIENCE = 30.0
SESSIONS = (("idem", "ann"), ("idem", "bob"), ("plain", "cyd"), ("blocks", "dan"))
PLANS = ("", "look", "spend", "look,spend", "spend,look,spend", "look,pay")


class Zygote:
    """Forks houses; `preload` names a library that is put under them."""

    def __init__(self, preload: str = "", environ: dict[str, str] | None = None) -> None:
        env = {**os.environ, **(environ or {}), "PYTHONPATH": os.pathsep.join(sys.path)}
        if preload:
            env["LD_PRELOAD"] = preload
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.zygote"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )

    def fork(self, order: dict[str, object]) -> int:
        return int(self._ask(order))

    def wait(self, pid: int) -> int:
        return int(self._ask({"wait": pid}).split()[1])

    def _ask(self, line: dict[str, object]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass
class Message:
    id: str
    channel: str
    sender: str
    text: str
    accepted: bool = False
    answered: bool = False
    told_at: float = 0.0

    def line(self) -> bytes:
        told = {"id": self.id, "channel": self.channel, "sender": self.sender, "text": self.text}
        return json.dumps(told).encode() + b"\n"


@dataclass
class Seen:
    """What the journal had recorded when a life ended: none of it may happen again in a later one."""

    answers: set[tuple[str, int]] = field(default_factory=set)
    results: set[str] = field(default_factory=set)
    intents: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    fates: dict[str, str] = field(default_factory=dict)
    after: dict[SessionKey, int] = field(default_factory=dict)
    turn_of: dict[str, str] = field(default_factory=dict)


class World:
    """One home over many lives."""

    def __init__(self, home: Path, zygote: Zygote, *, pause: float = 0.0) -> None:
        self.home = home
        self.zygote = zygote
        self.pause = pause
        self.ledger = Ledger(home / "ledger")
        self.messages: dict[str, Message] = {}
        self._unanswered: dict[str, Message] = {}
        self.seen = Seen()
        self.violations: list[str] = []
        self.kills = Counter[str]()
        self.lives = 0
        self._checked = 0
        self._born = 0
        self._answers: Counter[str] = Counter()
        self.is_ready = False
        self._pid = 0
        self._buffer = b""
        self._agreed_at = 0.0
        self._listener = socket.socket(socket.AF_UNIX)
        self._control: socket.socket | None = None

    @contextmanager
    def open(self) -> Iterator["World"]:
        self._listener.bind(str(self.home / "control"))
        self._listener.listen(4)
        with self.ledger:
            try:
                yield self
            finally:
                self.end()
                self._listener.close()

    def begin(self, kill_at: int = 0) -> None:
        self.lives += 1
        self._born = self.ledger.count()
        self.is_ready = False
        self.ledger.life = self.lives
        self._buffer = b""
        self._pid = self.zygote.fork({"home": str(self.home), "kill_at": kill_at, "pause": self.pause})
        self._listener.settimeout(PATIENCE)
        try:
            self._control, _ = self._listener.accept()
        except TimeoutError:
            raise AssertionError(f"life {self.lives} did not begin") from None
        for message in self._unanswered.values():
            message.told_at = 0.0

    def say(self, channel: str, sender: str, plan: str) -> Message:
        name = f"m{len(self.messages) + 1}"
        message = Message(name, channel, sender, f"{name} plan={plan}" + (" long" if channel == "blocks" else ""))
        self.messages[name] = message
        self._unanswered[name] = message
        return message

    def until_ready(self) -> None:
        """The store exists from here on; a kill before that finds nothing to remember."""
        until = time.monotonic() + PATIENCE
        while not self.is_ready:
            self.look(0.01)
            assert time.monotonic() < until, "the first life never began to serve"

    def tell(self) -> None:
        """Deliver what was never acknowledged, as a platform does: again and again."""
        now = time.monotonic()
        for message in self._unanswered.values():
            if not message.accepted and now - message.told_at > 0.2 and self._control is not None:
                message.told_at = now
                try:
                    self._control.sendall(message.line())
                except OSError:
                    return
        self._agree(now)

    def _agree(self, now: float) -> None:
        """A person says yes to whatever is asked, as long as somebody waits for it."""
        is_asked = any("pay" in message.text for message in self._unanswered.values())
        if not is_asked or self._control is None or now - self._agreed_at < 0.02:
            return
        self._agreed_at = now
        try:
            self._control.sendall(b'{"agree": true}\n')
        except OSError:
            return

    def look(self, seconds: float) -> None:
        """Take in acknowledgements and replies for a while."""
        until = time.monotonic() + seconds
        while True:
            rest = until - time.monotonic()
            if self._control is not None and select.select([self._control], [], [], max(0.0, min(rest, 0.005)))[0]:
                self._hear()
            self._count_replies()
            if rest <= 0:
                return

    def _hear(self) -> None:
        assert self._control is not None
        try:
            chunk = self._control.recv(65536)
        except OSError:
            chunk = b""
        if not chunk:
            self._control.close()
            self._control = None
            return
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        for line in lines:
            told = json.loads(line)
            self.is_ready = self.is_ready or told["status"] == "ready"
            if told.get("status") in ("accepted", "duplicate"):
                self.messages[told["id"]].accepted = True

    def _count_replies(self) -> None:
        fresh = self.ledger.since(self._checked)
        self._checked += len(fresh)
        for effect in fresh:
            if effect.kind == "send":
                name = str(effect.fields["text"]).split()[2]
                if self.messages[name].channel == "blocks" and effect.fields["text"] != part(name, PARTS):
                    continue
                self.messages[name].answered = True
                self._unanswered.pop(name, None)

    @property
    def is_dead(self) -> bool:
        return self._control is None

    @property
    def open_messages(self) -> list[Message]:
        return list(self._unanswered.values())

    def until_answered(self) -> None:
        """Feed and wait; a house that dies at its point is begun anew, and what it had recorded must not happen again."""
        until = time.monotonic() + PATIENCE
        while self.open_messages:
            self.tell()
            self.look(0.002)
            if self.is_dead:
                self.mourn()
                self.next_life()
            assert time.monotonic() < until, f"never answered: {[m.id for m in self.open_messages]}"

    def acknowledge(self) -> None:
        """What has been read counts as acknowledged: from here on no tear may reach it."""
        log = self.home / "store.db-wal"
        size = log.stat().st_size if log.exists() else 0
        (self.home / ACKNOWLEDGED).write_bytes(size.to_bytes(8))

    def next_life(self) -> str:
        """Check the last one against what was recorded before it, remember, begin; gives the phase of the death."""
        self.check_not_repeated()
        phase = self.remember()
        self.acknowledge()
        self.begin()
        return phase

    def kill(self) -> bool:
        """SIGKILL. True if it struck while a message was accepted and not yet answered."""
        os.kill(self._pid, signal.SIGKILL)
        self.mourn()
        return any(message.accepted for message in self._unanswered.values())

    def tear_log(self, chance: random.Random) -> bool:
        """Cut or soil the tail of the write-ahead log behind the last acknowledged commit, as a lost page does."""
        log, acknowledged = self.home / "store.db-wal", self.home / ACKNOWLEDGED
        if not log.exists() or not acknowledged.exists():
            return False
        size, safe = log.stat().st_size, int.from_bytes(acknowledged.read_bytes())
        with log.open("r+b") as file:
            if size > safe:
                file.truncate(chance.randint(safe, size))
            file.seek(0, os.SEEK_END)
            file.write(chance.randbytes(chance.randint(1, 6000)))
        return True

    def mourn(self) -> None:
        """After a death: take in the last words, then remember what the journal holds."""
        status = self.zygote.wait(self._pid)
        assert os.WIFSIGNALED(status), f"life {self.lives} ended with {status}"
        while self._control is not None:
            self._hear()
        self.ledger.hear_out()
        self._count_replies()
        self._pid = 0

    def remember(self) -> str:
        """Read what is recorded now; gives the phase the house was in."""
        return anyio.run(self._remember)

    async def _remember(self) -> str:
        phase = "idle"
        async with open_reader(self.home / "store.db", KEY) as reader:
            for record in await reader.sessions(limit=1000):
                await self._take(record.key, await reader.read(record.key, after=self.seen.after.get(record.key, 0)))
            pending = await reader.pending()
            for turn in pending.turns:
                await self._take(turn.session, await reader.read(turn.session, after=self.seen.after.get(turn.session, 0)))
                phase = _phase(await reader.read(turn.session, turn=turn.turn))
            if phase == "idle" and pending.outbox:
                phase = "outbox"
            elif phase == "idle" and pending.inbox:
                phase = "inbox"
        return phase

    async def _take(self, key: SessionKey, events: tuple[Recorded, ...]) -> None:
        seen = self.seen
        for recorded in events:
            seen.after[key] = recorded.seq
            match recorded.event:
                case TurnStarted(inputs=inputs):
                    seen.turn_of[recorded.turn] = inputs[0].parts[0].text.split()[0]  # type: ignore[union-attr]
                case ModelAnswered(step=step):
                    seen.answers.add((seen.turn_of[recorded.turn], step))
                case ToolIntended(call_id=call_id):
                    seen.intents.add(call_id)
                case ToolResulted(call_id=call_id, fate=fate):
                    seen.results.add(call_id)
                    seen.fates[call_id] = fate
                case TurnEnded():
                    seen.ended.add(seen.turn_of[recorded.turn])
                case _:
                    pass

    def check_not_repeated(self) -> None:
        """Nothing that was recorded when the life before ended happened in this one. Call before `remember`."""
        for effect in self.ledger.since(self._born):
            fields = effect.fields
            if effect.kind == "model" and (fields["message"], fields["step"]) in self.seen.answers:
                self.violations.append(f"a recorded answer was asked for again: {fields}")
            if effect.kind == "tool" and str(fields["key"]).rsplit(":", 1)[1] in self.seen.results:
                self.violations.append(f"a recorded tool effect was repeated: {fields}")

    def check_whole(self) -> None:
        """The final account."""
        spent = Counter(str(e.fields["key"]) for e in self.ledger.of("tool") if e.fields["name"] != "look")
        self.violations += [f"{key} was spent {number} times" for key, number in spent.items() if number > 1]
        sends: dict[str, list[Effect]] = {}
        for effect in self.ledger.of("send"):
            sends.setdefault(str(effect.fields["text"]).split()[2], []).append(effect)
        for name, message in self.messages.items():
            found = sends.get(name, [])
            replies = {str(effect.fields["key"]): str(effect.fields["text"]) for effect in found}
            wanted = [part(name, number + 1) for number in range(PARTS)]
            if message.channel == "blocks" and list(replies.values()) != wanted:
                self.violations.append(f"{name} arrived as {replies}")
            if message.channel != "blocks" and len(replies) != 1:
                self.violations.append(f"{name} has {len(replies)} different replies")
            unmarked = Counter(str(effect.fields["key"]) for effect in found if not effect.fields["marked"])
            if message.channel != "idem" and max(unmarked.values(), default=0) > 1:
                self.violations.append(f"{name} was delivered twice and not marked")
        self._check_allowed()
        for call_id in self.seen.intents - self.seen.results:
            self.violations.append(f"{call_id} was begun and never got a result")

    def _check_allowed(self) -> None:
        """Nothing that needs a yes happened before one, and no yes was lost: what was asked ran, or may have."""
        allowed: set[str] = set()
        for effect in self.ledger.since(0):
            if effect.kind == "allow":
                allowed.add(str(effect.fields["call"]))
            if effect.kind == "tool" and effect.fields["name"] == "pay":
                call_id = str(effect.fields["key"]).rsplit(":", 1)[1]
                self.violations += [] if call_id in allowed else [f"{call_id} was paid and nobody had allowed it"]
        for call_id in {str(effect.fields["call"]) for effect in self.ledger.of("allowed")}:
            if self.seen.fates.get(call_id) not in ("done", "interrupted"):
                self.violations.append(f"{call_id} was allowed and became {self.seen.fates.get(call_id)}")

    def check_journal(self) -> None:
        anyio.run(self._check_journal)

    async def _check_journal(self) -> None:
        async with open_reader(self.home / "store.db", KEY) as reader:
            for record in await reader.sessions(limit=1000):
                broken = await reader.verify(record.key)
                if broken:
                    self.violations.append(f"{record.key}: {broken}")
            pending = await reader.pending()
            if pending.turns or pending.inbox:
                self.violations.append(f"left over: {pending.turns} {pending.inbox}")

    def stop(self) -> int:
        """Let the house end by itself; gives how many points its last life passed."""
        while True:
            self._ask_to_stop()
            status = self.zygote.wait(self._pid)
            self._pid = 0
            if status == 0:
                return int(str(self.ledger.of("points")[-1].fields["passed"]))
            assert os.WIFSIGNALED(status), f"the house ended with {status}"
            self.next_life()

    def _ask_to_stop(self) -> None:
        until = time.monotonic() + PATIENCE
        try:
            assert self._control is not None
            self._control.sendall(b'{"stop": true}\n')
        except OSError:
            self._control = None
        while self._control is not None and time.monotonic() < until:
            self.look(0.002)

    def end(self) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            self.zygote.wait(self._pid)
            self._pid = 0
        if self._control is not None:
            self._control.close()
            self._control = None


def _phase(events: tuple[Recorded, ...]) -> str:
    match events[-1].event:
        case ToolIntended():
            return "tool"
        case ToolResulted():
            return "between steps"
        case ModelAnswered():
            return "answered"
        case _:
            return "model"
