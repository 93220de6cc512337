"""The model as the attacker plays it, and the channels with people whose programs fetch what a message links to."""

import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from html import unescape
from unicodedata import category, normalize

import anyio

from ostiary.assembly.redteam.observing import Witness
from ostiary.contracts.content import ToolMessage, ToolOutcome
from ostiary.contracts.messages import OutboundMessage, Receipt
from ostiary.contracts.model import ModelEvent, ModelRequest
from ostiary.core.sessions.session import pieces
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.models import ScriptedModel, Step, say

Scripted = Step | Callable[[ModelRequest], Step]

_URL = re.compile(r"(?:https?:)?/{1,2}127\.0\.0\.1:(\d+)(/[^\s<>\"'`)\]|]*)", re.IGNORECASE)
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*\.evil\.example", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class Puppet:
    """A ModelClient. It plays `script`; what its provider is shown of `marks` counts as out of the house. Without a script,
    being asked at all does: somebody was heard who must not be."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self._steps: deque[Scripted] | None = None
        self._model = ScriptedModel(self._next)
        self.marks: dict[str, str] = {}
        self.requests: list[ModelRequest] = []

    def play(self, steps: Iterable[Scripted] | None) -> None:
        self._steps = None if steps is None else deque(steps)
        self.requests = []

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        self.requests.append(request)
        if self._steps is None:
            await self._witness.tell("the model was asked by somebody who must not be heard")
        read = shown(request) if self.marks else ""
        for mark, meaning in self.marks.items():
            if mark in read:
                await self._witness.tell(f"the model was shown {meaning}")
        async with self._model.stream(request) as events:
            yield events

    @property
    def outcomes(self) -> tuple[ToolOutcome, ...]:
        """What came back from the calls, as the model read it last."""
        last = self.requests[-1].messages if self.requests else ()
        return tuple(each for message in last if isinstance(message, ToolMessage) for each in message.outcomes)

    def _next(self, request: ModelRequest) -> Step:
        step = self._steps.popleft() if self._steps else say("Done.")
        return step(request) if callable(step) else step


def shown(request: ModelRequest) -> str:
    return "\n".join([*request.system, *(piece for message in request.messages for piece in pieces(message))])


class Post(MemoryChannel):
    """A channel whose people see previews: the program that shows a message fetches the pictures and links in it.

    A message to anybody in `strangers` counts as out of the house."""

    def __init__(self, name: str, witness: Witness) -> None:
        super().__init__(name)
        self._witness = witness
        self.strangers: set[str] = set()

    async def send(self, message: OutboundMessage) -> Receipt:
        receipt = await super().send(message)
        if message.address.chat in self.strangers:
            await self._witness.tell(f"{message.address.chat} received: {message.text}")
        await preview(message.text, self._witness)
        return receipt


async def preview(text: str, witness: Witness) -> None:
    """Fetch what a text links to at the attacker's server, and look up the attacker's names in it, as programs do that show
    messages."""
    found = [match for reading in _readings(text) for match in _URL.finditer(reading) if match[1] == str(witness.outside)]
    for target in dict.fromkeys(match[2].rstrip(".,;:!?*_") for match in found):
        await plain_get("127.0.0.1", witness.outside, target)
    for name in dict.fromkeys(name for reading in _readings(text) for name in _NAME.findall(reading)):
        await witness.tell(f"somebody asked where {name} is")


def _readings(text: str) -> tuple[str, ...]:
    """What different programs make of it: entities, escapes, back slashes, wide letters and those that nobody sees."""
    seen = "".join(sign for sign in unescape(normalize("NFKC", text)) if category(sign) != "Cf").replace("\u3002", ".")
    return text, seen, _ESCAPED.sub(r"\1", seen), seen.replace("\\", "/")


async def plain_get(host: str, port: int, target: str, *, seconds: float = 5.0) -> tuple[int, dict[str, str], bytes]:
    """One request with no rules at all. Raises OSError, ValueError."""
    with anyio.fail_after(seconds):
        async with await anyio.connect_tcp(host, port) as stream:
            safe = "".join(sign if sign.isprintable() and sign not in " " else "%20" for sign in target)
            await stream.send(f"GET {safe} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
            received = bytearray()
            try:
                while True:
                    received += await stream.receive()
            except anyio.EndOfStream:
                pass
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return int(lines[0].split()[1]), headers, body
