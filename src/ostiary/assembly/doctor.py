"""What is wrong with this installation, in plain sentences, and the repairs that are safe to make."""

import os
import shutil
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

from ostiary.assembly.config.files import make_private
from ostiary.assembly.config.literals import literal_secrets, move_literals, references
from ostiary.assembly.config.load import Loaded, load, peek
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY, FILE, LAST_GOOD, config_path
from ostiary.assembly.config.problems import dotted
from ostiary.assembly.config.secret import environment, resolve
from ostiary.assembly.credential_key import open_credentials
from ostiary.contracts.errors import ConfigInvalid, OstiaryError, StoreError
from ostiary.contracts.records import dataclass

Level = Literal["ok", "warning", "error"]

_PRIVATE = (FILE, LAST_GOOD, CREDENTIALS, CREDENTIALS_KEY, "*.key", "*.db", "bots/*/*.db", "keys/*.key")
_LOW_DISK = 500 * 1024 * 1024
_NO_DISK = 50 * 1024 * 1024
_EARLIEST = 1_735_689_600  # 2025-01-01: no release is older
_LATEST = 4_102_444_800  # 2100-01-01
_VERIFIED = 20
_DAY = 86_400
_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`fix` is what to do about it, empty when there is nothing to do."""

    level: Level
    title: str
    detail: str = ""
    fix: str = ""


Check = Callable[[Path], Iterable[Finding]]
"""A part of the system that examines itself: it is given the state directory and changes nothing."""


def examine(home: Path, environ: Mapping[str, str], checks: Sequence[Check] = ()) -> list[Finding]:
    """Look at everything and change nothing. A check that breaks is itself a finding."""
    findings = [*_python(), *_clock(home), *_directory(home), *_disk(home)]
    findings += _configuration(home, environ)
    findings += [*_modes(home), *_leftovers(home)]
    for check in checks:
        try:
            findings += check(home)
        except Exception as error:  # noqa: BLE001 - doctor is for what is broken: it must reach its end
            findings.append(Finding(level="error", title="A check could not be made", detail=f"{type(error).__name__}: {error}"))
    return findings


def repair(home: Path, environ: Mapping[str, str]) -> list[str]:
    """Make the safe repairs; one sentence for each that was made or failed."""
    done: list[str] = []
    done += _repair_modes(home)
    done += _repair_secrets(home, environ)
    for path, why in _stale(home):
        try:
            path.unlink(missing_ok=True)
            done.append(f"Removed {path.name}: {why}.")
        except OSError as error:
            done.append(f"{path.name} could not be removed: {error.strerror}.")
    return done


def standard_checks(environ: Mapping[str, str]) -> tuple[Check, ...]:
    """What the command line has examined besides the configuration: the store, the audit log, the embedded model, the hands."""
    from ostiary.assembly.doctor_hands import check_audit, check_hands

    return (_store, check_audit, lambda home: _weights(environ), lambda home: check_hands(home, environ))


def _store(home: Path) -> Iterator[Finding]:
    from ostiary.assembly.vault import elsewhere, has_store

    if not has_store(home):
        yield Finding(level="ok", title="There is no store yet", detail="It is made at the first start.")
        return
    remote = elsewhere(home)
    what = "store" if remote is None else f"vault at {remote.vault.url}"
    try:
        sessions, broken = _sessions(home)
    except (StoreError, ConfigInvalid) as error:
        yield Finding(level="error", title=f"The {what} cannot be used", detail=str(error), fix=error.hint)
        return
    yield Finding(level="ok", title=f"The {what} opens and holds {sessions} session{'' if sessions == 1 else 's'}")
    for sentence in broken:
        yield Finding(
            level="error", title="A journal does not hold together", detail=sentence, fix="Restore a backup of the store."
        )


def _sessions(home: Path) -> tuple[int, list[str]]:
    """How many there are (up to 10,000), and what is wrong with the journals of the twenty used last."""
    import anyio

    from ostiary.assembly.gateway import open_reader

    async def look() -> tuple[int, list[str]]:
        async with open_reader(home) as reader:
            records = await reader.sessions(limit=10_000)
            found = [(record.key, await reader.verify(record.key)) for record in records[:_VERIFIED]]
            return len(records), [f"{session}: {wrong}" for session, wrong in found if wrong]

    return anyio.run(look)


def _weights(environ: Mapping[str, str]) -> Iterator[Finding]:
    from ostiary.adapters.models.embedded.weights import PULL_COMMAND, find_weights, weights_directory

    if find_weights(weights_directory(environ)) is None:
        detail = "It is fetched when it is first needed; a configured provider does without it."
        yield Finding(level="ok", title="The embedded model is not here yet", detail=f"{detail} To fetch it now: {PULL_COMMAND}.")
    else:
        yield Finding(level="ok", title="The embedded model is here")


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 11):  # noqa: UP036 - somebody may run it with an older one all the same
        yield Finding(level="error", title=f"Python {version} is too old", fix="Install Python 3.11 or newer.")
    else:
        yield Finding(level="ok", title=f"Python {version}")


def _clock(home: Path) -> Iterator[Finding]:
    now = time.time()
    if not _EARLIEST < now < _LATEST:
        yield Finding(
            level="error", title="The clock is wrong", detail=time.strftime("It says %Y-%m-%d.", time.gmtime(now)), fix="Set it."
        )
    ahead = [each.name for each in _files(home) if each.stat().st_mtime > now + _DAY]
    if ahead:
        detail = f"{', '.join(sorted(ahead)[:5])} was written in the future."
        yield Finding(level="warning", title="The clock has been set back", detail=detail, fix="Check the clock.")


def _directory(home: Path) -> Iterator[Finding]:
    if not home.exists():
        yield Finding(level="ok", title=f"{home} does not exist yet", detail="It is made at the first start.")
        return
    if not home.is_dir():
        yield Finding(level="error", title=f"{home} is not a folder", fix="Move it away, or set OSTIARY_HOME.")
        return
    if not os.access(home, os.W_OK | os.X_OK):
        yield Finding(level="error", title=f"{home} cannot be written", fix="Give it to the user that runs Ostiary.")
    if stat.S_IMODE(home.stat().st_mode) & 0o077:
        yield Finding(level="warning", title=f"{home} is open to other users", fix="ostiary doctor --fix")


def _disk(home: Path) -> Iterator[Finding]:
    place = next(each for each in (home, *home.parents) if each.exists())
    free = shutil.disk_usage(place).free
    if free < _LOW_DISK:
        level: Level = "error" if free < _NO_DISK else "warning"
        yield Finding(level=level, title=f"Only {free // 1024 // 1024} MB of disk are free", fix="Free some space.")


def _configuration(home: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    from ostiary.assembly.policies import judge_of

    path = config_path(home, environ)
    try:
        loaded = peek(home, environ)
        doubts = judge_of(loaded.config).warnings
    except ConfigInvalid as error:
        *others, last = error.problems or (str(error),)
        yield from (Finding(level="error", title="The configuration is invalid", detail=each) for each in others)
        yield Finding(level="error", title="The configuration is invalid", detail=last, fix=error.hint)
        if (home / LAST_GOOD).exists():
            yield Finding(level="ok", title="A copy of the last good configuration is kept", detail=str(home / LAST_GOOD))
        return
    if not loaded.sources[0].digest:
        yield Finding(level="ok", title="There is no configuration file", detail=f"Defaults are used. It would be {path}.")
        return
    yield Finding(level="ok", title=f"{path} is valid")
    secret_paths = {dotted(each) for each, _ in literal_secrets(loaded.config)}
    for secret_path in sorted(secret_paths):
        yield Finding(level="warning", title=f"{secret_path} is a secret in plain text", fix="ostiary doctor --fix")
    yield from _backups(home, path, environ)
    for warning in loaded.warnings:
        if warning.split(":")[0] not in secret_paths:
            yield Finding(level="warning", title="The configuration deserves a look", detail=warning)
    for doubt in doubts:
        yield Finding(level="warning", title="A rule may not mean what it says", detail=doubt, fix="ostiary policy explain")
    yield from _references(home, environ, loaded)


def _backups(home: Path, path: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    for backup in sorted(path.parent.glob(f"{path.name}.before-*")):
        try:
            copy = peek(home, environ, path=backup)
        except ConfigInvalid:
            continue
        if literal_secrets(copy.config):
            yield Finding(
                level="warning",
                title=f"{backup.name} still holds a secret in plain text",
                fix="Delete it when you no longer need it.",
            )


def _references(home: Path, environ: Mapping[str, str], loaded: Loaded) -> Iterator[Finding]:
    try:
        store = open_credentials(home) if (home / CREDENTIALS).exists() else None
        names = [each.name for each in store.list()] if store else []
    except StoreError as error:
        yield Finding(level="error", title="The credential store cannot be used", detail=str(error), fix=error.hint)
        return
    if store is not None:
        yield Finding(level="ok", title=f"The credential store holds {len(names)} {'entry' if len(names) == 1 else 'entries'}")
    known = environment(loaded.config.env, environ, store)
    for reference in references(loaded.config):
        try:
            resolve(reference, known, store)
        except ConfigInvalid as error:
            yield Finding(level="error", title="A secret is missing", detail=str(error), fix=error.hint)


def _modes(home: Path) -> Iterator[Finding]:
    for path in _private_files(home):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            yield Finding(
                level="warning",
                title=f"{path.name} can be read by other users",
                detail=f"Its mode is {mode:o}.",
                fix="ostiary doctor --fix",
            )


def _leftovers(home: Path) -> Iterator[Finding]:
    for path, why in _stale(home):
        yield Finding(
            level="warning", title=f"{path.name} is left over", detail=f"{why[0].upper()}{why[1:]}.", fix="ostiary doctor --fix"
        )


def _repair_modes(home: Path) -> list[str]:
    done: list[str] = []
    if home.is_dir() and stat.S_IMODE(home.stat().st_mode) & 0o077:
        try:
            home.chmod(0o700)
            done.append(f"{home} is closed to other users now.")
        except OSError as error:
            done.append(f"{home} could not be closed to other users: {error.strerror}.")
    return done + [f"{said}." for said in map(make_private, _private_files(home)) if said]


def _repair_secrets(home: Path, environ: Mapping[str, str]) -> list[str]:
    try:
        config = load(home, environ).config
        if not literal_secrets(config):
            return []
        return [
            f"{path} is in the credential store now." for path in move_literals(home, environ, config, open_credentials(home))
        ]
    except ConfigInvalid:
        return ["The configuration is invalid, so no secret was moved."]
    except OstiaryError as error:
        return [f"Secrets could not be moved: {error}."]


def _private_files(home: Path) -> list[Path]:
    found = {each for pattern in _PRIVATE for each in home.glob(pattern) if each.is_file() and not each.is_symlink()}
    return sorted(found)


def _files(home: Path) -> list[Path]:
    return [each for each in home.iterdir() if each.is_file()] if home.is_dir() else []


def _stale(home: Path) -> Iterator[tuple[Path, str]]:
    """Files that a crash left behind and that certainly nobody uses."""
    if not home.is_dir():
        return
    for path in sorted({*home.glob("*.sock"), *home.glob("run/*.sock")}):
        if stat.S_ISSOCK(path.lstat().st_mode) and not _listens(path):
            yield path, "nobody listens on it"
    for path in sorted({*home.glob("*.pid"), *home.glob("run/*.pid")}):
        if not _runs(path):
            yield path, "the process it names is gone"
    for path in sorted(home.glob(f".{FILE}.*")):
        if path.is_file() and time.time() - path.stat().st_mtime > _HOUR:
            yield path, "it is an unfinished write"


def _listens(path: Path) -> bool:
    with closing(socket.socket(socket.AF_UNIX)) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True  # busy or not ours to judge: leave it alone
    return True


def _runs(path: Path) -> bool:
    try:
        os.kill(int(path.read_text()[:20]), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except (OSError, ValueError):
        return True  # unreadable or somebody else's: leave it alone
    return True
