"""The port to rules: an action goes in, a decision with its reason comes out."""

from collections.abc import Mapping
from typing import Protocol

from ostiary.contracts.content import Label
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One tool call about to happen. `label` is that of the context the model decided on.

    `provider` and `model` are whose idea it is. `reply_to` is where the turn's answer goes. `is_attended`: the owner sits at
    the page, the terminal or the API and can be asked. `depth` counts sub-agents between it and a person."""

    principal: Principal
    session: SessionKey
    channel: str
    tool: ToolSpec
    arguments: Mapping[str, object]
    label: Label
    provider: str = ""
    model: str = ""
    reply_to: Address | None = None
    is_attended: bool = False
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    layer: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`others` are further layers that want a person asked: one yes answers them all, but a standing grant only those
    layers that permit it."""

    layer: str
    reason: str
    others: tuple["Ask", ...] = ()

    @property
    def layers(self) -> tuple[str, ...]:
        return (self.layer, *(other.layer for other in self.others))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deny:
    layer: str
    reason: str


Decision = Allow | Ask | Deny


class Policy(Protocol):
    """Raising means Deny; no policy means Deny; of several the strictest wins."""

    async def decide(self, action: Action) -> Decision: ...
