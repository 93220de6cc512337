"""What `pip install ostiary` without extras puts on the disk: a fresh environment from the lock file, weighed."""

import hashlib
import os
import shutil
import sys
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.processes import finish
from bench.rows import Row
from bench.stage import BUILD, ROOT, Stage

_LOCK = ROOT / "requirements" / "base.lock"
_INSTALL_SECONDS = 180.0


def installed(stage: Stage) -> Iterator[Row]:
    """The dependencies are kept between runs by the hash of the lock file; our own part is installed anew when it changed."""
    place = BUILD / f"base-{_digest([_LOCK])}-{sys.version_info.major}.{sys.version_info.minor}"
    if not (place / "complete").exists():
        stage.say("installing the base into a fresh environment (kept for the next run)")
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=False)
        _pip(place, "install", "--quiet", "--require-hashes", "--requirement", _LOCK)
        (place / "complete").touch()
    own = place / "own"
    source = _digest(sorted((ROOT / "src").rglob("*.py")))
    if not own.exists() or own.read_text() != source:
        stage.say("installing Ostiary itself beside them")
        _pip(place, "install", "--quiet", "--no-deps", "--force-reinstall", ROOT)
        own.write_text(source)
    packages = len(_pip(place, "list", "--format=freeze").split())
    yield Row("size", "installed size without extras", "MB", (_disk_usage(place) / 1e6,), "with the environment's own files")
    yield Row("packages", "packages without extras", "", (packages,), "Ostiary itself included")


def _pip(place: Path, *words: str | Path) -> str:
    command = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "--disable-pip-version-check", *words]
    return finish(command, os.environ, seconds=_INSTALL_SECONDS)


def _disk_usage(place: Path) -> int:
    """As `du` counts: whole blocks, links as links."""
    return sum(entry.lstat().st_blocks * 512 for entry in place.rglob("*"))


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
