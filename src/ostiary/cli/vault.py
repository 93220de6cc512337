"""`ostiary vault`: the documents, who holds them, and what is found in them."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ostiary.cli.vault_access import WORKSPACE, Access, NewFile, missing, row
from ostiary.cli.vault_words import AsJson, At, Collection, Document, address, moment_of, run
from ostiary.contracts.errors import BadInput
from ostiary.contracts.store import DocumentVersion

# Commands that live in modules of their own. A module that this installation does not have adds none.
_MODULES = ("vault_versions", "vault_files", "keys")

app = typer.Typer(help="Everything that lasts: documents, their versions, and the way back.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Add `vault` to the command line."""
    for name in _MODULES:
        module = f"ostiary.cli.{name}"
        try:
            found = import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            continue
        found.register_vault(app)
    root.add_typer(app, name="vault")


@app.command()
def ls(
    collection: Annotated[str, typer.Argument(help="A collection; without one they are listed.")] = "",
    pattern: Annotated[str, typer.Argument(help="A glob like '*.md' or 'notes/**'.")] = "**",
    at: At = "",
    long: Annotated[bool, typer.Option("--long", "-l", help="With version, size, time and author.")] = False,
    as_json: AsJson = False,
) -> None:
    """The collections, or the documents of one."""
    if not collection:
        if at:
            raise BadInput("--at needs a collection", hint="For example: ostiary vault ls _workspace --at yesterday")
        _print_collections(as_json)
        return
    moment = moment_of(at)
    wanted = f"{pattern.rstrip('/')}/**" if pattern.endswith("/") else pattern

    async def look(access: Access) -> tuple[DocumentVersion, ...]:
        found = await access.list(collection, pattern=wanted, at=moment)
        known = [collection] if found else [use.collection for use in await access.collections()]
        if collection not in known:
            there = f"There are: {', '.join(known)}." if known else "The vault is empty."
            raise BadInput(f"there is no collection {collection[:80]!r}", hint=there)
        return found

    rows = run(look)
    from ostiary.cli.output import print_json, safe, table

    if as_json:
        print_json([row(each) for each in rows])
    elif not rows:
        print(f"{safe(collection)} holds nothing that matches.", file=sys.stderr)
    elif long:
        print(table([_long(each) for each in rows], ("PATH", "VERSION", "BYTES", "CHANGED", "BY")))
    else:
        print("\n".join(safe(each.path) for each in rows))


@app.command()
def get(
    path: Document,
    collection: Collection = "",
    version: Annotated[int | None, typer.Option("--version", min=1, help="This version.")] = None,
    at: At = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Into a file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The version and, of text, the content.")] = False,
) -> None:
    """Print a document's bytes."""
    name, place = address(path, collection)
    moment = moment_of(at)

    async def act(access: Access) -> tuple[DocumentVersion, bytes]:
        number = version if moment is None else await _version_at(access, name, place, moment)
        found = await access.get(name, place, version=number)
        if found is None or not found[0].digest:
            raise missing(name, place, version)
        return found

    found, content = run(act)
    if as_json:
        from ostiary.cli.output import print_json

        print_json({**row(found), "text": _text(content)})
    elif output is not None:
        from ostiary.cli.disk import write_aside

        write_aside(output.expanduser(), content, executable=found.executable)
    else:
        _print_bytes(content)


