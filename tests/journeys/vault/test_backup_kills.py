"""Backup, restore and a change of keys, killed at many steps and in many writes: nothing is lost, and the next one goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.backup.folder import open_folder
from ostiary.adapters.backup.reading import check_all
from ostiary.adapters.keys.wrapping import Cost, dump, heard, wrap_by_passphrase
from ostiary.adapters.store.sqlite.connection import connect_reader
from ostiary.adapters.store.sqlite.key import write_private
from ostiary.assembly.backup import Wish, create
from ostiary.assembly.backup_key import own_backup_key
from ostiary.assembly.config.load import load
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY
from ostiary.assembly.credential_key import SEALED
from ostiary.assembly.keys import GATEWAY_DB, STORE_KEY, WRAPPED, drop_key, forget_known, store_key
from ostiary.assembly.restore import restore
from ostiary.assembly.vault import STORE
from tests.unit.assembly.houses import contents, make_house, write

STRIKES = 9


def quiet(part: str, done: int, total: int) -> None:
    return None


class Striker:
    """The process that forks those to be struck."""

    def __init__(self, folder: Path) -> None:
        library = folder / "strike.so"
        source = Path(__file__).parents[2] / "crash" / "strike.c"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
        environ = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.journeys.vault.struck"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )

    def run(self, work: str, home: Path, place: Path, recovery: str, *, step: int = 0, write: int = 0) -> tuple[int, int, int]:
        """The wait status, and how many steps and writes were made if it was not struck."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {
            "work": work,
            "home": str(home),
            "place": str(place),
            "recovery": recovery,
            "step": step,
            "write": write,
        }
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        status, steps, writes = json.loads(self._process.stdout.readline())
        return status, steps, writes

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def striker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Striker]:
    made = Striker(tmp_path_factory.mktemp("strike"))
    yield made
    made.close()


class Scene:
    """A house with one backup and a note that is newer than it."""

    def __init__(self, folder: Path) -> None:
        self.original = folder / "original"
        home = self.original / "home"
        anyio.run(lambda: make_house(home, documents=12))
        created = create(home, store_key(home), load(home, {}).config, {}, Wish(to=self.original / "backups"), quiet)
        self.recovery = created.recovery_key
        self.backed_up = contents(home)
        anyio.run(write, home, "newer.md", b"newer")
        self.now = contents(home)

    def copy(self, to: Path) -> tuple[Path, Path]:
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.original, to)
        return to / "home", to / "backups"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("scene"))


def strikes(striker: Striker, scene: Scene, work: str, folder: Path) -> list[dict[str, int]]:
    """The first and the last step and write, and some between them."""
    home, place = scene.copy(folder)
    status, steps, writes = striker.run(work, home, place, scene.recovery)
    assert (status, steps > 5, writes > 5) == (0, True, True)
    return [{"step": at} for at in spread(steps)] + [{"write": at} for at in spread(writes)]


