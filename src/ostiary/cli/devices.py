"""`ostiary devices`: who has paired, who asks to, and sending them away."""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from ostiary.gateway.auth import Caller
    from ostiary.gateway.auth.desk import DeviceDesk, Listing

T = TypeVar("T")
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Request = Annotated[str, typer.Argument(help="The code the device shows, or the request's id.")]
Device = Annotated[str, typer.Argument(help="The device's id, or its beginning.")]
_SHORTEST = 6

app = typer.Typer(help="Devices and browsers: who is in, who asks to come in.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="devices")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Devices and browsers that are in, and devices that ask to be paired."""
    from ostiary.cli.output import print_json

    found = _look()
    if as_json:
        print_json({"pending": [_pending(each) for each in found.pending], "devices": [_known(each) for each in found.devices]})
        return
    print("\n\n".join(_tables(found)) or "No devices yet. `ostiary gateway link` signs a browser in.")


@app.command()
def approve(
    request: Request,
    scopes: Annotated[str, typer.Option(help="Fewer rights than it asked for, such as read,chat.")] = "",
    as_json: AsJson = False,
) -> None:
    """Let a device in. Compare the code with the one it shows."""
    granted = _scopes(scopes)

    async def pair(desk: "DeviceDesk", by: "Caller") -> dict[str, Any]:
        device = await desk.approve(request, by, granted)
        return {"deviceId": device.id, "scopes": device.scopes}

    paired = _change("device.pair.approve", {"id": request.strip(), "scopes": granted}, pair)
    id, given = paired["deviceId"], paired["scopes"]
    _say(f"{id[:12]} is paired, with {', '.join(given)}.", {"device": id, "scopes": given}, as_json)


@app.command()
def reject(request: Request, as_json: AsJson = False) -> None:
    """Turn a request down."""
    _change("device.pair.reject", {"id": request.strip()}, lambda desk, by: desk.reject(request, by))
    _say(f"{request} is turned down.", {"request": request}, as_json)


@app.command()
def revoke(device: Device, as_json: AsJson = False) -> None:
    """Send a device or browser away: its token ends at once, its connections within a second."""
    id = _id(device)
    _change("device.revoke", {"id": id}, lambda desk, by: desk.revoke(id, by))
    _say(f"{id[:12]} is revoked.", {"device": id}, as_json)


@app.command()
def rotate(device: Device, as_json: AsJson = False) -> None:
    """Give a device a new token; the old one ends at once. The token is shown only here."""
    id = _id(device)

    async def renew(desk: "DeviceDesk", by: "Caller") -> dict[str, Any]:
        return {"deviceToken": await desk.rotate(id, by)}

    token = _change("device.token.rotate", {"id": id}, renew)["deviceToken"]
    _say(token, {"device": id, "token": token}, as_json)


def _say(words: str, data: dict[str, Any], as_json: bool) -> None:
    from ostiary.cli.output import print_json

    if as_json:
        print_json(data)
    else:
        print(words)


def _tables(found: "Listing") -> list[str]:
    from ostiary.cli.output import ago, safe, table

    now, parts = time.time(), []
    if found.pending:
        rows = [
            (each.code, safe(each.display_name)[:30], safe(each.platform)[:12], ",".join(each.scopes), ago(now - each.at))
            for each in found.pending
        ]
        parts.append("Asking to be paired:\n" + table(rows, ("CODE", "NAME", "PLATFORM", "WANTS", "ASKED")))
    if found.devices:
        rows = [
            (each.id[:12], each.kind, safe(each.display_name)[:30], ",".join(each.scopes), ago(now - each.seen_at))
            for each in found.devices
        ]
        parts.append(table(rows, ("ID", "KIND", "NAME", "SCOPES", "SEEN")))
    return parts


def _pending(request: Any) -> dict[str, Any]:
    return {
        "id": request.id,
        "device": request.device,
        "code": request.code,
        "name": request.display_name,
        "platform": request.platform,
        "scopes": request.scopes,
        "at": request.at,
        "expires_at": request.expires_at,
    }


def _known(device: Any) -> dict[str, Any]:
    return {
        "id": device.id,
        "kind": device.kind,
        "name": device.display_name,
        "platform": device.platform,
        "scopes": device.scopes,
        "created_at": device.created_at,
        "seen_at": device.seen_at,
    }


def _scopes(text: str) -> list[str] | None:
    """None if none were named. Raises BadInput for a word that is no scope."""
    from typing import get_args

    from ostiary.contracts.errors import BadInput
    from ostiary.gateway.auth import Scope

    named = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in named if word not in get_args(Scope)]
    if unknown:
        raise BadInput(f"{unknown[0]!r} is no scope", hint=f"Scopes are {', '.join(get_args(Scope))}.")
    return named or None


def _look() -> "Listing":
    async def look(desk: "DeviceDesk", by: "Caller") -> "Listing":
        return desk.list(by)

    return _act(look)


def _id(given: str) -> str:
    """Of the only device whose id begins so. Raises BadInput."""
    from ostiary.contracts.errors import BadInput

    ids = [each.id for each in _look().devices]
    found = [id for id in ids if id == given] or [id for id in ids if len(given) >= _SHORTEST and id.startswith(given)]
    if len(found) != 1:
        what = "more than one device is" if found else "no device is"
        raise BadInput(f"{what} called {given[:80]}", hint="`ostiary devices list` shows them.")
    return found[0]


def _act(act: "Callable[[DeviceDesk, Caller], Awaitable[T]]") -> T:
    """As the owner: who can write the state directory is. Works with or without a running gateway."""
    import os

    import anyio

    from ostiary.assembly.access import open_desk
    from ostiary.gateway.auth import owner

    place = _place()

    async def work() -> T:
        async with open_desk(place, os.environ) as desk:
            return await act(desk, owner("local"))

    return anyio.run(work)


def _change(method: str, params: dict[str, Any], act: "Callable[[DeviceDesk, Caller], Awaitable[Any]]") -> Any:
    """Through the gateway that runs, which writes it into the audit log too; without one, here, in the same way."""
    import anyio

    from ostiary.cli.device_changes import change
    from ostiary.cli.up import first_of
    from ostiary.contracts.errors import OstiaryError

    try:
        return anyio.run(change, _place(), method, params, act)
    except* OstiaryError as errors:
        raise first_of(errors) from None


def _place() -> "Path":
    """The state directory. Raises BadInput if nobody was ever let in."""
    from ostiary.assembly.door import GATEWAY_DB
    from ostiary.cli.home import home
    from ostiary.contracts.errors import BadInput

    place = home()
    if not (place / GATEWAY_DB).exists():
        raise BadInput(f"nobody has paired with {place} yet", hint="Start the gateway first: `ostiary gateway start`.")
    return place
