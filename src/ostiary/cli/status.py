"""`ostiary status`: is it running, and what is it doing."""

from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from pathlib import Path

    import typer


def register(app: "typer.Typer") -> None:
    import typer

    @app.command()
    def status(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
        """Say whether the gateway runs, and what it is doing. Exit code 3 if it does not run."""
        from ostiary.cli.client import find_gateway
        from ostiary.cli.home import home
        from ostiary.cli.output import print_json

        place = home()
        gateway = find_gateway(place)
        seen: dict[str, Any] = {"home": str(place), "running": gateway is not None, **_hands(place)}
        if gateway is not None:
            seen = {**seen, "url": gateway.url, "engine": gateway.get("/v1/ostiary/status")}
        if as_json:
            print_json(seen)
        else:
            print(_lines(seen))
        if gateway is None:
            raise typer.Exit(3)


def _hands(place: "Path") -> dict[str, str]:
    """What commands and pages would run in; `ostiary doctor` tries it."""
    import os

    from ostiary.assembly.doctor_hands import availability
    from ostiary.contracts.errors import ConfigInvalid

    try:
        return availability(place, os.environ)
    except ConfigInvalid:
        return {}


def _lines(seen: dict[str, Any]) -> str:
    if not seen["running"]:
        return f"not running ({seen['home']})\nStart it with `ostiary up`, or talk to it at once with `ostiary chat`."
    facts = {
        **{name: seen[name] for name in ("home", "sandbox", "browser") if name in seen},
        **{name: value for name, value in seen["engine"].items() if not isinstance(value, dict | list)},
    }
    shown = {name.replace("_", " "): value for name, value in facts.items() if value != ""}
    wide = max(map(len, shown))
    return "\n".join([f"running at {seen['url']}", *(f"  {name:<{wide}}  {value}" for name, value in shown.items())])