def spread(count: int) -> list[int]:
    return sorted({1 + place * (count - 1) // (STRIKES - 1) for place in range(STRIKES)})


def struck(striker: Striker, scene: Scene, work: str, folder: Path) -> Iterator[tuple[Path, Path, dict[str, int]]]:
    for strike in strikes(striker, scene, work, folder / "first"):
        home, place = scene.copy(folder / "struck")
        status, _, _ = striker.run(work, home, place, scene.recovery, **strike)
        assert os.WTERMSIG(status) == signal.SIGKILL, strike
        yield home, place, strike
        shutil.rmtree(folder / "struck")


def test_a_backup_killed_anywhere_harms_neither_the_house_nor_the_backups(striker: Striker, scene: Scene, tmp_path: Path) -> None:
    for home, place, strike in struck(striker, scene, "backup", tmp_path):
        assert contents(home) == scene.now, strike
        own = own_backup_key(home, store_key(home))
        assert own is not None
        folder = open_folder(place)
        assert check_all(folder, own.seal, folder.manifests(), quiet) == [], strike
        created = create(home, store_key(home), load(home, {}).config, {}, Wish(to=place, is_incremental=True), quiet)
        assert check_all(folder, own.seal, folder.manifests(), quiet) == [], strike
        restore(place, created.manifest.id, home.with_name("new"), [heard(scene.recovery)], force=False, progress=quiet)
        assert contents(home.with_name("new")) == scene.now, strike


def houses(folder: Path) -> list[Path]:
    """The house and what was moved aside; what is being built has no name of its own."""
    return sorted(path for path in folder.iterdir() if path.name.startswith("home") and any(path.iterdir()))


def test_a_restore_killed_anywhere_leaves_a_whole_house_and_can_be_done_again(
    striker: Striker, scene: Scene, tmp_path: Path
) -> None:
    for home, place, strike in struck(striker, scene, "restore", tmp_path):
        found = [contents(path) for path in houses(home.parent)]
        assert scene.now in found, strike
        assert [each for each in found if each not in (scene.now, scene.backed_up)] == [], strike
        restore(place, "", home, [heard(scene.recovery)], force=True, progress=quiet)
        assert contents(home) == scene.backed_up, strike
        assert scene.now in [contents(path) for path in houses(home.parent)], strike
        assert list(home.parent.glob(".home.restoring-*")) == [], strike


def opening(home: Path, key: bytes, credentials: bytes) -> list[bool]:
    """Which of the house's databases open with keys of another time."""
    return [opens(home / STORE, key), opens(home / GATEWAY_DB, key), opens(home / CREDENTIALS, credentials)]


def opens(path: Path, key: bytes) -> bool:
    try:
        connect_reader(path, key).close()
    except Exception:
        return False
    return True


def test_a_change_of_keys_killed_anywhere_is_taken_back_or_finished(striker: Striker, scene: Scene, tmp_path: Path) -> None:
    old = (scene.original / "home" / STORE_KEY).read_bytes()
    old_credentials = (scene.original / "home" / CREDENTIALS_KEY).read_bytes()
    outcomes = set()
    for home, _, strike in struck(striker, scene, "rekey", tmp_path):
        is_old = store_key(home) == old
        outcomes.add(is_old)
        assert contents(home) == scene.now, strike
        assert opening(home, old, old_credentials) == [is_old] * 3, strike
        assert own_backup_key(home, store_key(home)) is not None, strike
        assert [path.name for path in home.rglob("*") if "rekey" in path.name] == [], strike
    assert outcomes == {True, False}


def test_sealing_the_key_of_the_credentials_is_killed_anywhere_and_loses_none(
    striker: Striker, scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A house whose vault opens by a passphrase and whose credentials by a plain file, as they all did once."""
    monkeypatch.setenv("OSTIARY_PASSPHRASE", "four random words")
    old, _ = scene.copy(tmp_path / "old")
    key = store_key(old)
    wrapped = wrap_by_passphrase(key, "four random words", purpose="vault", cost=Cost(n=16, r=8, p=1))
    write_private(old / WRAPPED, dump(wrapped))
    drop_key(old, "file")

    def strike(**at: int) -> tuple[Path, tuple[int, int, int]]:
        home = tmp_path / "struck"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(old, home)
        return home, striker.run("seal", home, tmp_path, key.hex(), **at)

    _, (status, steps, writes) = strike()
    assert (status, steps > 3, writes > 1) == (0, True, True)
    for at in [{"step": number + 1} for number in range(steps)] + [{"write": number + 1} for number in range(writes)]:
        home, (status, _, _) = strike(**at)
        assert os.WTERMSIG(status) == signal.SIGKILL, at
        forget_known(home)
        assert contents(home) == scene.now, at
        assert [path.name for path in home.glob("credentials.*")] == [CREDENTIALS], at
        assert (home / SEALED).exists(), at
