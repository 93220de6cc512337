"""`ostiary service`: let the system run the gateway."""

import sys
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]

app = typer.Typer(help="Let the system run the gateway, from login to logout.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="service")


@app.command()
def install(
    show: Annotated[bool, typer.Option("--print", help="Only print what would be written.")] = False,
) -> None:
    """Write the service's file, start it now and at each login. A file that somebody else wrote is left alone."""
    import os

    from ostiary.assembly import service
    from ostiary.assembly.config.load import load
    from ostiary.assembly.house import prepare_home
    from ostiary.cli.home import home

    place = home()
    drain = load(place, os.environ).config.gateway.drain_seconds
    planned = service.plan(place, drain_seconds=drain)
    if show:
        print(f"# {planned.path}\n{planned.text}", end="")
        return
    prepare_home(place)
    problem = service.install(planned)
    print(f"installed {planned.path}")
    if problem:
        print(f"warning: it is not started: {problem}", file=sys.stderr)
        raise typer.Exit(1)
    if sys.platform.startswith("linux"):
        print("It runs while you are logged in. To keep it running: loginctl enable-linger")


@app.command()
def uninstall() -> None:
    """Stop the service and remove its file. Nothing of the state directory is touched."""
    from ostiary.assembly import service

    path = service.place()
    print(f"removed {path}" if service.uninstall(path) else f"not installed ({path})")


@app.command()
def status(as_json: AsJson = False) -> None:
    """Say whether the service is installed and runs. Exit code 3 if it does not."""
    from ostiary.assembly import service
    from ostiary.cli.output import print_json

    found = service.state(service.place())
    if as_json:
        print_json({"path": str(found.path), "installed": found.is_ours, "running": found.is_running})
    elif found.is_installed and not found.is_ours:
        print(f"{found.path} was not written by ostiary")
    else:
        print(
            f"{'running' if found.is_running else 'installed, not running' if found.is_ours else 'not installed'} ({found.path})"
        )
    if not found.is_running:
        raise typer.Exit(3)
