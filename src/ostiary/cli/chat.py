"""`ostiary chat`: talk in the terminal, over the same door as every other program."""

import logging
import sys
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer


def register(app: "typer.Typer") -> None:
    import typer

    @app.command()
    def chat(
        session: Annotated[str, typer.Option(help="A session's key, or a name of your own. Default: the main one.")] = "",
    ) -> None:
        """Talk in the terminal. Starts a gateway for as long as the chat is open if none runs."""
        run(session)


def run(session: str) -> None:
    """Until the person leaves. Raises OstiaryError if there is no gateway and none can be started."""
    from ostiary.cli.client import find_gateway
    from ostiary.cli.home import home
    from ostiary.contracts.errors import BadInput

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("chat needs a terminal", hint="From a program use `ostiary agent -m <text>`.")
    place = home()
    gateway = find_gateway(place)
    if gateway is not None:
        _show(gateway, session)
        return
    from ostiary.cli.own_gateway import own_gateway

    # The screen is drawn over; what is logged goes to the file.
    logging.getLogger().addHandler(logging.NullHandler())
    print("Starting …", end="\r", flush=True)
    with own_gateway(place, leaves_at_once=True) as own:
        _show(own, session)


def _show(gateway: object, session: str) -> None:
    from ostiary.cli.chat_screen import ChatScreen
    from ostiary.cli.client import Gateway

    if isinstance(gateway, Gateway):
        ChatScreen(gateway, session).run()
