"""Actions to be judged, short to write."""

from typing import Any

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import EXTERNAL, OWNER, Principal, SessionKey
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.tool import Effect, ToolSpec

SESSION = SessionKey("main", "main")
OWNER_HERE = Principal(user=UserId(channel="api", stable_id="me"), role=OWNER)
STRANGER = Principal(user=UserId(channel="irc", stable_id="x"), role=EXTERNAL)
HOME = Address(channel="telegram", account="default", chat="100")

CLEAN = Label(trust=Trust.OWNER)
SEEN_WEB = Label(trust=Trust.UNTRUSTED, sources=("web:evil.example",))
PRIVATE = Label(trust=Trust.OWNER, sources=("doc:notes.md",), private=True)
BOTH = SEEN_WEB.join(PRIVATE)

READ = frozenset({Effect.READ})
WRITE = frozenset({Effect.WRITE})
EXECUTE = frozenset({Effect.EXECUTE})
SEND = frozenset({Effect.SEND})
LOOK = frozenset({Effect.READ, Effect.NETWORK})


def tool(name: str, effects: frozenset[Effect] = READ, **marks: Any) -> ToolSpec:
    schema = ToolSchema(name=name, description="", parameters={"type": "object"})
    return ToolSpec(schema=schema, effects=effects, **marks)


BROWSER = tool(
    "browser",
    frozenset({Effect.NETWORK, Effect.SEND}),
    harmless_when={"action": frozenset({"read", "screenshot", "close", "back"})},
)
PROCESS = tool("process", EXECUTE, harmless_when={"action": frozenset({"list", "poll", "kill"})})


def act(spec: ToolSpec | str, principal: Principal = OWNER_HERE, **more: Any) -> Action:
    """An action of the owner at the API unless `more` says otherwise; `scope` is that of its session."""
    scope = more.pop("scope", "main")
    values: dict[str, Any] = {
        "session": SessionKey(more.pop("agent", "main"), scope),
        "channel": "api",
        "arguments": {},
        "label": CLEAN,
    }
    spec = tool(spec) if isinstance(spec, str) else spec
    return Action(principal=principal, tool=spec, **{**values, **more})


def rank(decision: Decision) -> int:
    return (Allow, Ask, Deny).index(type(decision))


def layer_of(decision: Decision | None) -> tuple[str, str]:
    """What was decided and by whom, without the words."""
    assert decision is not None
    return type(decision).__name__.lower(), decision.layer
