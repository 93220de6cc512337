"""Which tools exist for the model, and the limits they run under."""

from collections.abc import Mapping
from typing import Literal

from ostiary.assembly.config.section import key, section
from ostiary.assembly.config.web import Web

Profile = Literal["minimal", "coding", "messaging", "full"]
TaintMode = Literal["ask", "deny", "off"]


@section
class ToolRules:
    """Allow and deny by name, group:<name> or glob; deny wins."""

    profile: Profile | None = key(None, "Where to start from.")
    allow: tuple[str, ...] | None = key(None, "If set, only these; an empty list allows none.")
    deny: tuple[str, ...] = key((), "Never these.")
    also_allow: tuple[str, ...] = key((), "These besides the profile's.")


@section
class ToolLists:
    """Allow and deny by name, group:<name> or glob; deny wins."""

    allow: tuple[str, ...] | None = key(None, "If set, only these; an empty list allows none.")
    deny: tuple[str, ...] = key((), "Never these.")
    also_allow: tuple[str, ...] = key((), "These although they are left out by default.")


@section
class SandboxedTools:
    """What sessions in the sandbox have."""

    tools: ToolLists | None = key(
        None, "Replaces the usual list, which denies browser, cron, canvas, nodes and gateway.", advanced=True
    )


@section
class SubagentTools:
    """What sub-agents have."""

    tools: ToolLists = key(factory=ToolLists, help="On top of what sub-agents never have; alsoAllow takes a tool off that list.")


@section
class Taint:
    """What happens when text from outside and private things are in one conversation and something could leave the house."""

    mode: TaintMode = key("ask", "ask a person, deny, or off.")
    by_role: Mapping[str, TaintMode] = key(factory=dict, help="Another mode for a role.", advanced=True)


@section
class MessageTool:
    """Sending messages."""

    recipients: tuple[str, ...] = key((), "Addresses, as channel:chat, that may be written to without asking each time.")


@section
class AgentTools:
    """Rules for one agent, on top of the global ones: every layer must allow."""

    profile: Profile | None = key(None, "Where to start from.")
    allow: tuple[str, ...] | None = key(None, "If set, only these; an empty list allows none.")
    deny: tuple[str, ...] = key((), "Never these.")
    also_allow: tuple[str, ...] = key((), "These besides the profile's, for this agent.")
    by_provider: Mapping[str, ToolRules] = key(factory=dict, help="Rules for a provider or a provider/model.", advanced=True)
    sandbox: SandboxedTools = key(factory=SandboxedTools)


@section
class Exec:
    """Running commands."""

    timeout_sec: int = key(1800, "A command that runs longer is killed with all its children.", minimum=1, maximum=86_400)
    background_ms: int = key(10_000, "A command that runs longer goes on in the background.", minimum=0, maximum=3_600_000)


@section
class FileTools:
    """Reading and writing files."""

    workspace_only: bool = key(True, "Keep file tools inside the workspace.")


@section
class Elevated:
    """Commands outside the sandbox, for named senders. Only the posture open has this."""

    enabled: bool = key(False, "Let named senders switch it on.", advanced=True)
    allow_from: Mapping[str, tuple[str, ...]] = key(factory=dict, help="Stable sender ids by channel.", advanced=True)


@section
class Tools:
    """Rules for every agent."""

    profile: Profile = key("minimal", "Where to start from.")
    allow: tuple[str, ...] | None = key(None, "If set, only these; an empty list allows none.")
    deny: tuple[str, ...] = key((), "Never these.")
    also_allow: tuple[str, ...] = key((), "These besides the profile's.")
    by_provider: Mapping[str, ToolRules] = key(factory=dict, help="Rules for a provider or a provider/model.", advanced=True)
    result_max_bytes: int = key(
        65_536, "A longer tool result is cut when it enters the conversation.", minimum=256, maximum=10_000_000
    )
    exec: Exec = key(factory=Exec)
    fs: FileTools = key(factory=FileTools)
    elevated: Elevated = key(factory=Elevated)
    confirm: Literal["danger", "always", "never"] = key(
        "danger", "What waits for a yes: what cannot be taken back, everything but reading, or nothing (posture open only)."
    )
    switches: bool = key(False, "On channels, tools that act are off until you switch them on with /enable.")
    taint: Taint = key(factory=Taint)
    roles: Mapping[str, ToolRules] = key(
        factory=dict, help="Rules for a role. A role that is not named has no tools, except the owner.", advanced=True
    )
    message: MessageTool = key(factory=MessageTool)
    sandbox: SandboxedTools = key(factory=SandboxedTools)
    subagents: SubagentTools = key(factory=SubagentTools)
    web: Web = key(factory=Web)
