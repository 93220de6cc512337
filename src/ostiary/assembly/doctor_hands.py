"""Whether the assistant's hands can work on this machine: fence, browser, readers of pages, workspaces; and the audit log."""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ostiary.assembly.doctor import Finding
from ostiary.contracts.errors import ConfigInvalid, SandboxUnavailable, StoreError

if TYPE_CHECKING:
    from ostiary.assembly.config.schema import Config

_PROBE_SECONDS = 60.0
_WALKED = 100_000
_PROGRAMS = {"bubblewrap": "bwrap", "docker": "docker", "podman": "podman", "seatbelt": "sandbox-exec"}


def check_hands(home: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Each with what to type if something is missing. The fence is really built once, on canaries; nothing is changed."""
    try:
        config = _config(home, environ)
    except ConfigInvalid:
        # What is wrong with it is a finding of its own.
        return
    yield from _sandbox(config)
    yield from _workspaces(home)
    yield from _browser(config)
    yield from _pages()


def check_audit(home: Path) -> Iterator[Finding]:
    """Walk the audit log, unless it is so long that somebody should decide to."""
    from ostiary.assembly.audit import CheckedAudit
    from ostiary.assembly.gateway import open_reader
    from ostiary.assembly.vault import has_store

    if not has_store(home):
        return

    async def look() -> tuple[int, str]:
        async with open_reader(home) as reader:
            log = CheckedAudit(reader, home)
            entries = (await log.head()).seq
            return entries, await log.verify() if entries <= _WALKED else ""

    try:
        entries, problem = anyio.run(look)
    except (StoreError, ConfigInvalid):
        # That the store cannot be used is a finding of its own.
        return
    if problem:
        fix = "See docs/concepts/audit.md: treat the machine as touched unless you restored a backup."
        yield Finding(level="error", title="The audit log does not hold", detail=problem, fix=fix)
    elif entries > _WALKED:
        yield Finding(level="ok", title=f"The audit log has {entries:,} entries", fix="ostiary audit verify")
    else:
        yield Finding(level="ok", title=f"The audit log holds: {entries:,} {'entry' if entries == 1 else 'entries'}")


def availability(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """In a word or two, and without trying: what commands and pages would run in. Raises ConfigInvalid."""
    from ostiary.adapters.browser.chromium import require_parts

    config = _config(home, environ)
    name = _backend(config)
    has_fence = shutil.which(_PROGRAMS[name]) is not None
    browser = "off"
    if config.browser.enabled:
        try:
            browser = require_parts(config.browser.executable_path).name
        except SandboxUnavailable as error:
            browser = f"unavailable: {error}"
    return {"sandbox": name if has_fence else f"unavailable: {_PROGRAMS[name]} is not installed", "browser": browser}


def _config(home: Path, environ: Mapping[str, str]) -> "Config":
    from ostiary.assembly.config.load import peek

    return peek(home, environ).config


def _backend(config: "Config") -> str:
    wanted = config.agents.defaults.sandbox.backend
    return wanted if wanted != "auto" else "seatbelt" if sys.platform == "darwin" else "bubblewrap"


def _sandbox(config: "Config") -> Iterator[Finding]:
    wanted = config.agents.defaults.sandbox
    if wanted.mode == "off" and config.posture == "open":
        yield Finding(
            level="warning", title="Commands run without a fence", fix="ostiary config set agents.defaults.sandbox.mode all"
        )
        return
    try:
        name = anyio.run(probe_fence, wanted.backend, wanted.image)
    except SandboxUnavailable as error:
        yield Finding(level="warning", title="The assistant cannot run commands here", detail=str(error), fix=error.hint)
    except TimeoutError:
        title = f"The sandbox was not ready within {_PROBE_SECONDS:.0f} s"
        yield Finding(level="warning", title=title, fix="Try again when the machine is less busy.")
    else:
        yield Finding(level="ok", title=f"Commands run fenced by {name}")


async def probe_fence(backend: str, image: str) -> str:
    """Build it once, on canaries, in a folder that is gone then; gives its name. Raises SandboxUnavailable, TimeoutError."""
    from ostiary.adapters.sandbox import choose_sandbox

    with tempfile.TemporaryDirectory(prefix="ostiary-doctor-") as folder:
        async with aclosing(choose_sandbox(backend, state=Path(folder), image=image)) as sandbox:
            with anyio.fail_after(_PROBE_SECONDS):
                await sandbox.probe()
            return sandbox.name


def _workspaces(home: Path) -> Iterator[Finding]:
    from ostiary.adapters.sandbox.ownership import unprivileged_user
    from ostiary.assembly.hands import WORKSPACES

    place = home / WORKSPACES
    try:
        unprivileged_user()
    except SandboxUnavailable as error:
        yield Finding(level="warning", title="Commands have no user to run as", detail=str(error), fix=error.hint)
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        yield Finding(level="error", title=f"{place} is not a folder", fix="Move it away: it is made anew from the store.")
    elif place.exists() and not os.access(place, os.W_OK | os.X_OK):
        yield Finding(level="error", title=f"{place} cannot be written", fix="Give it to the user that runs Ostiary.")
    elif place.exists() and stat.S_IMODE(place.stat().st_mode) & 0o022:
        yield Finding(level="warning", title=f"{place} can be written by other users", fix=f"chmod go-w {place}")


def _browser(config: "Config") -> Iterator[Finding]:
    from ostiary.adapters.browser.chromium import require_parts

    if not config.browser.enabled:
        yield Finding(
            level="ok", title="The browser is switched off", detail="To have it: ostiary config set browser.enabled true."
        )
        return
    try:
        path = require_parts(config.browser.executable_path)
    except SandboxUnavailable as error:
        yield Finding(level="warning", title="The assistant has no browser here", detail=str(error), fix=error.hint)
    else:
        yield Finding(level="ok", title=f"The browser is {path}")


def _pages() -> Iterator[Finding]:
    from ostiary.adapters.tools.web.reading import missing_libraries

    missing = missing_libraries()
    if missing:
        detail = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: pages are read in a simpler way."
        fix = "Install them: pip install 'ostiary[web]'."
        yield Finding(level="warning", title="Web pages and PDFs are read less well", detail=detail, fix=fix)
    else:
        yield Finding(level="ok", title="Web pages and PDFs can be read")
