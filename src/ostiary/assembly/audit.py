"""The audit log as a house keeps it: a way to note what happened, and checkpoints of its head outside the database."""

import asyncio
import json
import logging
import os
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from ostiary.assembly.vault import Reader, VaultStore
from ostiary.contracts.audit import AuditEntry, AuditHead
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Audit, SetValue

log = logging.getLogger("ostiary.audit")

HEADS = "audit.heads"
USED = "credential.used"
SPACE = "audit"
EVERY_ENTRIES = 100
EVERY_SECONDS = 60.0
_ROOM = 2000
_BATCH = 100
_LAST_SECONDS = 5.0
_REMEMBERED = 1000
_LONGEST = 400
_LONGEST_LINE = 4096


class Note(Protocol):
    """Put a line into the audit log, soon and without waiting. `outcome` is one word; `detail` is plain data, no secret."""

    def __call__(
        self, kind: str, actor: str, subject: str, outcome: str, detail: Mapping[str, object] | None = None, /
    ) -> None: ...


def unnoted(kind: str, actor: str, subject: str, outcome: str, detail: Mapping[str, object] | None = None, /) -> None:
    """Where there is no log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """What the file says. `problem` is a sentence about a line that cannot be read."""

    heads: tuple[AuditHead, ...]
    problem: str = ""


def read_checkpoints(path: Path) -> Checkpoints | None:
    """None if there is no file. A last line without its end was cut by a crash and says nothing."""
    try:
        lines = path.read_text("utf-8", "replace").split("\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        return Checkpoints(heads=(), problem=f"The checkpoints {path} cannot be read: {error.strerror}.")
    heads: list[AuditHead] = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            raw = json.loads(line) if line else None
            if raw is not None:
                heads.append(AuditHead(seq=int(raw["seq"]), chain=str(raw["chain"]), at=float(raw["at"])))
        except (ValueError, TypeError, KeyError):
            return Checkpoints(heads=tuple(heads), problem=f"Line {number} of {path} is no checkpoint.")
    return Checkpoints(heads=tuple(heads))


def _append(path: Path, head: AuditHead) -> None:
    line = json.dumps({"at": head.at, "seq": head.seq, "chain": head.chain}).encode() + b"\n"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(handle, 0o600)
        size = os.fstat(handle).st_size
        end = os.pread(handle, _LONGEST_LINE, max(0, size - _LONGEST_LINE))
        if end and not end.endswith(b"\n"):
            # A crash cut the last line; it says nothing.
            os.ftruncate(handle, size - len(end) + end.rfind(b"\n") + 1)
        os.write(handle, line)
        os.fsync(handle)
    finally:
        os.close(handle)


class CheckedAudit:
    """`contracts.audit.AuditLog`, held against the checkpoints in `home` and the note of them in the store."""

    def __init__(self, store: Reader, home: Path) -> None:
        self._store = store
        self._path = home / HEADS

    async def entries(
        self, *, after: int = 0, limit: int = 100, kind: str = "", turn: str = "", newest: bool = False
    ) -> tuple[AuditEntry, ...]:
        return await self._store.audit().entries(after=after, limit=limit, kind=kind, turn=turn, newest=newest)

    async def head(self) -> AuditHead:
        return await self._store.audit().head()

    async def verify(self) -> str:
        noted = await _noted(self._store)
        found = await anyio.to_thread.run_sync(read_checkpoints, self._path)
        heads = (*(found.heads if found else ()), *((noted,) if noted else ()))
        wrong = await self._store.audit(heads).verify()
        if wrong:
            return wrong
        if found is not None and found.problem:
            return found.problem
        if noted is not None and (found is None or not any(head.seq >= noted.seq for head in found.heads)):
            what = "are gone" if found is None else "were cut"
            return f"The checkpoints {self._path} {what}: the store remembers one at entry {noted.seq}."
        return ""


async def _noted(store: Reader) -> AuditHead | None:
    body = await store.value(SPACE, "heads")
    if body is None:
        return None
    try:
        raw = json.loads(body)
        return AuditHead(seq=int(raw["seq"]), chain=str(raw["chain"]), at=float(raw["at"]))
    except (ValueError, TypeError, KeyError):
        return AuditHead(seq=0, chain="", at=0.0)


class Auditor:
    """Notes from everywhere, written in batches; a checkpoint at the start, every 100 entries or 60 s while something comes,
    and at the end. With more than 2,000 notes waiting, further ones are counted and the count is noted."""

    def __init__(self, store: VaultStore, clock: Clock, home: Path) -> None:
        self._store = store
        self._clock = clock
        self._path = home / HEADS
        self._began = clock.now()
        self._waiting: deque[Audit] = deque()
        self._lost = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = anyio.Event()
        self._seq = 0
        self._kept: AuditHead | None = None
        self.log = CheckedAudit(store, home)

    def note(self, kind: str, actor: str, subject: str, outcome: str, detail: Mapping[str, object] | None = None, /) -> None:
        """From any thread. See Note."""
        if len(self._waiting) >= _ROOM:
            self._lost += 1
            return
        # Strangers' names may hold what no text can be made of.
        by, about = (word[:_LONGEST].encode("utf-8", "replace").decode() for word in (actor, subject))
        row = Audit(at=self._clock.now(), kind=kind, actor=by, subject=about, outcome=outcome, detail=detail or {})
        self._waiting.append(row)
        if self._loop is not None:
            with suppress(RuntimeError):
                # After the loop's end nobody writes any more.
                self._loop.call_soon_threadsafe(self._wake.set)

    async def run(self) -> None:
        """Until cancelled; what was noted is then still written, within five seconds."""
        self._loop = asyncio.get_running_loop()
        self._store.on_audit = self._saw
        try:
            await self._begin()
            checked = self._clock.monotonic()
            while True:
                with anyio.move_on_after(EVERY_SECONDS):
                    await self._wake.wait()
                self._wake = anyio.Event()
                await self._write()
                is_late = self._clock.monotonic() - checked >= EVERY_SECONDS
                if self._seq - self._kept_seq >= (1 if is_late else EVERY_ENTRIES):
                    await self._checkpoint()
                if is_late:
                    checked = self._clock.monotonic()
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_LAST_SECONDS):
                await self._write()
                if self._seq > self._kept_seq:
                    await self._checkpoint()
            self._loop = None
            self._store.on_audit = None

    @property
    def _kept_seq(self) -> int:
        return self._kept.seq if self._kept is not None else 0

    def _saw(self, seq: int) -> None:
        self._seq = max(self._seq, seq)
        if self._seq - self._kept_seq >= EVERY_ENTRIES:
            self._wake.set()

    async def _begin(self) -> None:
        """What is wrong with the checkpoints is said before they are gone on with."""
        try:
            head, noted = await self._store.audit().head(), await _noted(self._store)
            earlier = [entry for entry in await self._store.audit().entries(limit=1) if entry.at < self._began]
            found = await anyio.to_thread.run_sync(read_checkpoints, self._path)
        except OstiaryError as error:
            log.error("the audit log cannot be read: %s", error)
            return
        self._seq = head.seq
        kept = max((each.seq for each in found.heads), default=0) if found else 0
        remembered = noted.seq if noted is not None else 0
        last = max(kept, remembered)
        if noted is not None and kept < remembered:
            lost = "gone" if found is None else "cut"
            log.error("%s is %s; the store remembers a checkpoint at entry %d", self._path, lost, noted.seq)
            self.note("audit.checkpoints", "house", HEADS, lost, {"entry": noted.seq})
        elif noted is None and found is None and earlier:
            # Commands write entries before the first start, too; whoever removed both traces of a checkpoint leaves this one.
            self.note("audit.checkpoints", "house", HEADS, "none", {"entry": head.seq})
        if last > head.seq:
            log.error("the audit log ends at entry %d, and there is a checkpoint at entry %d", head.seq, last)
            self.note("audit.checkpoints", "house", "audit", "cut", {"entry": head.seq, "checkpoint": last})
        await self._write()
        await self._checkpoint()

    async def _write(self) -> None:
        """Nothing is lost while the store is away: it stays in the queue."""
        while self._waiting or self._lost:
            rows = [self._waiting[place] for place in range(min(_BATCH, len(self._waiting)))]
            lost = self._lost
            if lost and len(rows) < _BATCH:
                detail = {"lost": lost}
                rows.append(
                    Audit(at=self._clock.now(), kind="audit.lost", actor="house", subject="notes", outcome="lost", detail=detail)
                )
            try:
                await self._commit(rows)
            except OstiaryError as error:
                log.error("notes were not written to the audit log yet: %s", error)
                return
            told = rows[-1].kind == "audit.lost"
            for _ in range(len(rows) - told):
                self._waiting.popleft()
            self._lost -= lost if told else 0

    async def _commit(self, rows: list[Audit]) -> None:
        """All at once; if one of them can never be stored, each by itself and that one not."""
        try:
            given = await self._store.commit(rows)
        except BadInput as error:
            if len(rows) > 1:
                for row in rows:
                    await self._commit([row])
                return
            log.error("a note of kind %s does not fit the audit log: %s", rows[0].kind, error)
            return
        self._seq = max(self._seq, *given)

    async def _checkpoint(self) -> None:
        try:
            head = await self._store.audit().head()
            head = AuditHead(seq=head.seq, chain=head.chain, at=self._clock.now())
            await anyio.to_thread.run_sync(_append, self._path, head)
            body = json.dumps({"at": head.at, "seq": head.seq, "chain": head.chain}).encode()
            await self._store.commit([SetValue(space=SPACE, key="heads", value=body)])
        except OSError as error:
            log.error("the checkpoint %s could not be written: %s", self._path, error.strerror)
        except OstiaryError as error:
            log.error("the checkpoint of the audit log could not be written: %s", error)
        else:
            self._kept = head


def lending_noted(note: Note, monotonic: Callable[[], float]) -> Callable[[str, str], None]:
    """To be called with a credential's name and what it is lent for; the same pair is noted once an hour."""
    seldom = Seldom(note, monotonic, kinds=(USED,))

    def lent(name: str, purpose: str) -> None:
        seldom(USED, purpose, name, "lent")

    return lent


class Seldom:
    """Things of these `kinds` are noted once in `seconds`: whoever comes in with every request came in once."""

    def __init__(
        self, note: Note, monotonic: Callable[[], float], seconds: float = 3600.0, kinds: Collection[str] = ("login",)
    ) -> None:
        self._note = note
        self._kinds = frozenset(kinds)
        self._monotonic = monotonic
        self._seconds = seconds
        self._seen: dict[tuple[str, str, str, str], float] = {}

    def __call__(self, kind: str, actor: str, subject: str, outcome: str, detail: Mapping[str, object] | None = None, /) -> None:
        key, now = (kind, actor, subject, outcome), self._monotonic()
        before = self._seen.get(key) if kind in self._kinds else None
        if before is not None and now - before < self._seconds:
            return
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[key] = now
        self._note(kind, actor, subject, outcome, detail)
