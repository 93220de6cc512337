"""Changing the file by command: edit, check, then write. What does not validate is never written."""

from collections.abc import Callable, Mapping
from pathlib import Path

from ostiary.assembly.config import edit
from ostiary.assembly.config.files import locked, read_text, write_private
from ostiary.assembly.config.load import Loaded, keep_backup, remember_good, understand, upgraded
from ostiary.assembly.config.parse import Extensions
from ostiary.assembly.config.paths import LOCK, config_path
from ostiary.assembly.config.problems import Path as KeyPath
from ostiary.assembly.config.problems import abridged
from ostiary.contracts.errors import ConfigInvalid

EMPTY = "{\n}\n"


def change(
    home: Path, environ: Mapping[str, str], edited: Callable[[str], str], *, extensions: Extensions | None = None
) -> Loaded:
    """Apply `edited` to the file's text under a lock.

    Raises ConfigInvalid, BadInput, Busy or StoreUnavailable, and then the file is as it was.
    """
    path = config_path(home, environ)
    with locked(home / LOCK):
        before = read_text(path)
        newest = upgraded(before, path).text if before is not None else EMPTY
        text = edited(newest)
        try:
            loaded = understand(text, environ, source=path, extensions=extensions)
        except ConfigInvalid as error:
            raise ConfigInvalid(
                f"nothing was changed, because the file would be invalid: {abridged(error.problems)}",
                problems=error.problems,
                hint="See what is allowed: docs/reference/configuration.md, or ostiary config schema",
            ) from error
        if before is not None and newest != before:
            keep_backup(path, before)
        if text != before:
            write_private(path, text)
        remember_good(home, loaded)
        return loaded


def set_key(
    home: Path, environ: Mapping[str, str], path: KeyPath, value: object, *, extensions: Extensions | None = None
) -> Loaded:
    """Set one key."""
    return change(home, environ, lambda text: edit.set_value(text, path, value), extensions=extensions)


def unset_key(home: Path, environ: Mapping[str, str], path: KeyPath, *, extensions: Extensions | None = None) -> Loaded:
    """Remove one key, so that its posture's or the schema's value holds again."""
    return change(home, environ, lambda text: edit.unset(text, path), extensions=extensions)
