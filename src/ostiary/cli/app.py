"""The commands, gathered. Only the module of the command that was typed is loaded; `--help` loads all of them."""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

# In the order of `--help`: what a newcomer types first comes first.
COMMANDS = (
    "setup",
    "up",
    "chat",
    "agent",
    "status",
    "wake",
    "sleep",
    "kill",
    "enable",
    "disable",
    "approvals",
    "undo",
    "gateway",
    "devices",
    "sessions",
    "memory",
    "vault",
    "backup",
    "models",
    "config",
    "policy",
    "tools",
    "redteam",
    "service",
    "doctor",
    "security",
    "audit",
    "logs",
    "completion",
)

# Commands that share a module with others.
MODULES = dict.fromkeys(("wake", "sleep", "kill", "enable", "disable"), "control") | {"tools": "policy", "undo": "approvals"}

COMPLETE = "_OSTIARY_COMPLETE"


def build(only: str = "") -> typer.Typer:
    """The whole command line, or the part of it that serves one command."""
    app = typer.Typer(
        name="ostiary",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="A self-hosted assistant gateway: it decides who comes in, and it never hands over the keys.",
    )

    @app.callback()
    def root(
        debug: Annotated[
            bool, typer.Option("--debug", help="Show errors with their traceback; it comes before the command.")
        ] = False,
    ) -> None:
        if debug:
            os.environ["OSTIARY_DEBUG"] = "1"

    names = COMMANDS if only not in COMMANDS else (only,)
    for name in dict.fromkeys(MODULES.get(name, name) for name in names):
        import_module(f"ostiary.cli.{name}").register(app)

    @app.command()
    def version() -> None:
        """Print the version."""
        from ostiary import __version__

        typer.echo(f"ostiary {__version__}")

    return app


def run(arguments: Sequence[str]) -> int:
    """Gives the exit code. Raises OstiaryError for what the caller puts into a sentence."""
    first = next((word for word in arguments if not word.startswith("-")), "")
    completing = COMPLETE in os.environ
    if completing:
        from typer._completion_classes import completion_init

        completion_init()
    command = typer.main.get_command(build("" if completing else first))
    try:
        command.main(args=list(arguments), prog_name="ostiary")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1 if end.code else 0
    return 0
