"""`ostiary security audit`: how an attacker would read this installation. Each finding says what is open and what closes it."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from ostiary.assembly.config.files import make_private
from ostiary.assembly.config.literals import literal_secrets
from ostiary.assembly.config.load import peek
from ostiary.assembly.config.paths import CREDENTIALS, config_path
from ostiary.assembly.config.problems import dotted
from ostiary.assembly.config.schema import Config
from ostiary.assembly.config.secret import SecretSource, environment, resolve
from ostiary.assembly.credential_key import open_credentials
from ostiary.assembly.security_rules import config_findings
from ostiary.assembly.security_words import Finding
from ostiary.contracts.errors import ConfigInvalid, OstiaryError

_PRIVATE = ("*.json5*", "*.db", "*.key", "*.heads", "*.state", "*.jsonl", "bots/*/*", "keys/*", "logs/*", "run/*", "tls/*")
_FIX = "ostiary security audit --fix"

Look = Callable[[Path], Iterable[Finding]]


def examine(home: Path, environ: Mapping[str, str], looks: Iterable[Look] = ()) -> list[Finding]:
    """The gravest first. Reads and changes nothing; a look that breaks is itself a finding."""
    found = [*_files(home), *_process()]
    try:
        config = _config(home, environ)
    except ConfigInvalid as error:
        fix = "ostiary config validate"
        found.append(
            Finding(id="config.invalid", severity="critical", sentence=f"The configuration is invalid: {error}", fix=fix)
        )
    else:
        found += [*config_findings(config), *_secrets(home, environ, config), *_plugins(config)]
    for look in looks:
        try:
            found += look(home)
        except Exception as error:  # noqa: BLE001 - an examination must reach its end
            sentence = f"A look could not be taken: {type(error).__name__}: {error}"
            found.append(Finding(id="audit.failed", severity="warning", sentence=sentence))
    order: dict[Literal["critical", "warning", "info"], int] = {"critical": 0, "warning": 1, "info": 2}
    return sorted(found, key=lambda each: (order[each.severity], each.id))


def _config(home: Path, environ: Mapping[str, str]) -> Config:
    """As `load` reads it, but the file stays as it is: its mode is one of the findings. Raises ConfigInvalid."""
    return peek(home, environ).config


def repair(home: Path) -> list[str]:
    """Close what may safely be closed: files and folders of the state directory. One sentence for each."""
    done: list[str] = []
    for path in (home, *_folders(home)):
        if path.is_dir() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            try:
                path.chmod(0o700)
                done.append(f"{path} is closed to other users now.")
            except OSError as error:
                done.append(f"{path} could not be closed: {error.strerror}.")
    return done + [f"{said}." for said in map(make_private, _private(home)) if said]


def standard_looks() -> tuple[Look, ...]:
    """What takes longer: the fence, tried for real, and the audit log, walked to its end."""
    return (_fence, _audit_log)


def _files(home: Path) -> Iterator[Finding]:
    if not home.exists():
        yield Finding(id="files.none", severity="info", sentence=f"{home} does not exist yet; it is made at the first start.")
        return
    if home.is_symlink():
        yield Finding(
            id="files.link", severity="warning", sentence=f"{home} is a link; whoever may change it chooses the state directory."
        )
    for path in (home, *_folders(home)):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            severity: Literal["critical", "warning"] = "critical" if mode & 0o022 else "warning"
            sentence = f"{path} can be {'written' if mode & 0o022 else 'read'} by other users (mode {mode:o})."
            yield Finding(id="files.folder_open", severity=severity, sentence=sentence, fix=_FIX)
    for path in _private(home):
        facts = path.stat()
        if stat.S_IMODE(facts.st_mode) & 0o077:
            sentence = f"{path} can be read by other users (mode {stat.S_IMODE(facts.st_mode):o})."
            yield Finding(id="files.readable", severity="critical", sentence=sentence, fix=_FIX)
        if facts.st_uid != os.geteuid():
            yield Finding(
                id="files.owner",
                severity="critical",
                sentence=f"{path} belongs to another user, who may replace it.",
                fix=f"chown {os.geteuid()} {path}",
            )


def _folders(home: Path) -> list[Path]:
    found = [each for pattern in ("*", "bots/*") for each in home.glob(pattern) if each.is_dir() and not each.is_symlink()]
    # The sandbox's folder is entered by the user that commands run as.
    return sorted(each for each in found if each.name not in ("sandbox", "workspaces", "browser"))


def _private(home: Path) -> list[Path]:
    found = {each for pattern in _PRIVATE for each in home.glob(pattern) if each.is_file() and not each.is_symlink()}
    return sorted(each for each in found if each.suffix != ".crt" and not each.name.endswith("cert.pem"))


def _process() -> Iterator[Finding]:
    if os.geteuid() == 0:
        yield Finding(
            id="process.root",
            severity="warning",
            sentence="This runs as root: whatever breaks out of it owns the machine.",
            fix="Run it as a user of its own: docs/guides/operations.md",
        )


def _secrets(home: Path, environ: Mapping[str, str], config: Config) -> Iterator[Finding]:
    for path, _ in literal_secrets(config):
        where = config_path(home, environ)
        yield Finding(
            id="secrets.literal",
            severity="warning",
            sentence=f"{dotted(path)} stands in plain text in {where}.",
            fix="ostiary doctor --fix",
        )
    auth = config.gateway.auth
    source = auth.password if auth.mode == "password" else auth.token
    if source is not None:
        yield from _strength(home, environ, config, source, auth.mode)


def _strength(
    home: Path, environ: Mapping[str, str], config: Config, source: SecretSource, mode: Literal["token", "password"]
) -> Iterator[Finding]:
    from ostiary.gateway.auth import check_secret_strength

    try:
        credentials = open_credentials(home) if (home / CREDENTIALS).exists() else None
        value = resolve(source, environment(config.env, environ, credentials), credentials).reveal()
    except OstiaryError as error:
        sentence = f"gateway.auth.{mode} cannot be read: {error}"
        yield Finding(id="secrets.missing", severity="warning", sentence=sentence, fix=error.hint)
        return
    problem = check_secret_strength(value, mode)
    if problem:
        fix = f"ostiary config unset gateway.auth.{mode}" if mode == "token" else "ostiary config secret set gateway.password"
        yield Finding(id="gateway.weak_secret", severity="critical", sentence=problem, fix=fix)


def _plugins(config: Config) -> Iterator[Finding]:
    from importlib.metadata import entry_points

    from ostiary.assembly.builtin import ENTRY_POINTS

    if not config.plugins.enabled:
        return
    names = sorted(
        entry.name
        for entry in entry_points(group=ENTRY_POINTS)
        if entry.name not in config.plugins.deny and (not config.plugins.allow or entry.name in config.plugins.allow)
    )
    if names and not config.plugins.allow:
        listed = ", ".join(names)
        yield Finding(
            id="plugins.any",
            severity="warning",
            sentence=f"Every plugin that gets installed is loaded with the gateway's rights; now: {listed}.",
            fix=f"ostiary config set plugins.allow '[{', '.join(repr(name) for name in names)}]'",
        )
    elif names:
        yield Finding(
            id="plugins.loaded", severity="info", sentence=f"Plugins run with the gateway's rights: {', '.join(names)}."
        )


def _fence(home: Path) -> Iterator[Finding]:
    import anyio

    from ostiary.assembly.doctor_hands import probe_fence
    from ostiary.contracts.errors import SandboxUnavailable

    if not home.exists():
        return
    try:
        wanted = _config(home, os.environ).agents.defaults.sandbox
        anyio.run(probe_fence, wanted.backend, wanted.image)
    except ConfigInvalid:
        # That is a finding of its own.
        return
    except SandboxUnavailable as error:
        sentence = f"There is no fence for commands, so exec refuses: {error}"
        yield Finding(id="sandbox.unavailable", severity="warning", sentence=sentence, fix=error.hint)


def _audit_log(home: Path) -> Iterator[Finding]:
    import anyio

    from ostiary.assembly.audit import CheckedAudit
    from ostiary.assembly.gateway import open_reader
    from ostiary.assembly.vault import has_store

    async def verify() -> str:
        async with open_reader(home) as reader:
            return await CheckedAudit(reader, home).verify()

    if not has_store(home):
        return
    try:
        problem = anyio.run(verify)
    except OstiaryError as error:
        sentence = f"The audit log cannot be read: {error}"
        yield Finding(id="audit.unreadable", severity="warning", sentence=sentence, fix=error.hint)
        return
    if problem:
        yield Finding(
            id="audit.broken",
            severity="critical",
            sentence=problem,
            fix="Treat the machine as touched: docs/concepts/audit.md",
        )
