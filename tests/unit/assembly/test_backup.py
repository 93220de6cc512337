import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from ostiary.adapters.backup.folder import open_folder
from ostiary.adapters.backup.reading import check_all
from ostiary.adapters.keys.wrapping import heard
from ostiary.adapters.store.sqlite import open_store
from ostiary.assembly.audit import HEADS, CheckedAudit
from ostiary.assembly.backup import Created, Wish, create, folder_of, keep_backups, prune
from ostiary.assembly.backup_key import own_backup_key
from ostiary.assembly.config.load import load
from ostiary.assembly.keys import STORE_KEY, store_key
from ostiary.assembly.newest import Newest
from ostiary.assembly.restore import restore
from ostiary.assembly.vault import STORE
from ostiary.contracts.errors import BadInput, StoreRefused, StoreUnavailable
from ostiary.kit.clock import ManualClock
from tests.unit.assembly.houses import contents, make_house, note, write


def quiet(part: str, done: int, total: int) -> None:
    return None


def back_up(home: Path, to: Path | None = None, *, is_incremental: bool = False, **more: Any) -> Created:
    wish = Wish(to=to, is_incremental=is_incremental, **more)
    return create(home, store_key(home), load(home, {}).config, {}, wish, quiet)


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    await make_house(tmp_path / "home")
    return tmp_path / "home"


@pytest.mark.parametrize("to", ["folder", "house.backup"])
async def test_a_house_restored_elsewhere_by_the_recovery_key_holds_the_same_under_new_keys(
    home: Path, tmp_path: Path, to: str
) -> None:
    created = back_up(home, tmp_path / to)
    new = tmp_path / "new"
    done = restore(tmp_path / to, "", new, [heard(created.recovery_key)], force=False, progress=quiet)
    assert done.manifest == created.manifest
    assert contents(new) == contents(home)
    assert names(new) == [
        "audit.heads",
        "bots/main/store.db",
        "credentials.db",
        "credentials.key",
        "gateway.db",
        "keys/backup.sealed",
        "keys/store.key",
        "ostiary.json5",
    ]
    assert (new / "ostiary.json5").read_bytes() == (home / "ostiary.json5").read_bytes()
    assert (new / STORE_KEY).read_bytes() != (home / STORE_KEY).read_bytes()


async def test_a_backup_is_made_while_another_writes_and_is_of_one_moment(home: Path, tmp_path: Path) -> None:
    key = store_key(home)
    is_under_way = anyio.Event()
    async with open_store(home / STORE, key, clock=ManualClock()) as store, anyio.create_task_group() as group:

        async def keep_writing() -> None:
            for number in range(1000):
                await store.commit([note(f"pair/{number}/a.md", b"a"), note(f"pair/{number}/b.md", b"b")])
                is_under_way.set()

        group.start_soon(keep_writing)
        await is_under_way.wait()
        config = load(home, {}).config
        wish = Wish(to=tmp_path / "f")
        created = await anyio.to_thread.run_sync(lambda: create(home, key, config, {}, wish, quiet))
        group.cancel_scope.cancel()
    restore(tmp_path / "f", "", tmp_path / "new", [heard(created.recovery_key)], force=False, progress=quiet)
    async with open_store(tmp_path / "new" / STORE, store_key(tmp_path / "new"), clock=ManualClock()) as store:
        found = [version.path for version in await store.documents.list("notes", pattern="pair/**")]
    assert found
    assert len(found) % 2 == 0


async def test_the_recovery_key_is_shown_once_and_another_can_be_made(home: Path, tmp_path: Path) -> None:
    first = back_up(home, tmp_path / "f")
    assert back_up(home, tmp_path / "f", is_incremental=True).recovery_key == ""
    third = back_up(home, tmp_path / "f", is_incremental=True, new_recovery_key=True)
    with pytest.raises(StoreRefused, match="not the recovery key"):
        restore(tmp_path / "f", "", tmp_path / "new", [heard(first.recovery_key)], force=False, progress=quiet)
    restore(tmp_path / "f", "", tmp_path / "new", [heard(third.recovery_key)], force=False, progress=quiet)
    assert not (tmp_path / "new" / "backups").exists()


async def test_a_restored_house_goes_on_with_the_same_backups(home: Path, tmp_path: Path) -> None:
    created = back_up(home, tmp_path / "f")
    new = tmp_path / "new"
    restore(tmp_path / "f", "", new, [heard(created.recovery_key)], force=False, progress=quiet)
    back_up(new, tmp_path / "f", is_incremental=True)
    own = own_backup_key(new, store_key(new))
    assert own is not None
    folder = open_folder(tmp_path / "f")
    assert check_all(folder, own.seal, folder.manifests(), quiet) == []


async def test_a_single_file_cannot_be_incremental(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="one whole backup"):
        back_up(home, tmp_path / "x.backup", is_incremental=True)


async def test_checkpoints_of_the_audit_log_never_run_ahead_of_the_copied_log(home: Path, tmp_path: Path) -> None:
    with (home / HEADS).open("a") as file:
        file.write(json.dumps({"at": 1.9e9, "seq": 99, "chain": "00"}) + "\n")
    created = back_up(home, tmp_path / "f")
    new = tmp_path / "new"
    restore(tmp_path / "f", "", new, [heard(created.recovery_key)], force=False, progress=quiet)
    async with open_store(new / STORE, store_key(new), clock=ManualClock()) as store:
        assert await CheckedAudit(store, new).verify() == ""


