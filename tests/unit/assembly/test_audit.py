"""The audit log as a house keeps it: notes, checkpoints, and what is seen when somebody was at them."""

import json
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.adapters.store.sqlite.connection import connect_writer
from ostiary.assembly import audit
from ostiary.assembly.audit import HEADS, Auditor, CheckedAudit, Seldom, lending_noted, read_checkpoints
from ostiary.contracts.errors import StoreUnavailable
from ostiary.contracts.store import Audit, DeleteValue
from ostiary.kit.clock import ManualClock

KEY = bytes(range(32))
Run = Callable[[], AbstractAsyncContextManager[Auditor]]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as opened:
        yield opened


@pytest.fixture
def running(store: SqliteStore, tmp_path: Path) -> Run:
    """An auditor that runs; when the context is left it has ended as a stopping house ends it."""

    @asynccontextmanager
    async def run() -> AsyncIterator[Auditor]:
        auditor = Auditor(store, ManualClock(), tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(auditor.run)
            with anyio.fail_after(5):
                while not (tmp_path / HEADS).exists():
                    await anyio.lowlevel.checkpoint()
            yield auditor
            group.cancel_scope.cancel()

    return run


def heads(home: Path) -> list[int]:
    found = read_checkpoints(home / HEADS)
    assert found is not None
    return [head.seq for head in found.heads]


def row(subject: str = "exec") -> Audit:
    return Audit(at=1.0, kind="tool.called", actor="owner", subject=subject, outcome="ok")


def tamper(home: Path, sql: str) -> None:
    connection = connect_writer(home / "store.db", KEY)
    connection.execute(sql).fetchall()
    connection.close()


async def test_a_checkpoint_is_written_at_the_start_and_at_the_end(running: Run, tmp_path: Path) -> None:
    async with running() as auditor:
        auditor.note("login", "browser:1", "browser", "ok")
    assert heads(tmp_path) == [0, 1]
    assert stat.S_IMODE((tmp_path / HEADS).stat().st_mode) == 0o600


async def test_a_checkpoint_is_written_after_a_hundred_entries_of_whomever(
    running: Run, store: SqliteStore, tmp_path: Path
) -> None:
    async with running():
        await store.commit([row() for _ in range(100)])
        with anyio.fail_after(5):
            while heads(tmp_path)[-1] != 100:
                await anyio.lowlevel.checkpoint()
    assert heads(tmp_path) == [0, 100]


async def test_notes_are_written_in_order_with_what_they_tell(running: Run) -> None:
    async with running() as auditor:
        auditor.note("login", "token", "token", "ok")
        auditor.note("device.revoked", "owner", "d1", "revoked", {"why": "lost"})
    found = await auditor.log.entries()
    assert [(each.kind, each.actor, each.subject, each.outcome) for each in found] == [
        ("login", "token", "token", "ok"),
        ("device.revoked", "owner", "d1", "revoked"),
    ]
    assert found[1].detail == {"why": "lost"}


async def test_a_note_from_another_thread_wakes_the_auditor(running: Run) -> None:
    async with running() as auditor:
        await anyio.to_thread.run_sync(auditor.note, "login", "a", "b", "ok")
        with anyio.fail_after(5):
            while not await auditor.log.entries():
                await anyio.lowlevel.checkpoint()
        assert (await auditor.log.head()).seq == 1


async def test_a_strangers_name_that_is_no_text_is_noted_all_the_same(running: Run) -> None:
    async with running() as auditor:
        auditor.note("device.asked", "1.2.3.4", "\ud800name" + "x" * 1000, "waiting")
    (entry,) = await auditor.log.entries()
    assert entry.subject.startswith("?name")
    assert len(entry.subject) == 400


async def test_a_note_that_can_never_be_stored_does_not_hold_up_the_others(running: Run) -> None:
    async with running() as auditor:
        auditor.note("a", "x", "x", "ok")
        auditor.note("b", "x", "x", "ok", {"what": object()})
        auditor.note("c", "x", "x", "ok")
    assert [each.kind for each in await auditor.log.entries()] == ["a", "c"]


async def test_what_is_too_much_is_counted(store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_ROOM", 3)
    auditor = Auditor(store, ManualClock(), tmp_path)
    for number in range(5):
        auditor.note("login.failed", f"10.0.0.{number}", "gateway", "refused")
    async with anyio.create_task_group() as group:
        group.start_soon(auditor.run)
        with anyio.fail_after(5):
            while (await auditor.log.head()).seq < 4:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    (last,) = await auditor.log.entries(kind="audit.lost")
    assert last.detail == {"lost": 2}


async def test_notes_wait_while_the_store_is_away(store: SqliteStore, tmp_path: Path) -> None:
    auditor = Auditor(store, ManualClock(), tmp_path)
    auditor.note("login", "a", "b", "ok")
    commit = store.commit

    async def refuse(*args: object, **kwargs: object) -> tuple[int, ...]:
        raise StoreUnavailable("gone")

    store.commit = refuse  # type: ignore[method-assign]
    await auditor._write()
    store.commit = commit  # type: ignore[method-assign]
    assert await auditor.log.entries() == ()
    await auditor._write()
    assert [each.kind for each in await auditor.log.entries()] == ["login"]


async def test_an_untouched_log_verifies(running: Run, tmp_path: Path, store: SqliteStore) -> None:
    async with running() as auditor:
        await store.commit([row(), row()])
    assert await auditor.log.verify() == ""


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("DELETE FROM audit WHERE seq > 2", "Entry 3"),
        ("DELETE FROM audit", "Entry 1"),
        ("UPDATE audit SET subject = 'x' WHERE seq = 2", "Entry 2"),
        ("DELETE FROM audit WHERE seq = 2", "Entry 2"),
    ],
)
async def test_what_was_done_to_the_table_is_named(
    running: Run, store: SqliteStore, tmp_path: Path, sql: str, named: str
) -> None:
    async with running() as auditor:
        await store.commit([row(), row(), row(), row()])
    tamper(tmp_path, sql)
    assert named in await auditor.log.verify()