@app.command()
def put(
    path: Document,
    file: Annotated[Path, typer.Argument(help="A file; - reads standard input.")] = Path("-"),
    collection: Collection = "",
    expect: Annotated[
        int | None, typer.Option("--expect", min=0, help="Only if this is the version; 0: only if there is none.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a document: a new version of it."""
    name, place = address(path, collection)
    content, executable = _given(file)
    _print_version(
        place,
        run(lambda access: access.put(name, NewFile(path=place, content=content, executable=executable, expect=expect))),
        as_json,
    )


@app.command()
def append(
    path: Document,
    file: Annotated[Path, typer.Argument(help="A file; - reads standard input.")] = Path("-"),
    collection: Collection = "",
    as_json: AsJson = False,
) -> None:
    """Add to the end of a document, whoever else writes at the same time."""
    name, place = address(path, collection)
    content, _ = _given(file)
    _print_version(place, run(lambda access: access.append(name, place, content)), as_json)


@app.command()
def rm(
    path: Document,
    collection: Collection = "",
    expect: Annotated[int | None, typer.Option("--expect", min=1, help="Only if this is the version.")] = None,
    as_json: AsJson = False,
) -> None:
    """Delete a document; its versions stay, and `vault restore` brings it back."""
    name, place = address(path, collection)
    version = run(lambda access: access.delete(name, place, expect=expect))
    full = place if name == WORKSPACE else f"{name}:{place}"
    back = f"`ostiary vault restore {full} --version {version - 1}` brings it back."
    _print_version(place, version, as_json, f"Deleted {place}. {back}")


@app.command()
def mv(
    path: Document, to: Annotated[str, typer.Argument(help="Its new path.")], collection: Collection = "", as_json: AsJson = False
) -> None:
    """Move a document within its collection."""
    name, place = address(path, collection)
    _print_version(to, run(lambda access: access.move(name, place, to)), as_json)


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="What to look for, in words or as a question.")],
    collections: Annotated[list[str] | None, typer.Option("--collection", "-c", help="Only in these.")] = None,
    pattern: Annotated[str, typer.Option("--path", help="Only paths that match this glob.")] = "**",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="How many results.")] = 6,
    as_json: AsJson = False,
) -> None:
    """Find text in the documents, by words and by meaning."""
    from ostiary.cli.memory_search import as_data, print_found
    from ostiary.cli.output import print_json

    found = run(lambda access: access.search(text, collections=collections, pattern=pattern, limit=limit))
    for notice in found.notices:
        print(notice, file=sys.stderr)
    if as_json:
        print_json(as_data(found))
    else:
        print_found(found, with_collection=True)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Who holds the vault, what is in it, and how its index is."""
    from dataclasses import asdict

    from ostiary.cli.output import print_json

    found = run(lambda access: access.status())
    index = found.index
    if as_json:
        print_json({"holder": found.holder, "collections": [asdict(each) for each in found.collections], "index": asdict(index)})
        return
    documents, size = sum(each.documents for each in found.collections), sum(each.stored_bytes for each in found.collections)
    print(f"held by {found.holder}")
    print(f"{documents:,} documents in {len(found.collections)} collections, {size:,} bytes with all versions")
    waits = f", {index.waiting:,} wait" if index.waiting else ""
    print(f"index: {index.documents:,} documents, {index.chunks:,} passages{waits}; {index.embedder or 'words alone'}")
    if index.problem:
        print(f"problem: {index.problem}")


@app.command()
def browse(
    collection: Annotated[str, typer.Argument(help="Where to begin.")] = "",
) -> None:
    """Look around in the terminal: collections, files, versions, differences, search; and go back."""
    from ostiary.cli.vault_browser import browse as show

    show(collection)


@app.command()
def serve(
    socket: Annotated[str, typer.Option("--socket", help="Listen on this unix socket.")] = "",
    host: Annotated[str, typer.Option("--host", help="Listen on this address.")] = "",
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Listen on this port. Default: 8181.")] = None,
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Logs as JSON lines.")] = False,
) -> None:
    """Run the vault as a process of its own, for a gateway with `vault.mode: remote`."""
    from ostiary.cli.vault_serve import serve as run_serve

    run_serve(socket=socket, host=host, port=port, json_logs=json_logs)


async def _version_at(access: Access, collection: str, path: str, moment: float) -> int:
    from ostiary.cli.moments import shown

    older = [each for each in await access.history(collection, path) if each.at <= moment]
    if not older or not older[-1].digest:
        raise BadInput(f"{path} was not there at {shown(moment)}", hint=f"See `ostiary vault history {collection}:{path}`.")
    return older[-1].version


def _print_collections(as_json: bool) -> None:
    from dataclasses import asdict

    from ostiary.cli.output import print_json, safe, table

    uses = run(lambda access: access.collections())
    if as_json:
        print_json([asdict(each) for each in uses])
        return
    rows = [(safe(use.collection), f"{use.documents:,}", f"{use.bytes:,}", f"{use.stored_bytes:,}") for use in uses]
    print(table(rows, ("COLLECTION", "DOCUMENTS", "BYTES", "WITH VERSIONS")) if rows else "The vault is empty.")


def _long(version: DocumentVersion) -> Sequence[str]:
    from ostiary.cli.moments import shown
    from ostiary.cli.output import safe

    mark = "*" if version.executable else ""
    return safe(version.path) + mark, str(version.version), f"{version.size:,}", shown(version.at), safe(version.author)


def _given(file: Path) -> tuple[bytes, bool | None]:
    """The content, and whether a file on disk may be executed. Raises BadInput."""
    import os

    if str(file) == "-":
        return sys.stdin.buffer.read(), None
    try:
        return file.expanduser().read_bytes(), os.access(file.expanduser(), os.X_OK)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None


def _text(content: bytes) -> str | None:
    try:
        return None if b"\0" in content else content.decode()
    except UnicodeDecodeError:
        return None


def _print_bytes(content: bytes) -> None:
    """As they are into a pipe or file; to a terminal only text, without what would steer it."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    from ostiary.cli.output import safe

    text = _text(content)
    if text is None:
        raise BadInput(f"this is no text ({len(content):,} bytes)", hint="Write it to a file with --output.")
    print(safe(text), end="" if text.endswith("\n") else "\n")


def _print_version(path: str, version: int, as_json: bool, said: str = "") -> None:
    from ostiary.cli.output import print_json, safe

    if as_json:
        print_json({"path": path, "version": version})
    else:
        print(safe(said or f"{path} is at version {version}."))
