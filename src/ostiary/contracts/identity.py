"""Who speaks, and which conversation they are in. Identity is a type; it becomes a string in one place."""

import re

from ostiary.contracts.errors import BadInput
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.records import dataclass

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MAX_SCOPE = 512

OWNER = "owner"
EXTERNAL = "external"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The authority a message carries, fixed at intake; it never widens afterwards."""

    user: UserId
    role: str = EXTERNAL

    @property
    def is_owner(self) -> bool:
        return self.role == OWNER


@dataclass(frozen=True, slots=True)
class SessionKey:
    """`agent:<agent>:<scope>`; the scope says which people and places share the conversation."""

    agent: str
    scope: str

    def __str__(self) -> str:
        return f"agent:{self.agent}:{self.scope}"

    @classmethod
    def parse(cls, text: str) -> "SessionKey":
        """Raises BadInput unless `text` is exactly a key that `str` could have made."""
        head, _, rest = text.partition(":")
        agent, _, scope = rest.partition(":")
        if head != "agent" or not is_id(agent) or not scope or len(scope) > _MAX_SCOPE or not scope.isprintable():
            raise BadInput(f"{text[:80]!r} is not a session key", hint="Keys look like agent:main:main.")
        return cls(agent, scope)


def is_id(text: str) -> bool:
    """Agents, providers, accounts and profiles share one shape of id."""
    return _ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a message goes: which conversation, on whose authority, and where the answer returns to."""

    session: SessionKey
    principal: Principal
    reply_to: Address
    matched_by: str
