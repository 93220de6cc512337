"""`ostiary approvals` and `ostiary undo`: answer the assistant, see and revoke what was granted, take back what it did."""

import time
from shlex import quote
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Id = Annotated[str, typer.Argument(help="The id of the question, as `ostiary approvals list` shows it.")]
_SECONDS = 15.0

app = typer.Typer(
    help="What waits for your yes, and what you have granted. There is no yes in advance: only to what you can read here.",
    no_args_is_help=True,
)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="approvals")
    root.command()(undo)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """What waits for an answer, whole; like questions are named together."""
    from ostiary.cli.asking import whole

    found = call("approvals.list", {})
    now = time.time()
    found["approvals"] = [
        each if each["whole"] else next(iter(call("approvals.list", {"id": each["id"]})["approvals"]), each)
        for each in found["approvals"]
    ]
    texts = [whole(each, now) for each in found["approvals"]]
    texts += [_alike(group) for group in found["groups"] if len(group["ids"]) > 1]
    _say("\n\n".join(texts) or "Nothing waits for an answer.", found, as_json)


@app.command()
def allow(
    id: Id,
    like: Annotated[str, typer.Option(help="Also allow like calls: one of the patterns offered, or one of your own.")] = "",
    for_: Annotated[str, typer.Option("--for", help="For how long like calls are allowed: 30m, 8h, 2d, at most 30d.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say yes: to this call alone, or with --for to like calls as well; without --like the narrowest pattern counts."""
    seconds = _span(for_) if for_ else 0.0
    pattern = like
    if like and not for_:
        seconds = 3600.0
    if for_ and not like:
        pattern = _narrowest(id)
    done = call("approvals.answer", {"id": id, "allow": True, "pattern": pattern, "seconds": seconds})
    wider = f"\nUntil {_moment(time.time() + seconds)} also without asking: {pattern} ({done['grant']})" if done["grant"] else ""
    also = f"\nAlso allowed by it: {', '.join(done['also'])}" if done["also"] else ""
    _say(f"Allowed: {done['id']}.{wider}{also}", done, as_json)


@app.command()
def deny(
    id: Id,
    note: Annotated[str, typer.Option(help="Why; the assistant is told.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say no."""
    done = call("approvals.answer", {"id": id, "allow": False, "note": note})
    _say(f"Refused: {done['id']}.", done, as_json)


@app.command()
def grants(as_json: AsJson = False) -> None:
    """What runs without asking, and until when."""
    from ostiary.cli.output import safe, table

    found = call("grants.list", {})
    rows = [(row["id"], row["tool"], safe(row["pattern"]), _moment(row["until"]), row["who"]) for row in found["grants"]]
    text = table(rows, ("GRANT", "TOOL", "PATTERN", "UNTIL", "FOR")) if rows else "Nothing is granted."
    _say(text, found, as_json)


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(help="The grant's id, as `ostiary approvals grants` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Take a grant back: like calls are asked about again."""
    gone = call("grants.revoke", {"id": id})
    _say(f"Revoked: {gone['tool']}: {gone['pattern']}.", gone, as_json)


def undo(
    turn: Annotated[str, typer.Argument(help="A turn's id. Default: the newest of the session that changed a file.")] = "",
    session: Annotated[str, typer.Option(help="The session's key, if no turn is named.")] = "agent:main:main",
    as_json: AsJson = False,
) -> None:
    """Take back what a turn did to files. What was changed since is left alone and named; exit code 1 if anything was."""
    done = call("changes.undo", {"turn": turn} if turn else {"key": session})
    lines = [f"Restored {path}." for path in done["restored"]] + [f"Removed {path}." for path in done["deleted"]]
    lines += [f"Left alone: {conflict}." for conflict in done["conflicts"]]
    _say("\n".join(lines) or "There was nothing to take back.", done, as_json)
    if done["conflicts"]:
        raise typer.Exit(1)


def call(method: str, params: dict[str, Any]) -> Any:
    """Of the running gateway. Raises OstiaryError."""
    import anyio

    from ostiary.cli.gateway import ask
    from ostiary.cli.home import home
    from ostiary.cli.up import first_of
    from ostiary.contracts.errors import OstiaryError

    try:
        return anyio.run(ask, home(), method, params, _SECONDS)
    except* OstiaryError as errors:
        raise first_of(errors) from None


def _narrowest(id: str) -> str:
    from ostiary.contracts.errors import BadInput

    found = next((each for each in call("approvals.list", {})["approvals"] if each["id"] == id.strip().lower()), None)
    if found is not None and not found["offers"]:
        raise BadInput("this can only be allowed once", hint="Leave out --for.")
    # Of one that waits no more the gateway says what became of it.
    return str(found["offers"][0]["pattern"]) if found is not None else ""


def _span(text: str) -> float:
    import re

    from ostiary.contracts.errors import BadInput

    found = re.fullmatch(r"(\d{1,4})\s*(s|min|m|h|d)", text.strip().lower())
    if found is None:
        raise BadInput(f"{text[:40]!r} is no time", hint="Write 30m, 8h or 2d.")
    return float(int(found[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}[found[2]])


def _alike(group: Any) -> str:
    offer = group["offer"]
    if offer is None:
        return f"Alike: {', '.join(group['ids'])}."
    return f"Alike: {', '.join(group['ids'])}. One yes covers them: {offer['text']}\n  --like {quote(offer['pattern'])} --for 1h"


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _say(words: str, data: Any, as_json: bool) -> None:
    from ostiary.cli.output import print_json, safe

    if as_json:
        print_json(data)
    else:
        print(safe(words))