async def test_a_table_written_anew_does_not_fit_the_checkpoints(running: Run, store: SqliteStore, tmp_path: Path) -> None:
    async with running():
        await store.commit([row("one"), row("two")])
    (tmp_path / "forged").mkdir()
    async with open_store(tmp_path / "forged" / "store.db", KEY, clock=ManualClock()) as forged:
        await forged.commit([row("one"), row("innocent")])
        assert "checkpoint at entry 2" in await CheckedAudit(forged, tmp_path).verify()


async def test_checkpoints_that_are_gone_are_missed(running: Run, store: SqliteStore, tmp_path: Path) -> None:
    async with running() as auditor:
        await store.commit([row()])
    (tmp_path / HEADS).unlink()
    assert "are gone: the store remembers one at entry 1" in await auditor.log.verify()


async def test_checkpoints_that_were_cut_are_missed(running: Run, store: SqliteStore, tmp_path: Path) -> None:
    async with running() as auditor:
        await store.commit([row()])
    path = tmp_path / HEADS
    path.write_text(path.read_text().split("\n")[0] + "\n")
    assert "were cut" in await auditor.log.verify()


async def test_a_changed_checkpoint_does_not_pass(running: Run, store: SqliteStore, tmp_path: Path) -> None:
    async with running() as auditor:
        await store.commit([row()])
    path = tmp_path / HEADS
    path.write_text(path.read_text().replace('"seq": 1', '"seq": 7'))
    assert "checkpoint at entry 7" in await auditor.log.verify()
    path.write_text("what is this\n")
    assert "Line 1" in await auditor.log.verify()


