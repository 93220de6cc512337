"""Slash commands: what one is, who may use it, and where they are all listed.

A command acts with the sender's authority, never with the house's. It is answered without the model and waits in no lane.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal

from ostiary.contracts.engine import Controls
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import InboundMessage
from ostiary.contracts.model import ModelCatalogue
from ostiary.contracts.records import dataclass
from ostiary.core.routing.scopes import place_of

Authority = Literal["anyone", "own", "owner"]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_HEAD = re.compile(r"/([A-Za-z][A-Za-z0-9_-]{0,31})(?:@([A-Za-z0-9_]{1,64}))?(?::|(?=\s)|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """One use of a command. `args` is what followed the name, trimmed."""

    name: str
    args: str
    session: SessionKey
    principal: Principal
    message: InboundMessage
    controls: Controls
    catalogue: ModelCatalogue
    commands: "Commands"

    @property
    def words(self) -> list[str]:
        return self.args.split()

    async def change(self, settings: Mapping[str, str]) -> None:
        """Keep settings for the session; an empty value returns to the default."""
        for name, value in settings.items():
            await self.controls.change_setting(self.session, name, value, by=self.principal)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReply:
    """`text` answers the sender. `pass_on` goes to the model as if it alone had been written."""

    text: str = ""
    pass_on: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """How a command also works inside a longer message, for that message only.

    `takes` counts how many of the words behind it belong to it; 0 means it is no directive there.
    `settings` gives what it sets; raises BadInput.
    """

    takes: Callable[[Sequence[str]], int]
    settings: Callable[[CommandCall], Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`run` raises OstiaryError for what the sender should read.

    `authority`: `anyone` who may speak; `own`: the owner anywhere, others only in a private conversation of theirs;
    `owner`: the owner. `is_shortcut` commands take no arguments and also work in the middle of a message.
    """

    name: str
    summary: str
    run: Callable[[CommandCall], Awaitable[CommandReply]]
    authority: Authority = "owner"
    usage: str = ""
    aliases: tuple[str, ...] = ()
    is_shortcut: bool = False
    directive: Directive | None = None
    origin: str = "built in"

    def may_be_used_by(self, principal: Principal, session: SessionKey) -> bool:
        if principal.is_owner or self.authority == "anyone":
            return True
        return self.authority == "own" and place_of(session.scope).source == "direct"


@dataclass(slots=True)
class Commands:
    """All commands by name and alias. Later parts and plugins add theirs."""

    _by_word: dict[str, Command] = field(default_factory=dict)
    _listed: list[Command] = field(default_factory=list)

    def add(self, command: Command) -> None:
        """Raises BadInput for a name that cannot be typed or is taken, naming both origins."""
        for word in (command.name, *command.aliases):
            if not _NAME.fullmatch(word):
                raise BadInput(f"{word[:40]!r} cannot be a command's name", hint="Use lower-case letters, digits, - and _.")
            taken = self._by_word.get(word)
            if taken is not None:
                raise BadInput(f"/{word} of {command.origin} is already taken by /{taken.name} ({taken.origin})")
        for word in (command.name, *command.aliases):
            self._by_word[word] = command
        self._listed.append(command)

    def find(self, word: str) -> Command | None:
        return self._by_word.get(word.lower())

    def all(self) -> tuple[Command, ...]:
        return tuple(sorted(self._listed, key=lambda command: command.name))

    def usable_by(self, principal: Principal, session: SessionKey) -> tuple[Command, ...]:
        return tuple(command for command in self.all() if command.may_be_used_by(principal, session))


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A text's first word read as `/name`, `/name: ...` or `/name@bot ...`."""

    name: str
    bot: str
    args: str


def parse_head(text: str) -> Head | None:
    """None if the text does not begin with a slash word; `/usr/bin` is not one."""
    text = text.strip()
    found = _HEAD.match(text)
    if found is None:
        return None
    return Head(name=found[1].lower(), bot=found[2] or "", args=text[found.end() :].strip())
