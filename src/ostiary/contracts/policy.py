"""The port to rules: an action goes in, a decision with its reason comes out."""

from collections.abc import Mapping
from typing import Protocol

from ostiary.contracts.content import Label
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One tool call about to happen. `label` is that of the context the model decided on."""

    principal: Principal
    session: SessionKey
    channel: str
    tool: ToolSpec
    arguments: Mapping[str, object]
    label: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    layer: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    layer: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deny:
    layer: str
    reason: str


Decision = Allow | Ask | Deny


class Policy(Protocol):
    """Raising means Deny; no policy means Deny; of several the strictest wins."""

    async def decide(self, action: Action) -> Decision: ...
