"""What the rules say: of one call, and of every tool."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from ostiary.gateway.protocol.shape import Name, Params, Payload

Outcome = Literal["pass", "allow", "ask", "deny"]
Standing = Literal["visible", "asked", "hidden"]
EffectName = Literal["read", "write", "execute", "network", "send", "spend", "secret"]
Word = Annotated[str, Meta(max_length=200)]
Who = Annotated[str, Meta(min_length=1, max_length=200, description="A role such as owner, or a person as channel:id.")]


class Circumstances(Params, kw_only=True):
    """Who acts, and where. Without a channel it is the person's own, else the page; without a session the main one."""

    who: Who = "owner"
    channel: Word = ""
    session: Annotated[str, Meta(max_length=600)] = ""
    provider: Word = ""
    model: Word = ""
    attended: bool | None = None
    depth: Annotated[int, Meta(ge=0, le=16)] = 0


class ListTools(Circumstances):
    """`who` is shown as the model would see it."""


class ExplainPolicy(Circumstances):
    """`tainted`: the conversation holds text from outside; `private`: it holds private things. `effects` describe a tool that
    is not there."""

    tool: Name
    arguments: dict[str, Any] = field(default_factory=dict)
    tainted: bool = False
    private: bool = False
    effects: Annotated[list[EffectName], Meta(max_length=7)] | None = None


class PolicyStep(Payload):
    """`pass`: nothing against it. `decides`: this is why the outcome is what it is."""

    layer: str
    outcome: Outcome
    reason: str
    decides: bool


class Explanation(Payload):
    """`visible`: the model is shown the tool at all. `change` says where another decision could come from, empty for what is
    allowed; `notes` what in the question was probably not meant."""

    tool: str
    who: str
    role: str
    channel: str
    session: str
    effects: list[str]
    visible: bool
    outcome: Outcome
    layer: str
    reason: str
    steps: list[PolicyStep]
    change: str = ""
    notes: list[str] = field(default_factory=list)


class ToolRow(Payload):
    """`hidden`: not shown to the model; `asked`: a person must say yes to what cannot be taken back. `layer` and `reason` tell
    why."""

    name: str
    description: str
    effects: list[str]
    undoable: bool
    owner_only: bool
    standing: Standing
    layer: str
    reason: str


class Tools(Payload):
    tools: list[ToolRow]
