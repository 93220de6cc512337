"""`ostiary memory`: what the assistant remembers, where it came from, and how it is forgotten."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ostiary.cli.memory_search import LIMIT, Asked
from ostiary.cli.paths import path
from ostiary.contracts.errors import BadInput

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Agent = Annotated[str, typer.Option("--agent", help="Whose memory; each agent has its own.")]
Area = Annotated[str, typer.Option("--area", help="long, daily, shared, private or me. Default: where it wants to go.")]

_SHOWN = 120

app = typer.Typer(help="What the assistant remembers.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Add `memory` to the command line."""
    root.add_typer(app, name="memory")


@app.command()
def add(
    folder: Annotated[Path, typer.Argument(help="A folder of notes: Markdown, text, PDF.", parser=path)],
    prefix: Annotated[str, typer.Option("--as", help="Where they appear in memory. Default: the folder's name.")] = "",
    untrusted: Annotated[
        bool, typer.Option("--untrusted", help="Written by others or downloaded: nobody vouches for it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take a folder of notes into memory; what is unchanged is left alone. Everything can be found when it is done."""
    from dataclasses import asdict

    from ostiary.cli import vault_access
    from ostiary.cli.memory_add import Added, add_folder
    from ostiary.cli.output import print_json, safe
    from ostiary.cli.progress import progress

    directory = folder.expanduser().absolute()
    name = prefix.strip("/") or directory.resolve().name
    if not name:
        raise BadInput("say where the notes appear in memory", hint="For example: --as notes")
    begun = time.monotonic()
    with progress() as shown:
        done: Added = vault_access.run(
            lambda access: add_folder(access, directory, name, is_trusted=not untrusted, progress=shown)
        )
    seconds = time.monotonic() - begun
    if as_json:
        print_json({**asdict(done), "prefix": name, "seconds": round(seconds, 3)})
    else:
        print(
            f"{done.added:,} added, {done.changed:,} changed, {done.unchanged:,} unchanged, under {safe(name)}/ ({seconds:.1f} s)"
        )
    for line in done.skipped[:20]:
        print(f"skipped {safe(line)}", file=sys.stderr)
    if len(done.skipped) > 20:
        print(f"skipped {len(done.skipped) - 20:,} more", file=sys.stderr)
    raise typer.Exit(1 if done.skipped and not (done.added or done.changed or done.unchanged) else 0)


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="What to look for, in words or as a question.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="How many results.")] = LIMIT,
    agent: Agent = "main",
    sessions: Annotated[bool, typer.Option("--sessions", help="Search past conversations instead.")] = False,
    stdin: Annotated[bool, typer.Option("--stdin", help="Questions from standard input, one a line; a JSON line each.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find what is remembered. A line of --stdin is plain text or {"query": …, "limit": …}."""
    from ostiary.cli.memory_search import run

    if bool(text) == stdin:
        raise BadInput("say what to look for, or give --stdin", hint='For example: ostiary memory search "garden gate"')
    run(Asked(text=text, limit=limit, agent=agent, sessions=sessions, as_json=as_json, stdin=stdin))


@app.command("list")
def list_(
    agent: Agent = "main",
    waiting: Annotated[bool, typer.Option("--waiting", help="Only what waits for your word.")] = False,
    as_json: AsJson = False,
) -> None:
    """The notes, and what waits to be confirmed."""
    from ostiary.cli.output import ago, print_json, safe, table

    found = _run(lambda access: access.notes(agent))
    if as_json:
        print_json(found["waiting"] if waiting else found)
        return
    now = time.time()
    if not waiting:
        rows = [
            (safe(each["path"]), each["place"], str(each["version"]), f"{each['size']:,}", ago(now - each["at"]))
            for each in found["notes"]
        ]
        print(table(rows, ("NOTE", "AREA", "VERSION", "BYTES", "CHANGED")) if rows else "Nothing is remembered yet.")
    if found["waiting"]:
        print(f"{'' if waiting else chr(10)}Waiting for your word (`ostiary memory confirm <id>`, or with --reject):")
        for each in found["waiting"]:
            said = safe(each["text"]).replace("\n", " ")
            whose = safe(", ".join(each["sources"]) or each["author"])
            print(f"  {each['id']}  {said[:_SHOWN]}  (from {whose}, for {each['area']})")
    elif waiting:
        print("Nothing waits.")


@app.command()
def write(
    text: Annotated[str, typer.Argument(help="What to remember; - reads standard input.")],
    area: Annotated[str, typer.Option("--area", help="long, daily, shared, private or me. Default: long.")] = "",
    title: Annotated[str, typer.Option("--title", help="A short title.")] = "",
    agent: Agent = "main",
    as_json: AsJson = False,
) -> None:
    """Remember something, on your word."""
    from ostiary.cli.output import print_json

    said = sys.stdin.read() if text == "-" else text
    kept = _run(lambda access: access.write(said, area=area, title=title, agent=agent))
    if as_json:
        print_json(kept)
    else:
        words = {"known": "Known already", "reworded": "Reworded"}.get(kept["outcome"], "Kept")
        print(f"{words}: {kept['path']}#L{kept['line']}")


@app.command()
def why(
    target: Annotated[str, typer.Argument(help="A place like MEMORY.md#L12, or some words of a note.")],
    agent: Agent = "main",
    as_json: AsJson = False,
) -> None:
    """Where a note came from: who, when, in which conversation, in what words."""
    from ostiary.cli.output import print_json

    origins = _run(lambda access: access.why(target, agent=agent))
    if as_json:
        print_json(origins)
    elif not origins:
        print("No note holds that.")
    for number, each in enumerate(() if as_json else origins):
        print(("\n" if number else "") + _origin(each))
    raise typer.Exit(0 if origins else 1)


@app.command()
def forget(
    text: Annotated[str, typer.Argument(help="What to forget: some words of it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase something for ever: from the notes, their versions, the conversations and the index."""
    from ostiary.cli.output import print_json, safe

    if not yes:
        plan = _run(lambda access: access.forget(text, preview=True))
        if not plan["places"] and not plan["sessions"] and not plan["versions"]:
            left = " ".join(plan["left"])
            raise BadInput(f"nothing that can be erased holds that text. {left}".strip())
        if as_json:
            print_json(plan)
            print("Nothing was erased. Say --yes to erase it.", file=sys.stderr)
            return
        for place, entry in zip(plan["places"], plan["entries"], strict=False):
            print(f"{safe(place)}  {safe(entry).replace(chr(10), ' ')[:_SHOWN]}")
        print(f"and {plan['versions']} stored versions, {len(plan['sessions'])} conversations that hold it.")
        for line in plan["left"]:
            print(f"It stays where: {safe(line)}")
        if not sys.stdin.isatty():
            raise BadInput("nothing was erased", hint="Say --yes to erase it without being asked.")
        if not typer.confirm("Erase it for ever?", default=False, err=True):
            print("Nothing was erased.")
            return
    done = _run(lambda access: access.forget(text, preview=False))
    if as_json:
        print_json(done)
        return
    print(
        f"Forgotten: {done['entries']} notes, {done['versions']} versions, {done['turns']} turns, {done['summaries']} summaries."
    )
    for notice in done["notices"]:
        print(safe(notice))


@app.command()
def confirm(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids, as `ostiary memory list --waiting` shows them.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that wait.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Take them out instead.")] = False,
    area: Area = "",
    agent: Agent = "main",
    as_json: AsJson = False,
) -> None:
    """Vouch for notes that wait, or reject them."""
    from ostiary.cli.output import print_json, safe
    from ostiary.cli.vault_access import Access

    if bool(ids) == everything:
        raise BadInput("say which notes, or --all", hint="See `ostiary memory list --waiting`.")

    async def settle(access: Access) -> Any:
        chosen = ids or [each["id"] for each in (await access.notes(agent))["waiting"]]
        return await access.settle(chosen, area=area, agent=agent, reject=reject) if chosen else []

    settled = _run(settle)
    if as_json:
        print_json(settled)
        return
    for each in settled:
        where = f"now {each['path']}#L{each['line']}" if each["path"] else "rejected"
        print(f"{each['id']}  {where}  {safe(each['text']).replace(chr(10), ' ')[:_SHOWN]}")
    if not settled:
        print("Nothing waits.")


@app.command()
def status(as_json: AsJson = False) -> None:
    """What memory holds and how its index is."""
    from dataclasses import asdict

    from ostiary.cli.output import print_json
    from ostiary.cli.vault_access import MEMORY

    found = _run(lambda access: access.status())
    use = next((each for each in found.collections if each.collection == MEMORY), None)
    index = found.index
    if as_json:
        print_json({"holder": found.holder, "memory": None if use is None else asdict(use), "index": asdict(index)})
        return
    print(f"held by {found.holder}")
    print(f"{use.documents if use else 0:,} notes, {use.bytes if use else 0:,} bytes")
    waits = f", {index.waiting:,} wait" if index.waiting else ""
    print(f"index: {index.documents:,} documents, {index.chunks:,} passages{waits}; {index.embedder or 'words alone'}")
    if index.rebuilding is not None:
        print(f"a new index is being made: {index.rebuilding:.0%}")
    if index.problem:
        print(f"problem: {index.problem}")


@app.command()
def reindex(as_json: AsJson = False) -> None:
    """Make the index anew; it is derived from the notes, so nothing can be lost."""
    from ostiary.cli.output import print_json
    from ostiary.cli.progress import progress
    from ostiary.cli.vault_access import Access

    begun = time.monotonic()
    with progress() as shown:

        async def act(access: Access) -> Any:
            await access.reindex(lambda part: shown.show(f"indexing {part:.0%}"))
            return (await access.status()).index

        index = _run(act)
    seconds = time.monotonic() - begun
    if as_json:
        print_json({"documents": index.documents, "passages": index.chunks, "seconds": round(seconds, 3)})
    else:
        print(f"{index.documents:,} documents, {index.chunks:,} passages ({seconds:.1f} s)")


def _run(act: Any) -> Any:
    from ostiary.cli import vault_access

    return vault_access.run(act)


def _origin(each: Mapping[str, Any]) -> str:
    from ostiary.cli.moments import shown
    from ostiary.cli.output import safe

    lines = [
        f"{each['path']}#L{each['start']}",
        *(f"  {line}" for line in each["text"].splitlines()),
        f"  by {each['author']} on {shown(each['at'])}, version {each['version']}, trust {each['trust']}",
    ]
    if not each["is_confirmed"]:
        lines.append("  nobody has confirmed it yet")
    if each["sources"]:
        lines.append(f"  from {', '.join(each['sources'])}")
    if each["session"]:
        lines.append(f"  in {each['session']}, turn {each['turn']}")
    lines += [f"  > {line}" for line in each["words"].splitlines()[:10]]
    return safe("\n".join(lines))
