"""`ostiary vault history`, `diff` and `restore`: a document's versions, and the way back."""

import sys
from typing import Annotated, Any

import typer

from ostiary.cli.vault_access import Access, RestoreWish, missing, row
from ostiary.cli.vault_words import AsJson, At, Collection, Document, address, moment_of, run
from ostiary.contracts.errors import BadInput


def register_vault(app: typer.Typer) -> None:
    """Add the commands to `ostiary vault`."""
    for command in (history, diff, restore):
        app.command()(command)


def history(path: Document, collection: Collection = "", as_json: AsJson = False) -> None:
    """Every version of a document, the oldest first."""
    from ostiary.cli.moments import shown
    from ostiary.cli.output import print_json, safe, table

    name, place = address(path, collection)
    versions = run(lambda access: access.history(name, place))
    if not versions:
        raise missing(name, place)
    if as_json:
        print_json([row(each) for each in versions])
        return
    rows = [
        (
            str(each.version),
            shown(each.at),
            "erased" if each.erased else f"{each.size:,}" if each.digest else "deleted",
            safe(each.author),
            "" if each.label is None else str(each.label.trust),
            each.turn,
        )
        for each in versions
    ]
    print(table(rows, ("VERSION", "AT", "BYTES", "BY", "TRUST", "TURN")))


def diff(
    path: Document,
    collection: Collection = "",
    first: Annotated[
        int | None, typer.Option("--from", min=0, help="This version; default the one before; 0 is nothing.")
    ] = None,
    last: Annotated[int | None, typer.Option("--to", min=1, help="This version; default the newest.")] = None,
    as_json: AsJson = False,
) -> None:
    """What changed between two versions. The exit code is 0 whether or not they differ."""
    name, place = address(path, collection)

    async def act(access: Access) -> tuple[int, int, str]:
        return await compare(access, name, place, first, last)

    older, newer, text = run(act)
    if as_json:
        from ostiary.cli.output import print_json

        print_json({"from": older, "to": newer, "diff": text})
    else:
        _print_diff(text or f"Version {older} and version {newer} do not differ in text.\n")


def restore(
    path: Annotated[str, typer.Argument(help="One document; without it a whole collection goes back.")] = "",
    collection: Collection = "",
    version: Annotated[int | None, typer.Option("--version", min=1, help="To this version.")] = None,
    at: At = "",
    before_turn: Annotated[str, typer.Option("--before-turn", help="To just before this turn.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go back to a version, a moment, or before a turn: always by new versions, so that this can be undone, too."""
    from ostiary.cli.moments import shown
    from ostiary.cli.output import print_json, safe

    if not path and not collection:
        raise BadInput(
            "say which document, or --collection",
            hint="For example: ostiary vault restore --collection _workspace --at yesterday",
        )
    if sum((version is not None, bool(at), bool(before_turn))) != 1:
        raise BadInput("say one of --version, --at and --before-turn")
    if version is not None and not path:
        raise BadInput("a version belongs to one document", hint="For a whole collection say --at or --before-turn.")
    name, place = address(path, collection) if path else (collection, "")
    moment = moment_of(at)
    wish = RestoreWish(collection=name, path=place, version=version, at=moment, turn=before_turn, preview=dry_run)
    done = run(lambda access: _restored(access, wish))
    if as_json:
        print_json({"restored": done.restored, "deleted": done.deleted, "left": done.left, "preview": dry_run})
        return
    if moment is not None:
        print(f"As of {shown(moment)}:")
    for mark, paths in (("restored", done.restored), ("deleted", done.deleted), ("left", done.left)):
        for each in paths:
            print(f"  {mark}  {safe(each)}")
    if not done.restored and not done.deleted:
        print("Nothing differs.")
    elif dry_run:
        print("Nothing was changed.")


async def compare(access: Access, collection: str, path: str, first: int | None, last: int | None) -> tuple[int, int, str]:
    """The two versions and what differs, as unified text. Raises BadInput for a version that is not there."""
    from ostiary.adapters.tools.diffs import unified

    versions = await access.history(collection, path)
    if not versions:
        raise missing(collection, path)
    newer = last if last is not None else versions[-1].version
    older = first if first is not None else newer - 1
    known = {each.version: each for each in versions}

    async def content(number: int) -> bytes | None:
        if number == 0:
            return None
        if number not in known:
            raise missing(collection, path, number)
        if known[number].erased:
            raise BadInput(f"version {number} of {path} was erased for ever")
        found = await access.get(collection, path, version=number) if known[number].digest else None
        return None if found is None else found[1]

    old, new = await content(older), await content(newer)
    text = unified(old, new, path, limit=1_000_000)
    if not text and old != new:
        text = f"{path} is no text, or too long to compare: {len(old or b''):,} bytes became {len(new or b''):,}.\n"
    return older, newer, text


async def _restored(access: Access, wish: RestoreWish) -> Any:
    if wish.path and not await access.history(wish.collection, wish.path):
        raise missing(wish.collection, wish.path)
    return await access.restore(wish)


def _print_diff(text: str) -> None:
    from ostiary.cli.output import safe

    colours = {"+": typer.colors.GREEN, "-": typer.colors.RED, "@": typer.colors.CYAN}
    for line in safe(text).splitlines():
        print(typer.style(line, fg=colours.get(line[:1])) if sys.stdout.isatty() else line)
