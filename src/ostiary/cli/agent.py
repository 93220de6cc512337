"""`ostiary agent`: one message, one answer. Against the running gateway if there is one, else in this process."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

if TYPE_CHECKING:
    import typer

_CANCELS = "X-Ostiary-Cancel-On-Disconnect"
_FLAGS = {"--json": "as_json", "--no-stream": "no_stream"}
_VALUES = {"--message": "message", "-m": "message", "--session": "session", "--model": "model"}


class Asked(NamedTuple):
    message: str = ""
    session: str = ""
    model: str = ""
    as_json: bool = False
    no_stream: bool = False


def try_quickly(arguments: list[str]) -> int | None:
    """The plain spellings, without loading the framework. None: not that plain, or no gateway runs."""
    asked = _parse(arguments)
    if asked is None or not asked.message:
        return None
    from ostiary.cli.client import find_gateway

    gateway = find_gateway(_home())
    if gateway is None:
        return None
    return _over_http(gateway, asked)


def register(app: "typer.Typer") -> None:
    import typer

    @app.command()
    def agent(
        message: Annotated[str, typer.Option("--message", "-m", help="What to say; - reads it from standard input.")],
        session: Annotated[str, typer.Option(help="A session's key, or a name of your own. Default: the main one.")] = "",
        model: Annotated[str, typer.Option(help="A model for this turn, as provider/model or an alias.")] = "",
        as_json: Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")] = False,
        no_stream: Annotated[bool, typer.Option("--no-stream", help="Print the answer once it is complete.")] = False,
    ) -> None:
        """Say one thing and print the answer.

        What the assistant may do only with your yes is shown and asked about here. There is no option to say yes in advance:
        it would allow what nobody has read. `ostiary approvals allow` with a pattern and a time allows what you know."""
        from ostiary.cli.client import find_gateway
        from ostiary.cli.home import home

        asked = Asked(message, session, model, as_json, no_stream)
        place = home()
        gateway = find_gateway(place)
        raise typer.Exit(_over_http(gateway, asked) if gateway is not None else _in_process(place, asked))


def target(session: str) -> tuple[dict[str, Any], dict[str, str]]:
    """How a session that a person named is told to the door: a key as a header, a name as `user`."""
    if not session or session.startswith("agent:"):
        return {}, {"X-Ostiary-Session": session or "agent:main:main"}
    return {"user": session}, {}


def _parse(arguments: list[str]) -> Asked | None:
    found: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word in _FLAGS:
            found[_FLAGS[word]] = True
        elif word in _VALUES and rest:
            found[_VALUES[word]] = rest.pop(0)
        elif equals and name in _VALUES and name.startswith("--"):
            found[_VALUES[name]] = value
        else:
            return None
    return Asked(**found)


def _home() -> Path:
    """As assembly.config.paths, for the usual cases; a profile takes the long way."""
    given = os.environ.get("OSTIARY_HOME", "").strip()
    if given or not os.environ.get("OSTIARY_PROFILE"):
        return Path(given).expanduser() if given else Path.home() / ".ostiary"
    from ostiary.cli.home import home

    return home()


def _over_http(gateway: Any, asked: Asked, *, cancels: bool = False) -> int:
    """`cancels`: hanging up (Ctrl-C) ends the turn, for there is nobody to go on with it."""
    body, headers = request(asked)
    headers["X-Ostiary-Detail"] = "true"
    if cancels:
        headers[_CANCELS] = "true"
    # The same key twice is the same message: what was followed for its questions is then asked for whole.
    key = os.urandom(16).hex()
    is_shown = sys.stdout.isatty() and not (asked.as_json or asked.no_stream)
    for piece in gateway.stream(body, headers, key=key):
        if piece.kind == "asked":
            _put(gateway, body, headers, piece.fields)
        elif is_shown:
            _show(piece)
    if is_shown:
        print()
        return 0
    return _print(gateway.ask(body, headers, key=key), as_json=asked.as_json)


def _show(piece: Any) -> None:
    from ostiary.cli.output import safe

    if piece.kind == "restart":
        print("\n[the answer starts again]", file=sys.stderr)
    elif piece.kind == "text":
        print(safe(piece.text), end="", flush=True)
    elif piece.kind == "end" and piece.text == "tool_calls":
        print("[waiting for a tool of the client]", file=sys.stderr)


def _put(gateway: Any, body: dict[str, Any], headers: dict[str, str], question: dict[str, Any]) -> None:
    from ostiary.cli.asking import put

    def send(command: str) -> str:
        said = {**body, "messages": [{"role": "user", "content": command}]}
        own = {name: value for name, value in headers.items() if name != _CANCELS}
        return str(gateway.ask(said, own)["choices"][0]["message"]["content"] or "")

    put(question, send)


def request(asked: Asked) -> tuple[dict[str, Any], dict[str, str]]:
    text = sys.stdin.read() if asked.message == "-" else asked.message
    more, headers = target(asked.session)
    return {"model": asked.model or "ostiary", "messages": [{"role": "user", "content": text}], **more}, headers


def _print(answer: Any, *, as_json: bool) -> int:
    from ostiary.cli.output import print_json, safe

    if as_json:
        print_json(answer)
    else:
        text = answer["choices"][0]["message"]["content"] or ""
        print(safe(text) if sys.stdout.isatty() else text)
    return 0


def _in_process(home: Path, asked: Asked) -> int:
    """Without a gateway: the same door, opened for this one request on a port of its own."""
    from ostiary.assembly.logging import console
    from ostiary.cli.own_gateway import own_gateway_in_turn

    console()
    with own_gateway_in_turn(home) as gateway:
        return _over_http(gateway, asked, cancels=True)