async def test_a_house_that_is_there_is_left_alone_or_moved_aside(home: Path, tmp_path: Path) -> None:
    created = back_up(home, tmp_path / "f")
    await write(home, "later.md", b"later")
    now = contents(home)
    secret = [heard(created.recovery_key)]
    with pytest.raises(StoreRefused, match="not empty"):
        restore(tmp_path / "f", "", home, secret, force=False, progress=quiet)
    assert contents(home) == now
    done = restore(tmp_path / "f", "", home, secret, force=True, progress=quiet)
    assert contents(home) != now
    assert done.aside is not None
    assert contents(done.aside) == now


async def test_a_house_whose_gateway_runs_is_not_replaced(home: Path, tmp_path: Path) -> None:
    created = back_up(home, tmp_path / "f")
    async with open_store(home / STORE, store_key(home), clock=ManualClock()):
        with pytest.raises(StoreRefused, match="in use"):
            restore(tmp_path / "f", "", home, [heard(created.recovery_key)], force=True, progress=quiet)


async def test_a_damaged_backup_leaves_the_house_that_is_there(home: Path, tmp_path: Path) -> None:
    created = back_up(home, tmp_path / "f")
    before = contents(home)
    for path, _, _ in open_folder(tmp_path / "f").pieces():
        path.write_bytes(b"")
    with pytest.raises(StoreRefused, match="damaged"):
        restore(tmp_path / "f", "", home, [heard(created.recovery_key)], force=True, progress=quiet)
    assert contents(home) == before
    assert [name for name in names(tmp_path) if "restor" in name] == []


async def test_a_restored_house_has_its_key_in_a_file_and_says_so(home: Path, tmp_path: Path) -> None:
    (home / "ostiary.json5").write_text("{ vault: { key: { source: 'keyring' } } }")
    created = back_up(home, tmp_path / "f")
    done = restore(tmp_path / "f", "", tmp_path / "new", [heard(created.recovery_key)], force=False, progress=quiet)
    assert load(tmp_path / "new", {}).config.vault.key_.source == "file"
    assert "vault key move --to keyring" in done.notes[0]


async def test_scratch_that_a_killed_backup_left_is_removed(home: Path, tmp_path: Path) -> None:
    left = home / ".backup-scratch" / "123"
    left.mkdir(parents=True)
    (left / "copy-1").write_bytes(b"noise")
    back_up(home, tmp_path / "f")
    assert list((home / ".backup-scratch").iterdir()) == []


async def test_backups_of_another_house_are_not_pruned(home: Path, tmp_path: Path) -> None:
    back_up(home, tmp_path / "f")
    other = tmp_path / "other"
    await make_house(other)
    with pytest.raises(BadInput, match="another house"):
        prune(other, store_key(other), tmp_path / "f", keep_days=0, now=2e9)


async def test_a_backup_that_is_due_is_made_by_itself(home: Path) -> None:
    (home / "ostiary.json5").write_text("{ vault: { backup: { everyHours: 6, keepDays: 2 } } }")
    back_up(home)
    folder = folder_of(home, load(home, {}).config)
    (only,) = (folder / "backups").iterdir()
    clock = Waking()
    newest = cast(Newest, SimpleNamespace(live=SimpleNamespace(current=load(home, {}))))
    with anyio.fail_after(30), anyio.CancelScope() as scope:
        clock.enough = scope.cancel
        await keep_backups(home, store_key(home), clock, newest, {})
    made = open_folder(folder).manifests()
    assert len(made) == 2
    assert only.name in made


class Waking(ManualClock):
    """The first sleep ends seven hours later, the second ends the task."""

    def __init__(self) -> None:
        super().__init__()
        self.sleeps = 0
        self.enough: Any = None

    def now(self) -> float:
        import time

        return time.time() + 7 * 3600

    async def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        if self.sleeps > 1:
            self.enough()
        await anyio.lowlevel.checkpoint()


async def test_without_a_recovery_key_none_is_made_and_the_log_says_what_to_do(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "ostiary.json5").write_text("{ vault: { backup: { everyHours: 6 } } }")
    clock = Waking()
    newest = cast(Newest, SimpleNamespace(live=SimpleNamespace(current=load(home, {}))))
    with anyio.fail_after(30), anyio.CancelScope() as scope:
        clock.enough = scope.cancel
        await keep_backups(home, store_key(home), clock, newest, {})
    assert "ostiary backup create" in caplog.text
    assert not (home / "backups").exists()


async def test_a_first_backup_that_failed_takes_no_recovery_key_along(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable):
        back_up(home, tmp_path / "file" / "below")
    shown = back_up(home, tmp_path / "backups")
    assert shown.recovery_key
    assert not back_up(home, tmp_path / "backups").recovery_key
    restore(tmp_path / "backups", "", tmp_path / "new", [heard(shown.recovery_key)], force=False, progress=quiet)
    assert contents(tmp_path / "new") == contents(home)
