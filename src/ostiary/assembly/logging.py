"""Where the log goes: a private, rotating file of JSON lines, and the terminal in plain words.

What is written is what happened and where, never message text or secrets: callers log ids, counts and kinds, and anything that
still looks like a credential, or is one of ours, is taken out by the secret guard.
"""

import json
import logging
import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary.contracts.errors import StoreUnavailable

if TYPE_CHECKING:
    from ostiary.core.policy.secrets import Guard

_MAX_MESSAGE = 8000
# The server's own words are about strangers' malformed requests and requests cut at the stop; the door says what matters.
_QUIET = {"aiohttp": logging.WARNING, "asyncio": logging.WARNING, "uvicorn": logging.CRITICAL}

_given: "Guard | None" = None


def console(*, as_json: bool = False, level: str = "info") -> None:
    """Warnings and the gateway's own news on stderr. Replaces an earlier console."""
    handler = logging.StreamHandler(sys.stderr)
    handler.set_name("ostiary-console")
    handler.setFormatter(_JsonLines() if as_json else _Plain(colours=sys.stderr.isatty()))
    handler.setLevel(level.upper() if as_json else logging.WARNING)
    _install(handler, level)


def log_to_file(path: Path, *, level: str = "info", max_bytes: int = 10_485_760, keep: int = 5) -> None:
    """JSON lines in `path`, readable by its owner only, turned over at `max_bytes`. Replaces an earlier file.

    Raises StoreUnavailable if the file cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = _PrivateFile(path, maxBytes=max_bytes, backupCount=keep, encoding="utf-8", errors="replace")
    except OSError as error:
        raise StoreUnavailable(f"the log {path} cannot be written: {error.strerror}", hint="Check the folder's owner.") from None
    handler.set_name("ostiary-file")
    handler.setFormatter(_JsonLines())
    handler.setLevel(level.upper())
    _install(handler, level)


def masked(text: str) -> str:
    """Without any secret the guard knows or recognises, and not longer than a line should be."""
    text = _guard().redact(text[: _MAX_MESSAGE * 2])
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"


def guard_with(guard: "Guard") -> None:
    """From here on every line goes through this guard, which knows the secrets the house holds."""
    global _given
    _given = guard


def _guard() -> "Guard":
    """The one for shapes alone until a house gives its own. Loaded with the first line: many commands write none."""
    global _given
    if _given is None:
        from ostiary.core.policy.secrets import Guard

        _given = Guard()
    return _given


def _install(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    for old in [each for each in root.handlers if each.name == handler.name]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(least)


class _PrivateFile(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        os.fchmod(handle, 0o600)
        return TextIOWrapper(os.fdopen(handle, "ab"), encoding=self.encoding, errors=self.errors, write_through=True)

    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk must not take a turn down with it; the terminal, if it is not a file on that disk, still hears of it."""
        with suppress(OSError):
            print("ostiary: the log could not be written", file=sys.stderr)  # noqa: T201


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": masked(record.getMessage()),
        }
        if record.exc_info:
            entry["trace"] = masked(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=False)


class _Plain(logging.Formatter):
    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower()}: {masked(record.getMessage())}"
        if record.exc_info and os.environ.get("OSTIARY_DEBUG") == "1":
            line += "\n" + masked(self.formatException(record.exc_info))
        elif record.exc_info and record.exc_info[0] is not None:
            line += f" ({record.exc_info[0].__name__}; `ostiary logs` has the trace)"
        if self._colours and record.levelno >= logging.WARNING:
            line = f"\x1b[33m{line}\x1b[0m" if record.levelno == logging.WARNING else f"\x1b[31m{line}\x1b[0m"
        return line
