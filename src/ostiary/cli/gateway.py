"""`ostiary gateway`: run it, in the foreground or the background, ask it things, sign a browser in."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ostiary.contracts.errors import BadInput, OstiaryError

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any free port.")]
Force = Annotated[
    bool, typer.Option("--force", help="End it at once if it does not stop in time; turns go on at the next start.")
]

app = typer.Typer(help="Run the gateway, ask it things, sign a browser in.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="gateway")


@app.command()
def run(
    port: Port = None,
    home: Annotated[Path | None, typer.Option(help="The state directory.")] = None,
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Log to the terminal as JSON lines.")] = False,
) -> None:
    """Run it in the foreground until it is stopped (Ctrl-C), as `ostiary up` does."""
    from ostiary.cli.up import Asked
    from ostiary.cli.up import run as up

    up(Asked(port, home, json_logs))


@app.command()
def start(port: Port = None, as_json: AsJson = False) -> None:
    """Start it in the background; done when it is ready."""
    from ostiary.cli import background
    from ostiary.cli.home import home

    _say(background.start(home(), port), as_json=as_json)


@app.command()
def stop(force: Force = False) -> None:
    """Stop it in good order: running turns get their time, the rest goes on at the next start. Exit code 3 if none runs."""
    from ostiary.cli import background
    from ostiary.cli.home import home

    place = home()
    stopped = background.stop(place, seconds=background.patience(place), force=force)
    if stopped is None:
        print(f"not running ({place})")
        raise typer.Exit(3)
    print(f"stopped (process {stopped.pid})")


@app.command()
def restart(port: Port = None, force: Force = False, as_json: AsJson = False) -> None:
    """Stop it if it runs, and start it again: by the service if that runs it, else in the background."""
    from ostiary.assembly import service
    from ostiary.cli import background
    from ostiary.cli.home import home

    place = home()
    current = background.running(place)
    if current is not None and service.main_pid() == current.pid:
        service.restart()
        print("restarted by the service")
        return
    background.stop(place, seconds=background.patience(place), force=force)
    _say(background.start(place, port), as_json=as_json)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Say whether it runs and is ready. Exit code 3 if it does not run, 1 if it is not ready."""
    from ostiary.cli import background
    from ostiary.cli.home import home
    from ostiary.cli.output import print_json

    place = home()
    found = background.running(place)
    if found is None:
        seen: dict[str, Any] = {"running": False, "home": str(place)}
        line = f"not running ({place})"
    else:
        missing = _missing(place, found.url)
        seen = {"running": True, "ready": not missing, "missing": missing, "pid": found.pid, "url": found.url, "home": str(place)}
        state = f"not ready: no {', '.join(missing)}" if missing else "ready"
        line = f"{state} at {found.url} (process {found.pid}, {place})"
    if as_json:
        print_json(seen)
    else:
        print(line)
    if not seen["running"] or seen["missing"]:
        raise typer.Exit(1 if seen["running"] else 3)


@app.command()
def call(
    method: Annotated[str, typer.Argument(help="A method of the protocol, such as health.")],
    params: Annotated[str, typer.Option(help="Its parameters as a JSON object; - reads standard input.")] = "{}",
    seconds: Annotated[float, typer.Option(min=0.1, max=3600, help="How long to wait for the answer.")] = 60.0,
) -> None:
    """Call a method of the running gateway over its socket and print the answer as JSON.

    A method with an effect is given a fresh idempotencyKey unless the parameters hold one."""
    import anyio

    from ostiary.cli.home import home
    from ostiary.cli.output import print_json
    from ostiary.cli.up import first_of

    try:
        answer = anyio.run(ask, home(), method, _object(params), seconds)
    except* OstiaryError as errors:
        raise first_of(errors) from None
    print_json(answer)


@app.command()
def link(as_json: AsJson = False) -> None:
    """Make a link that signs one browser in, once, within ten minutes."""
    import os

    from ostiary.assembly.access import make_link
    from ostiary.cli import background
    from ostiary.cli.home import home
    from ostiary.cli.output import print_json

    place = home()
    found = background.running(place)
    if found is None:
        raise BadInput(f"no gateway runs on {place}", hint="Start it: `ostiary gateway start`.")
    made = make_link(place, os.environ, found.url)
    if not made:
        raise BadInput("the web page is switched off", hint="Switch it on: `ostiary config set gateway.controlUi.enabled true`.")
    if as_json:
        print_json({"url": made})
    else:
        print(made)


def _say(run: Any, *, as_json: bool) -> None:
    from ostiary.cli.output import print_json

    if as_json:
        print_json({"pid": run.pid, "url": run.url})
    else:
        print(f"ready {run.url} (process {run.pid})")


def _missing(home: Path, url: str) -> list[str]:
    """What the gateway says it lacks; `answer` if it says nothing."""
    import os
    from urllib.error import HTTPError
    from urllib.request import HTTPSHandler, ProxyHandler, build_opener

    from ostiary.assembly.access import own_tls

    tls = own_tls(home, os.environ, url)
    opener = build_opener(ProxyHandler({}), *([HTTPSHandler(context=tls)] if tls is not None else []))
    try:
        with opener.open(f"{url}/readyz", timeout=5):
            return []
    except HTTPError as error:
        try:
            return [str(each) for each in json.loads(error.read(65_536))["missing"]]
        except (OSError, ValueError, KeyError, TypeError):
            return ["answer"]
    except OSError:
        return ["answer"]


async def ask(home: Path, method: str, params: dict[str, Any], seconds: float) -> Any:
    """One method of the running gateway; what needs an idempotency key gets one. Raises OstiaryError."""
    import os

    from ostiary.assembly.access import own_tls
    from ostiary.cli import background
    from ostiary.client import connect
    from ostiary.gateway.methods import all_methods

    found = background.running(home)
    if found is None:
        raise BadInput(f"no gateway runs on {home}", hint="Start it: `ostiary gateway start`.")
    known = all_methods().get(method)
    if known is not None and known.has_effect and "idempotencyKey" not in params:
        from uuid import uuid4

        params = {**params, "idempotencyKey": uuid4().hex}
    async with connect(found.url, token=found.token, tls=own_tls(home, os.environ, found.url)) as gateway:
        return await gateway.call(method, params, seconds=seconds)


def _object(text: str) -> dict[str, Any]:
    import sys

    try:
        given = json.loads(sys.stdin.read() if text == "-" else text)
    except ValueError as error:
        raise BadInput(f"--params is not JSON: {error}", hint="Write an object, such as '{\"limit\": 5}'.") from None
    if not isinstance(given, dict):
        raise BadInput("--params is not a JSON object", hint="Write an object, such as '{\"limit\": 5}'.")
    return given