async def test_a_line_cut_by_a_crash_is_gone_over(running: Run, store: SqliteStore, tmp_path: Path) -> None:
    async with running():
        await store.commit([row()])
    with (tmp_path / HEADS).open("a") as file:
        file.write('{"at": 1.0, "se')
    async with running() as auditor:
        await store.commit([row()])
    lines = (tmp_path / HEADS).read_text().splitlines()
    assert json.loads(lines[-1])["seq"] == 2
    assert await auditor.log.verify() == ""


async def test_the_next_start_writes_down_that_the_checkpoints_are_gone(running: Run, store: SqliteStore, tmp_path: Path) -> None:
    async with running():
        await store.commit([row()])
    (tmp_path / HEADS).unlink()
    async with running() as auditor:
        pass
    (entry,) = await auditor.log.entries(kind="audit.*")
    assert (entry.kind, entry.outcome, entry.detail) == ("audit.checkpoints", "gone", {"entry": 1})
    assert await auditor.log.verify() == ""


async def test_the_next_start_writes_down_that_the_checkpoints_were_cut(running: Run, store: SqliteStore, tmp_path: Path) -> None:
    async with running():
        await store.commit([row(), row()])
    path = tmp_path / HEADS
    path.write_text(path.read_text().split("\n")[0] + "\n")
    auditor = Auditor(store, ManualClock(), tmp_path)
    await auditor._begin()
    (entry,) = await auditor.log.entries(kind="audit.*")
    assert (entry.kind, entry.outcome, entry.detail) == ("audit.checkpoints", "cut", {"entry": 2})


async def test_the_next_start_writes_down_that_every_trace_of_a_checkpoint_is_gone(
    running: Run, store: SqliteStore, tmp_path: Path
) -> None:
    async with running():
        await store.commit([row(), row()])
    (tmp_path / HEADS).unlink()
    await store.commit([DeleteValue(space=audit.SPACE, key="heads")])
    async with running() as auditor:
        pass
    (entry,) = await auditor.log.entries(kind="audit.*")
    assert (entry.kind, entry.outcome, entry.detail) == ("audit.checkpoints", "none", {"entry": 2})


async def test_the_next_start_writes_down_that_the_log_was_cut(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        auditor = Auditor(store, ManualClock(), tmp_path)
        await auditor._begin()
        await store.commit([row(), row(), row()])
        await auditor._checkpoint()
    tamper(tmp_path, "DELETE FROM audit WHERE seq > 1")
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        auditor = Auditor(store, ManualClock(), tmp_path)
        await auditor._begin()
        (entry,) = await auditor.log.entries(kind="audit.*")
        assert (entry.seq, entry.outcome, entry.detail) == (2, "cut", {"entry": 1, "checkpoint": 3})
        assert "Entry 3 of the audit log is missing" in await auditor.log.verify()


def test_who_comes_in_with_every_request_is_noted_once_an_hour() -> None:
    noted: list[tuple[str, str]] = []
    now = [0.0]
    seldom = Seldom(lambda kind, actor, subject, outcome, detail=None: noted.append((kind, actor)), lambda: now[0])
    for second in (0.0, 10.0, 3599.0, 3600.0):
        now[0] = second
        seldom("login", "token", "token", "ok")
        seldom("login.failed", "10.0.0.1", "gateway", "refused")
    assert noted.count(("login", "token")) == 2
    assert noted.count(("login.failed", "10.0.0.1")) == 4


def test_the_use_of_a_credential_is_noted_once_an_hour_for_each_purpose() -> None:
    noted: list[tuple[str, ...]] = []
    now = [0.0]
    lent = lending_noted(lambda kind, actor, subject, outcome, detail=None: noted.append((kind, actor, subject)), lambda: now[0])
    for second in (0.0, 3599.0, 3600.0):
        now[0] = second
        lent("acme:1", "model:acme")
    lent("acme:1", "web_search:acme")
    assert noted == [("credential.used", "model:acme", "acme:1")] * 2 + [("credential.used", "web_search:acme", "acme:1")]
