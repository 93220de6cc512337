"""`ostiary wake|sleep|kill|enable|disable`: the owner's control from the terminal."""

from pathlib import Path
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
_SECONDS = 15.0
_TOOLS = "Tools: names, group:<name>, globs, mcp:<server> or skill__<name>."


def register(root: typer.Typer) -> None:
    root.command()(wake)
    root.command()(sleep)
    root.command()(kill)
    root.command()(enable)
    root.command()(disable)


def wake(as_json: AsJson = False) -> None:
    """Wake the house: it listens on its channels, and every tool is switched off."""
    seen = _call("control.wake", {"reason": "ostiary wake"})
    _say("awake" if seen["state"] != "action_pending" else "awake; something waits for your yes", seen, as_json)


def sleep(as_json: AsJson = False) -> None:
    """Put the house to sleep: it listens to nobody but you. What was accepted is still answered."""
    done = _call("control.sleep", {"reason": "ostiary sleep"})
    _say("asleep" + _stopped(done), done, as_json)


def kill(as_json: AsJson = False) -> None:
    """Stop everything at once: turns, processes, unsent messages, jobs. `ostiary wake` starts it again.

    Works without a running gateway too: the next start then brings nothing back. Exit code 1 if something did not stop."""
    import anyio

    from ostiary.cli import background
    from ostiary.cli.home import home

    place = home()
    if background.running(place) is None:
        _need_store(place)
        anyio.run(_kill_at_rest, place)
        _say("shut down; no gateway runs, and the next start brings nothing back", {"state": "shutdown"}, as_json)
        return
    done = _call("control.kill", {"reason": "ostiary kill"})
    _say(f"shut down in {done['seconds']:.2f} s" + _stopped(done), done, as_json)
    if done["unfinished"]:
        raise typer.Exit(1)


def enable(
    tools: Annotated[list[str], typer.Argument(help=_TOOLS)],
    for_: Annotated[str, typer.Option("--for", help="How long: 30m, 2h, at most 24h.")] = "1h",
    until_sleep: Annotated[bool, typer.Option("--until-sleep", help="Until the house sleeps, instead of a time.")] = False,
    as_json: AsJson = False,
) -> None:
    """Switch tools on for a time."""
    from ostiary.core.control.switches import parse_span, patterns_of

    seconds = None if until_sleep else parse_span(for_.strip().lower())
    done = _call("control.enable", {"patterns": list(patterns_of(tools)), "seconds": seconds})
    _say(_switches(done), done, as_json)


def disable(
    tools: Annotated[list[str] | None, typer.Argument(help=f"{_TOOLS} None: all of them.")] = None, as_json: AsJson = False
) -> None:
    """Switch tools off."""
    from ostiary.core.control.switches import patterns_of

    done = _call("control.disable", {"patterns": list(patterns_of(tools)) if tools else []})
    _say(_switches(done), done, as_json)


def _call(method: str, params: dict[str, Any]) -> Any:
    """Of the running gateway. Raises OstiaryError."""
    import anyio

    from ostiary.cli.home import home
    from ostiary.cli.up import first_of
    from ostiary.contracts.errors import OstiaryError

    try:
        return anyio.run(_ask, home(), method, params)
    except* OstiaryError as errors:
        raise first_of(errors) from None


async def _ask(home: Path, method: str, params: dict[str, Any]) -> Any:
    import os
    from uuid import uuid4

    from ostiary.assembly.access import own_tls
    from ostiary.cli import background
    from ostiary.client import connect
    from ostiary.contracts.errors import BadInput

    found = background.running(home)
    if found is None:
        raise BadInput(f"no gateway runs on {home}", hint="Start it: `ostiary gateway start`.")
    async with connect(found.url, token=found.token, tls=own_tls(home, os.environ, found.url)) as gateway:
        return await gateway.call(method, {**params, "idempotencyKey": uuid4().hex}, seconds=_SECONDS)


async def _kill_at_rest(home: Path) -> None:
    from ostiary.assembly.control import kill_at_rest
    from ostiary.assembly.machine import SystemClock
    from ostiary.cli.own_store import own_store

    async with own_store(home) as store:
        await kill_at_rest(store, SystemClock().now(), reason="ostiary kill")


def _need_store(home: Path) -> None:
    from ostiary.assembly.vault import has_store
    from ostiary.contracts.errors import BadInput

    if not has_store(home):
        raise BadInput(f"there is no house at {home} yet", hint="Nothing can run. `ostiary up` starts one.")


def _stopped(done: Any) -> str:
    counts = [f"{done[name]} {name}" for name in ("turns", "queued", "processes", "sends", "jobs", "grants") if done[name]]
    told = f"; stopped {', '.join(counts)}" if counts else ""
    return told + (f"; NOT stopped yet: {', '.join(done['unfinished'])}" if done["unfinished"] else "")


def _switches(done: Any) -> str:
    import time

    from ostiary.core.routing.control_commands import span

    now = time.time()
    rows = []
    for row in done["switches"]:
        left = f"for {span(row['until'] - now)}" if row["until"] else "until sleep"
        rows.append(f"{row['pattern']}: {left if row['on'] else 'off'}")
    return "\n".join(rows) or "every tool is switched off"


def _say(words: str, data: Any, as_json: bool) -> None:
    from ostiary.cli.output import print_json

    if as_json:
        print_json(data)
    else:
        print(words)
