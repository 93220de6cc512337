"""`ostiary vault edit|import|export|sync`: documents in your editor, and folders on disk."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ostiary.cli.paths import path
from ostiary.cli.vault_access import WORKSPACE, Access, NewFile, missing
from ostiary.contracts.errors import BadInput, Conflict, OstiaryError

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Collection = Annotated[str, typer.Option("--collection", "-c", help=f"The collection. Default: {WORKSPACE}.")]
Prefix = Annotated[str, typer.Option("--prefix", help="Only what lies below this path.")]
Folder = Annotated[Path, typer.Argument(help="A folder on disk.", parser=path)]

_WATCH_SECONDS = 2.0
_SHOWN = 50
_TOGETHER_FILES = 200
_TOGETHER_BYTES = 8_000_000


def register_vault(app: typer.Typer) -> None:
    """Add the commands to `vault`."""
    for name, command in (("edit", edit), ("import", import_), ("export", export), ("sync", sync)):
        app.command(name)(command)


def edit(
    path: Annotated[str, typer.Argument(help="The document's path, like notes/plan.md or _memory:MEMORY.md.")],
    collection: Annotated[str, typer.Option("--collection", "-c", help="The collection; or write collection:path.")] = "",
    as_json: AsJson = False,
) -> None:
    """Open a document in your editor ($VISUAL, $EDITOR) and write back what you save as a new version."""
    from ostiary.cli.editing import edited, keep_aside
    from ostiary.cli.output import print_json, safe
    from ostiary.cli.vault_words import address, run

    name, place = address(path, collection)
    found = run(lambda access: access.get(name, place))
    version, before = (found[0].version, found[1]) if found is not None else (0, b"")
    # The vault is not held while you think: the gateway may start meanwhile, and somebody else may write.
    after = edited(place.rpartition("/")[2], before)
    if after == before:
        print("Nothing changed.", file=sys.stderr)
        if as_json:
            print_json({"path": place, "version": version, "changed": False})
        return
    try:
        where, number = run(lambda access: _write_back(access, name, place, version, after))
    except OstiaryError as error:
        # What took an hour to write is not lost because the vault is away or full.
        kept = keep_aside(place.rpartition("/")[2], after)
        raise type(error)(f"{str(error).rstrip('.')}. Your text is kept in {kept}.", hint=error.hint) from error
    if as_json:
        print_json({"path": where, "version": number, "changed": True, "conflict": where != place})
    elif where == place:
        print(f"{safe(place)} is at version {number}.")
    if where != place:
        print(f"{safe(place)} was changed meanwhile. Your text is kept as {safe(where)}.", file=sys.stderr)
        raise typer.Exit(1)


async def _write_back(access: Access, collection: str, path: str, version: int, content: bytes) -> tuple[str, int]:
    """The path it was written to: another one if somebody else was faster."""
    from ostiary.core.documents.syncing import File, sync_plan

    try:
        return path, await access.put(collection, NewFile(path=path, content=content, expect=version))
    except Conflict:
        # Which name your text gets is decided as in a sync where both sides changed.
        others = {each.path: File(digest=each.digest) for each in await access.list(collection)}
        mine, theirs = {path: File(digest="mine")}, {**others, path: File(digest="theirs")}
        plan = sync_plan({}, mine, theirs, date=time.strftime("%Y-%m-%d"))
        copy = plan.clashes[0].copy
        return copy, await access.put(collection, NewFile(path=copy, content=content, expect=0))


def import_(
    folder: Folder,
    collection: Collection = WORKSPACE,
    prefix: Prefix = "",
    as_json: AsJson = False,
) -> None:
    """Copy a folder's files into the vault; what is the same already is left alone, nothing is deleted."""
    from ostiary.cli.output import print_json, safe
    from ostiary.cli.progress import progress
    from ostiary.cli.syncing import Pair
    from ostiary.cli.vault_words import run

    pair = Pair(root=folder.expanduser().absolute(), collection=collection, prefix=prefix.strip("/"))
    with progress() as shown:
        written, same, left = run(lambda access: _import(access, pair, shown))
    if as_json:
        print_json({"written": written, "unchanged": same, "left": left})
    else:
        print(f"{written:,} written to {safe(collection)}, {same:,} unchanged.")
    _tell("left out", left)
    raise typer.Exit(1 if left and not written and not same else 0)


