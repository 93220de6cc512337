"""From the file to one generation of the configuration, or a refusal that names everything that is wrong."""

import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from ostiary.assembly.config import checks, edit, json5, reserved
from ostiary.assembly.config.files import make_private, read_text, unreadable, write_private
from ostiary.assembly.config.formats import foreign_format
from ostiary.assembly.config.json5 import Json5Error, Node
from ostiary.assembly.config.migrations import Migrated, migrate
from ostiary.assembly.config.parse import Extensions, Reading, read_config
from ostiary.assembly.config.paths import LAST_GOOD, config_path
from ostiary.assembly.config.problems import Path as KeyPath
from ostiary.assembly.config.problems import Problem, refusal
from ostiary.assembly.config.schema import Config
from ostiary.assembly.config.section import section
from ostiary.assembly.postures import DEFAULT, merge, preset
from ostiary.contracts.errors import ConfigInvalid, StoreUnavailable


@section
class Source:
    """A file that was read; `digest` is empty if it does not exist."""

    path: Path
    digest: str


@section
class Loaded:
    """A valid configuration. `written` is what the file itself says, references unresolved; `text` is the file."""

    config: Config
    generation: int
    warnings: tuple[str, ...]
    sources: tuple[Source, ...]
    written: Mapping[str, object] = field(repr=False)
    text: str = field(repr=False)


def load(
    home: Path, environ: Mapping[str, str], *, extensions: Extensions | None = None, generation: int = 1, path: Path | None = None
) -> Loaded:
    """Read, migrate and check the file; no file means defaults. Raises ConfigInvalid with every problem."""
    path = path or config_path(home, environ)
    text = read_text(path)
    if text is None:
        return understand("{}", environ, source=path, extensions=extensions, generation=generation, exists=False)
    private = make_private(path)
    newest = upgraded(text, path)
    notes = (*((private,) if private else ()), *newest.notes)
    loaded = understand(newest.text, environ, source=path, extensions=extensions, generation=generation, notes=notes)
    if newest.text != text:
        try:
            keep_backup(path, text)
            write_private(path, newest.text)
        except StoreUnavailable as error:
            return replace(loaded, warnings=(*loaded.warnings, f"the migrated file was not saved: {error}"))
    return loaded


def peek(home: Path, environ: Mapping[str, str], *, path: Path | None = None) -> Loaded:
    """As `load`, for whoever only looks: nothing is written, and the file's mode stays. Raises ConfigInvalid."""
    path = path or config_path(home, environ)
    text = read_text(path)
    if text is None:
        return understand("{}", environ, source=path, exists=False)
    newest = upgraded(text, path)
    return understand(newest.text, environ, source=path, notes=newest.notes)


def upgraded(text: str, path: Path) -> Migrated:
    """The text in today's version. Raises ConfigInvalid."""
    return migrate(text, _parsed(text, path), str(path))


def understand(
    text: str,
    environ: Mapping[str, str],
    *,
    source: Path,
    extensions: Extensions | None = None,
    generation: int = 1,
    notes: tuple[str, ...] = (),
    exists: bool = True,
) -> Loaded:
    """Check a text as if it were the file, touching nothing. Raises ConfigInvalid with every problem."""
    examined = examine(text, environ, source=source, extensions=extensions)
    if examined.problems or examined.config is None:
        raise refusal(examined.problems, str(source))
    warnings = tuple(str(each) for each in examined.warnings)
    digest = hashlib.sha256(text.encode()).hexdigest() if exists else ""
    return Loaded(
        config=examined.config,
        generation=generation,
        warnings=(*notes, *warnings),
        sources=(Source(path=source, digest=digest),),
        written=examined.tree,
        text=text if exists else "",
    )


@section
class Examined:
    """What a text says and everything that is wrong with it; `config` is None if anything is."""

    config: Config | None
    tree: Mapping[str, Any] = field(repr=False)
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def examine(text: str, environ: Mapping[str, str], *, source: Path, extensions: Extensions | None = None) -> Examined:
    """Find all problems. Raises ConfigInvalid only for what is not a JSON5 object at all."""
    node = _parsed(text, source)
    tree = node.plain()
    if not isinstance(tree, Mapping):
        raise unreadable(source, "does not hold an object", "Begin the file with { and end it with }.")
    reading = Reading(environ=_with_block(tree, environ), extensions=extensions or {})
    reading.problems += [Problem(path=path, message="stands here a second time") for path, _ in json5.repeated(node)]
    config = read_config(merge(preset(tree.get("posture", DEFAULT)), tree), reading)
    if config is not None:
        checks.check(config, reading)
        reserved.warn(tree, reading)
    return Examined(
        config=None if reading.problems else config,
        tree=tree,
        problems=_located(reading.problems, node, text),
        warnings=_located(reading.warnings, node, text),
    )


def load_last_good(home: Path, environ: Mapping[str, str], *, extensions: Extensions | None = None) -> Loaded:
    """The copy of the last configuration that worked. Raises ConfigInvalid if there is none or it does not fit any more."""
    path = home / LAST_GOOD
    text = read_text(path)
    if text is None:
        raise unreadable(path, "does not exist", "Correct the configuration itself: ostiary config validate")
    return understand(text, environ, source=path, extensions=extensions)


def remember_good(home: Path, loaded: Loaded) -> None:
    """Keep a copy to start from when a later edit breaks the file. A disk that refuses the copy refuses nothing else."""
    path = home / LAST_GOOD
    try:
        if loaded.text and read_text(path) != loaded.text:
            write_private(path, loaded.text)
    except (StoreUnavailable, ConfigInvalid):
        return


def _parsed(text: str, path: Path) -> Node:
    if not text.strip("\ufeff \t\r\n"):
        # An editor or a full disk may have cut it: defaults in its place would silently drop every rule in it.
        raise unreadable(path, "is empty", "Write {} for the defaults, or remove the file.")
    try:
        return json5.parse(text)
    except Json5Error as error:
        other = foreign_format(text)
        if other:
            raise unreadable(path, f"looks like {other}, but JSON5 is needed", "See docs/guides/configuration.md.") from error
        raise unreadable(path, f"is not JSON5: {error}", "Correct the line, then run: ostiary config validate") from error


def _with_block(tree: Mapping[str, object], environ: Mapping[str, str]) -> Mapping[str, str]:
    """What ordinary texts may refer to: the environment, and plain entries of the file's own `env` block beneath it."""
    block = tree.get("env")
    plain = {name: value for name, value in block.items() if isinstance(value, str)} if isinstance(block, Mapping) else {}
    return {**plain, **environ}


def _located(problems: list[Problem], node: Node, text: str) -> tuple[Problem, ...]:
    return tuple(Problem(path=each.path, message=each.message, line=_line(each.path, node, text)) for each in problems)


def _line(path: KeyPath, root: Node, text: str) -> int:
    for length in range(len(path), 0, -1):
        parent = edit.find(root, path[: length - 1])
        if parent is None:
            continue
        last = path[length - 1]
        if parent.kind == "object" and (member := parent.member(str(last))) is not None:
            return json5.line_of(text, member.start)
        if parent.kind == "array" and isinstance(last, int) and last < len(parent.items):
            return json5.line_of(text, parent.items[last].start)
    return 0


def keep_backup(path: Path, text: str) -> None:
    """A copy beside the file under a new name. Raises StoreUnavailable."""
    for number in range(1, 1000):
        backup = path.with_name(f"{path.name}.before-migration-{number}")
        if not backup.exists():
            write_private(backup, text)
            return
