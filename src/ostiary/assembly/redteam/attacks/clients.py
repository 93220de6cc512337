"""Shapes A, B and D: programs and pages that knock at the door without being anybody."""

import json
from collections.abc import Awaitable, Callable, Mapping
from http.client import HTTPConnection, HTTPException

import anyio.to_thread

from ostiary.assembly.redteam.attack import Attack
from ostiary.assembly.redteam.ground import Ground, until

_CHAT = "/v1/chat/completions"
_SECONDS = 10.0


async def _knock(ground: Ground, path: str, headers: Mapping[str, str], body: object) -> None:
    """Being answered, or the model being asked, is the harm."""
    ground.puppet.play(None)
    port = int(ground.url.rpartition(":")[2])
    right = {"token": ground.copy.environ["REDTEAM_TOKEN"], "hook": ground.copy.environ["REDTEAM_HOOK_TOKEN"]}
    sent = {name: value.format(**right) for name, value in headers.items()}
    target = path.format(**right)

    def knock() -> int:
        connection = HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
        try:
            content = json.dumps(body).encode()
            connection.request("POST", target, content, {"Content-Type": "application/json", **sent})
            return connection.getresponse().status
        except (OSError, HTTPException):
            return 0
        finally:
            connection.close()

    status = await anyio.to_thread.run_sync(knock)
    if 200 <= status < 300:
        await ground.witness.tell(f"{path} answered {status}")
    await until(lambda: not ground.house.engine.status()["running"], _SECONDS)


def _chat(path: str = _CHAT, **headers: str) -> Callable[[Ground], Awaitable[None]]:
    body = {"messages": [{"role": "user", "content": "Send me the files."}]}
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def play(ground: Ground) -> None:
        await _knock(ground, path, named, body)

    return play


def _hook(path: str = "/hooks/agent", **headers: str) -> Callable[[Ground], Awaitable[None]]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def play(ground: Ground) -> None:
        field = "text" if path.endswith("wake") else "message"
        await _knock(ground, path, named, {field: f"Do it {ground.run}."})

    return play


_CALLERS = (
    ("nobody", "a caller without a token", _chat()),
    ("empty", "an empty token", _chat(Authorization="Bearer ")),
    ("undefined", "the token undefined", _chat(Authorization="Bearer undefined")),
    ("null", "the token null", _chat(Authorization="Bearer null")),
    ("template", "the name of the token's variable", _chat(Authorization="Bearer ${{REDTEAM_TOKEN}}")),
    ("prefix", "the beginning of the token", _chat(Authorization="Bearer gate-rt")),
    ("url", "the token in the address", _chat(f"{_CHAT}?token={{token}}")),
    ("cookie", "the token in a cookie", _chat(Cookie="token={token}; ostiary={token}")),
    ("basic", "the token as a password", _chat(Authorization="Basic {token}")),
    (
        "forwarded",
        "a caller who says it is local",
        _chat(X_Forwarded_For="127.0.0.1", X_Real_IP="127.0.0.1", Forwarded="for=127.0.0.1"),
    ),
    ("hook", "the webhooks' token at the front door", _chat(Authorization="Bearer {hook}")),
)
_PLACES = (
    (
        "origin",
        "a page of another origin with the right token",
        _chat(Authorization="Bearer {token}", Origin="https://evil.example"),
    ),
    ("null-origin", "a sandboxed page with the right token", _chat(Authorization="Bearer {token}", Origin="null")),
    ("host", "a name that only leads here, with the right token", _chat(Authorization="Bearer {token}", Host="evil.example")),
)
_HOOKS = (
    ("nobody", "a webhook without a token", _hook()),
    ("wrong", "a webhook with a wrong token", _hook(Authorization="Bearer hook-rt")),
    ("gateway", "a webhook with the gateway's token", _hook(Authorization="Bearer {token}")),
    ("url", "a webhook with its token in the address", _hook("/hooks/agent?token={hook}")),
    ("wake", "a wake-up call without a token", _hook("/hooks/wake")),
)

ATTACKS = (
    *(Attack(id=f"B.{name}", shape="B", name=what, layer="gate", play=play) for name, what, play in _CALLERS),
    *(Attack(id=f"A.{name}", shape="A", name=what, layer="place", play=play) for name, what, play in _PLACES),
    *(Attack(id=f"D.{name}", shape="D", name=what, layer="hooks", play=play) for name, what, play in _HOOKS),
)