async def _import(access: Access, pair: Any, progress: Any) -> tuple[int, int, list[str]]:
    import hashlib

    from ostiary.cli import disk
    from ostiary.cli.syncing import MOST_BYTES

    files, unfit = disk.walk(pair.root)
    left = [f"{path}: {problem}" for path, problem in unfit.items()]
    known = {each.path: each for each in await access.list(pair.collection, pattern=pair.pattern)}
    written = same = size = 0
    batch: list[NewFile] = []

    async def flush() -> int:
        done = await access.put_many(pair.collection, batch) if batch else ()
        left.extend(f"{wrote.path}: {wrote.problem}" for wrote in done if wrote.problem)
        return sum(1 for wrote in done if not wrote.problem)

    for number, file in enumerate(files, 1):
        content = disk.read(file.place, MOST_BYTES)
        if content is None:
            left.append(f"{file.path}: it cannot be read, or is larger than {MOST_BYTES // 1_000_000} MB")
            continue
        path = pair.path_of(file.path)
        old = known.get(path)
        if old is not None and old.executable == file.executable and old.digest == hashlib.sha256(content).hexdigest():
            same += 1
            continue
        batch.append(NewFile(path=path, content=content, executable=file.executable))
        size += len(content)
        if len(batch) >= _TOGETHER_FILES or size >= _TOGETHER_BYTES:
            written += await flush()
            batch, size = [], 0
        progress.of("importing", number, len(files))
    written += await flush()
    return written, same, left


