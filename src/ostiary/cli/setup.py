"""`ostiary setup`: make what is missing, overwrite nothing."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer

CONFIG = """\
// Ostiary's configuration (JSON5: comments and trailing commas are fine). Every key has a default, so an empty file works.
// `ostiary config show --explain` prints what is in force and why; `ostiary doctor` checks it.
{
  // Who may do what, as a whole: personal, open, team or vault.
  // posture: "personal",

  // Without a key the embedded model answers. With one, for example:
  // agents: { defaults: { model: { primary: "anthropic/claude-sonnet-5" } } },
  // models: { providers: { anthropic: { apiKey: "${ANTHROPIC_API_KEY}" } } },

  // gateway: { port: 18789 },
}
"""


NEXT = """
Next:  ostiary chat      talk to it here
       ostiary up        run the gateway
       ostiary doctor    check the house"""


def register(app: "typer.Typer") -> None:
    import typer

    @app.command()
    def setup(
        home: Annotated[Path | None, typer.Option(help="The state directory.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    ) -> None:
        """Make the state directory, configuration, keys and the assistant's own files. Safe to repeat."""
        from ostiary.cli.home import home as found
        from ostiary.cli.output import print_json

        place = found(home)
        steps = make(place)
        if as_json:
            print_json({"home": str(place), "steps": [{"what": what, "made": made} for what, made in steps]})
            return
        for what, made in steps:
            print(f"{'made' if made else 'kept'}  {what}")
        print(NEXT)


def make(home: Path) -> list[tuple[str, bool]]:
    """Each thing, and whether it was made just now. Raises OstiaryError."""
    from ostiary.assembly.config.files import write_private
    from ostiary.assembly.config.paths import config_path
    from ostiary.cli.client import find_gateway

    steps = [(f"{home}", _directory(home))]
    config = config_path(home, os.environ)
    steps.append((f"{config}", not config.exists()))
    if not config.exists():
        write_private(config, CONFIG)
    had_store = (home / "bots").exists()
    if find_gateway(home) is None:
        _open_once(home)
    steps.append(("the encrypted store, its key, the gateway's token, the assistant's files", not had_store))
    return steps


def _directory(home: Path) -> bool:
    from ostiary.contracts.errors import BadInput

    try:
        made = not home.exists()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.chmod(0o700)
    except OSError as error:
        raise BadInput(f"{home} cannot be made: {error.strerror}", hint="Choose another with --home or OSTIARY_HOME.") from None
    return made


def _open_once(home: Path) -> None:
    """Opening the engine makes what it needs and finds it there the next time."""
    import anyio

    from ostiary.assembly.gateway import open_engine

    async def open_and_close() -> None:
        async with open_engine(home):
            pass

    anyio.run(open_and_close)
