"""Which tools exist for the model, and the limits they run under."""

from collections.abc import Mapping
from typing import Literal

from ostiary.assembly.config.section import key, section

Profile = Literal["minimal", "coding", "messaging", "full"]


@section
class ToolRules:
    """Allow and deny by name, group:<name> or glob; deny wins."""

    profile: Profile | None = key(None, "Where to start from.")
    allow: tuple[str, ...] | None = key(None, "If set, only these; an empty list allows none.")
    deny: tuple[str, ...] = key((), "Never these.")
    also_allow: tuple[str, ...] = key((), "These besides the profile's.")


@section
class AgentTools:
    """Rules for one agent, on top of the global ones: every layer must allow."""

    profile: Profile | None = key(None, "Where to start from.")
    allow: tuple[str, ...] | None = key(None, "If set, only these; an empty list allows none.")
    deny: tuple[str, ...] = key((), "Never these.")
    also_allow: tuple[str, ...] = key((), "These besides the profile's.")
    by_provider: Mapping[str, ToolRules] = key(factory=dict, help="Rules for a provider or a provider/model.", advanced=True)


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