def export(
    folder: Folder,
    collection: Collection = WORKSPACE,
    prefix: Prefix = "",
    at: Annotated[str, typer.Option("--at", help='As it was then: yesterday, "2h ago", "2026-11-15 09:00".')] = "",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over files that differ.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy documents into a folder; a file that is there and differs is left alone unless you say --overwrite."""
    from ostiary.cli.moments import parse_moment
    from ostiary.cli.output import print_json, safe
    from ostiary.cli.progress import progress
    from ostiary.cli.syncing import Pair
    from ostiary.cli.vault_words import run

    moment = parse_moment(at, time.time()) if at else None
    root = folder.expanduser().absolute()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{root} cannot be made: {error.strerror}") from None
    pair = Pair(root=root, collection=collection, prefix=prefix.strip("/"))
    with progress() as shown:
        written, same, left = run(lambda access: _export(access, pair, moment, overwrite, shown))
    if as_json:
        print_json({"written": written, "unchanged": same, "left": left})
    else:
        print(f"{written:,} written to {safe(str(root))}, {same:,} unchanged.")
    _tell("left out", left)
    raise typer.Exit(1 if left and not written and not same else 0)


async def _export(access: Access, pair: Any, moment: float | None, overwrite: bool, progress: Any) -> tuple[int, int, list[str]]:
    from ostiary.cli import disk
    from ostiary.cli.syncing import MOST_BYTES

    rows = await access.list(pair.collection, pattern=pair.pattern, at=moment)
    written = same = 0
    left: list[str] = []
    for number, version in enumerate(rows, 1):
        path = pair.below(version.path)
        try:
            problem = disk.unfit(path)
            if problem:
                raise BadInput(problem)
            found = await access.get(pair.collection, version.path, version=version.version)
            if found is None:
                raise missing(pair.collection, version.path, version.version)
            place = disk.place_below(pair.root, path)
            there = disk.read(place, MOST_BYTES)
            if there == found[1]:
                same += 1
            elif disk.is_taken(place) and not overwrite:
                raise BadInput("a file that differs is there; --overwrite replaces it")
            else:
                disk.write_aside(place, found[1], executable=version.executable)
                written += 1
        except BadInput as error:
            left.append(f"{version.path}: {error}")
        progress.of("exporting", number, len(rows))
    return written, same, left


def sync(
    folder: Folder,
    collection: Annotated[
        str, typer.Option("--collection", "-c", help=f"The collection. Default: that of the last time, or {WORKSPACE}.")
    ] = "",
    prefix: Prefix = "",
    watch: Annotated[bool, typer.Option("--watch", help="Go on until Ctrl-C.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    allow_deletions: Annotated[
        bool, typer.Option("--allow-deletions", help="An empty side, or one that lost most of its files, is meant so.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Keep a folder and a collection the same, both ways. Where both changed, both are kept. .git is left alone."""
    from ostiary.cli.output import print_json
    from ostiary.cli.syncing import Digests, Synced

    pair = _pair(folder, collection, prefix)
    digests = Digests()

    def once() -> Synced:
        done: Synced = _sync(pair, digests, dry_run, allow_deletions)
        if as_json and (not watch or not done.is_quiet):
            print_json(_as_data(done))
        elif not as_json:
            _print_synced(done, dry_run, quietly=watch)
        return done

    done = once()
    while watch:
        sys.stdout.flush()
        time.sleep(_WATCH_SECONDS)
        try:
            once()
        except OstiaryError as error:
            # A gateway that starts or stops at this moment is no reason to end.
            print(f"{error}; trying again", file=sys.stderr)
    raise typer.Exit(1 if done.refusal or done.problems else 0)


def _pair(folder: Path, collection: str, prefix: str) -> Any:
    from ostiary.cli.syncing import Pair, load_state

    root = folder.expanduser().absolute()
    if not root.is_dir():
        raise BadInput(f"{root} is not a folder", hint="Make it first; an empty one gets everything.")
    state = load_state(root)
    asked = Pair(root=root, collection=collection or WORKSPACE, prefix=prefix.strip("/"))
    if state is None:
        return asked
    known = Pair(root=root, collection=state["collection"], prefix=state["prefix"])
    if (collection and collection != known.collection) or (prefix and prefix.strip("/") != known.prefix):
        where = f"{known.collection}:{known.prefix}" if known.prefix else known.collection
        raise BadInput(f"{root} is kept the same as {where}", hint="Use another folder for another part of the vault.")
    return known


def _sync(pair: Any, digests: Any, dry_run: bool, allow_deletions: bool) -> Any:
    from ostiary.cli.progress import progress
    from ostiary.cli.syncing import sync_once
    from ostiary.cli.vault_words import run

    with progress() as shown:
        return run(
            lambda access: sync_once(
                access,
                pair,
                date=time.strftime("%Y-%m-%d"),
                digests=digests,
                progress=shown,
                dry_run=dry_run,
                allow_deletions=allow_deletions,
            )
        )


def _as_data(done: Any) -> dict[str, Any]:
    return {
        "toVault": done.to_collection,
        "toFolder": done.to_folder,
        "conflicts": done.conflicts,
        "problems": done.problems,
        "left": done.left,
        "refusal": done.refusal,
    }


def _print_synced(done: Any, dry_run: bool, *, quietly: bool) -> None:
    from ostiary.cli.output import safe

    for mark, lines in (("vault ", done.to_collection), ("folder", done.to_folder)):
        for line in lines[:_SHOWN]:
            print(f"{mark}  {safe(line)}")
        if len(lines) > _SHOWN:
            print(f"{mark}  … {len(lines) - _SHOWN:,} more")
    _tell("conflict", done.conflicts)
    _tell("not done", done.problems)
    if not quietly:
        _tell("left out", done.left)
    if done.refusal:
        print(f"error: {done.refusal}", file=sys.stderr)
        print("If it is meant so, say --allow-deletions.", file=sys.stderr)
    elif done.is_quiet and not quietly:
        print("Both sides are the same.")
    elif dry_run:
        print("Nothing was changed.")


def _tell(mark: str, lines: Sequence[str]) -> None:
    from ostiary.cli.output import safe

    for line in lines[:_SHOWN]:
        print(f"{mark}  {safe(line)}", file=sys.stderr)
    if len(lines) > _SHOWN:
        print(f"{mark}  … {len(lines) - _SHOWN:,} more", file=sys.stderr)
