"""Agents: what they think with, how much of it, and which of them takes which message."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from ostiary.assembly.config.conversation import Coalesce, Typing
from ostiary.assembly.config.section import key, section
from ostiary.assembly.config.tools import AgentTools

ID = r"[a-z0-9][a-z0-9_-]{0,63}"
MODEL = r"[^/\s]+/\S+"

Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh"]


@section
class ModelSetting:
    """A model and what to fall back to; a text alone is the primary."""

    shorthand: ClassVar[str] = "primary"

    primary: str = key(
        "", "The model, written provider/model, or an alias. Empty: the embedded model.", placeholder="anthropic/claude-sonnet-5"
    )
    fallbacks: tuple[str, ...] = key((), "Models to try in this order when the primary is refused, limited or silent.")


@section
class ModelEntry:
    """What is said of one model of the allowlist."""

    alias: str = key("", "A short name for /model.")
    params: Mapping[str, object] = key(factory=dict, help="Parameters passed to the provider as they are.", advanced=True)


@section
class MemoryFlush:
    """A silent turn before compaction that writes down what must not be lost."""

    enabled: bool = key(True, "Let the agent save notes before old messages are summarised.")
    soft_threshold_tokens: int = key(4000, "How many tokens before compaction the flush happens.", minimum=0, maximum=1_000_000)
    prompt: str = key("", "What the agent is asked. Empty: the built-in words.", advanced=True)
    system_prompt: str = key("", "Added to the system prompt of that turn. Empty: the built-in words.", advanced=True)


@section
class Compaction:
    """When a long conversation is summarised."""

    mode: Literal["default", "safeguard", "off"] = key(
        "default", "safeguard summarises in smaller pieces, for very long histories; off forgets older turns instead."
    )
    reserve_tokens_floor: int = key(20_000, "Tokens kept free for the answer.", minimum=1000, maximum=1_000_000)
    at_tokens: int = key(
        0, "Compact when the context reaches this size. 0: near the model's window.", minimum=0, maximum=10_000_000
    )
    memory_flush: MemoryFlush = key(factory=MemoryFlush)


@section
class SoftTrim:
    """How a long tool result is shortened."""

    max_chars: int = key(4000, "Results up to this many characters stay whole.", minimum=100, maximum=1_000_000)
    head_chars: int = key(1500, "Characters kept of its beginning.", minimum=0, maximum=1_000_000)
    tail_chars: int = key(1500, "Characters kept of its end.", minimum=0, maximum=1_000_000)


@section
class HardClear:
    """How an old tool result is cleared."""

    enabled: bool = key(True, "Clear the oldest results when shortening is not enough.")
    placeholder: str = key("[Old tool result content cleared]", "What is sent in place of a cleared result.")


@section
class PrunedTools:
    """Which tools' results may be pruned. Names may hold *; deny wins."""

    allow: tuple[str, ...] = key((), "Only these. None: all.")
    deny: tuple[str, ...] = key((), "Never these.")


@section
class ContextPruning:
    """Old tool results are left out of what is sent once the provider's prompt cache has run out; the journal keeps them."""

    mode: Literal["off", "cache-ttl"] = key("cache-ttl", "cache-ttl acts for Anthropic's models; others are sent everything.")
    ttl: str = key("5m", "How long the provider keeps a prompt: 300s, 5m or 1h.", pattern=r"[0-9]{1,6}[smh]?")
    keep_last_assistants: int = key(3, "Results behind so many of the last answers stay whole.", minimum=0, maximum=1000)
    soft_trim_ratio: float = key(0.3, "Share of the window at which long results are shortened.", minimum=0, maximum=1)
    hard_clear_ratio: float = key(0.5, "Share of the window at which old results are cleared.", minimum=0, maximum=1)
    min_prunable_tool_chars: int = key(50_000, "Nothing is cleared below this many.", minimum=0, maximum=100_000_000)
    soft_trim: SoftTrim = key(factory=SoftTrim)
    hard_clear: HardClear = key(factory=HardClear)
    tools: PrunedTools = key(factory=PrunedTools)


@section
class Subagents:
    """Agents that an agent starts."""

    max_concurrent: int = key(8, "Sub-agents that may run at once, over all sessions.", minimum=1, maximum=1024)
    max_spawn_depth: int = key(1, "How deep sub-agents may start sub-agents.", minimum=0, maximum=5)
    archive_after_minutes: int = key(60, "When a finished one leaves the lists.", minimum=1, maximum=525_600)
    model: ModelSetting = key(factory=ModelSetting)


@section
class Sandbox:
    """Where commands run."""

    mode: Literal["off", "non-main", "all"] = key("all", "Which sessions run their commands in the sandbox.")
    scope: Literal["session", "agent", "shared"] = key("agent", "Who shares one sandbox.")
    workspace_access: Literal["none", "ro", "rw"] = key("none", "What the sandbox sees of the real workspace.")
    backend: Literal["auto", "bubblewrap", "docker", "podman", "seatbelt"] = key(
        "auto", "What fences commands. auto: what is built for this system.", advanced=True
    )
    image: str = key("", "The image of a container engine. Empty: a small Debian.", advanced=True)


@section
class BlockChunk:
    """The size of a block when a reply is streamed."""

    min_chars: int = key(800, "Characters before a block is sent.", minimum=1, maximum=100_000)
    max_chars: int = key(1200, "Characters at which it is cut.", minimum=1, maximum=100_000)


@section
class AgentDefaults:
    """What holds for every agent that does not say otherwise."""

    model: ModelSetting = key(factory=ModelSetting, label="Model")
    image_model: ModelSetting = key(factory=ModelSetting, help="Used for messages with images when the model cannot see.")
    models: Mapping[str, ModelEntry] = key(
        factory=dict, help="If set, the only models people may switch to, with their aliases.", keys=MODEL
    )
    workspace: str = key("", "A folder whose bootstrap files are taken in at setup. Empty: none.", placeholder="~/assistant")
    max_concurrent: int = key(4, "Turns that may run at once, over all sessions.", minimum=1, maximum=4096)
    subagents: Subagents = key(factory=Subagents)
    thinking_default: Thinking = key("off", "How hard the model thinks unless told otherwise.")
    verbose_default: Literal["off", "on", "full"] = key("off", "How much of the tool calls is shown.")
    timeout_seconds: int = key(600, "A turn that runs longer is ended.", minimum=1, maximum=86_400)
    context_tokens: int = key(0, "Use at most this much of the model's window. 0: all of it.", minimum=0, maximum=10_000_000)
    bootstrap_max_chars: int = key(20_000, "Characters of one bootstrap file in the prompt.", minimum=0, maximum=1_000_000)
    bootstrap_total_max_chars: int = key(24_000, "Characters of all bootstrap files in the prompt.", minimum=0, maximum=1_000_000)
    skip_bootstrap: bool = key(False, "Do not make the bootstrap files at setup.")
    user_timezone: str = key(
        "", "The person's time zone, such as Europe/Berlin. Empty: the machine's.", placeholder="Europe/Berlin"
    )
    time_format: Literal["auto", "12", "24"] = key("auto", "How times are written in the prompt.")
    envelope_timezone: str = key("local", "local, utc, user or a time zone: what messages are stamped in.")
    envelope_timestamp: Literal["on", "off"] = key("on", "Stamp messages with their time.")
    envelope_elapsed: Literal["on", "off"] = key("on", "Stamp messages with the time since the one before.")
    block_streaming_default: Literal["off", "on"] = key("off", "Send long replies in blocks while they are being written.")
    block_streaming_break: Literal["text_end", "message_end"] = key(
        "text_end", "message_end: nothing leaves before the reply is complete."
    )
    block_streaming_chunk: BlockChunk = key(factory=BlockChunk)
    block_streaming_coalesce: Coalesce = key(factory=Coalesce)
    typing_mode: Typing | None = key(
        None, "When the typing sign appears. Unset: at once in direct chats and when mentioned, else with the first words."
    )
    typing_interval_seconds: int = key(6, "How often the typing sign is renewed.", minimum=1, maximum=600)
    compaction: Compaction = key(factory=Compaction)
    context_pruning: ContextPruning = key(factory=ContextPruning)
    sandbox: Sandbox = key(factory=Sandbox)


@section
class Identity:
    """How an agent presents itself."""

    name: str = key("", "Its name.")
    emoji: str = key("", "Its sign.")
    theme: str = key("", "Its manner in a few words.")
    avatar: str = key("", "A picture: a path or an address.")


@section
class AgentGroupChat:
    """What counts as speaking to this agent in a group."""

    mention_patterns: tuple[str, ...] = key((), "Regular expressions that count as a mention.")
    history_limit: int | None = key(None, "Overrides messages.groupChat.historyLimit.", minimum=0, maximum=10_000)


@section
class Agent:
    """One agent. What is absent comes from agents.defaults."""

    id: str = key(help="Letters, digits, _ and -.", pattern=ID)
    default: bool = key(False, "The agent for messages that no binding claims.")
    name: str = key("", "What people see.")
    model: ModelSetting | None = key(None, "Overrides agents.defaults.model.")
    image_model: ModelSetting | None = key(None, "Overrides agents.defaults.imageModel.")
    workspace: str = key("", "Overrides agents.defaults.workspace.")
    thinking_default: Thinking | None = key(None, "Overrides agents.defaults.thinkingDefault.")
    identity: Identity = key(factory=Identity)
    group_chat: AgentGroupChat = key(factory=AgentGroupChat)
    sandbox: Sandbox | None = key(None, "Overrides agents.defaults.sandbox.")
    tools: AgentTools = key(factory=AgentTools)


@section
class Agents:
    """The agents."""

    defaults: AgentDefaults = key(factory=AgentDefaults)
    list: tuple[Agent, ...] = key((), "The agents. None: one agent called main.")


@section
class Peer:
    """A person, group or channel by its stable id."""

    kind: Literal["direct", "group", "channel"] = key(help="What kind of place it is (dm is read as direct).")
    id: str = key(help="The platform's own id, never a display name.")


@section
class Match:
    """All fields given must match."""

    channel: str = key(help="The channel's id, such as telegram.")
    account_id: str = key("", "The account. Empty: the default account; *: any.")
    peer: Peer | None = key(None, "One conversation.")
    parent_peer: Peer | None = key(None, "The conversation a thread belongs to.")
    guild_id: str = key("", "A Discord server.")
    roles: tuple[str, ...] = key((), "Roles of which the sender must have one.")
    team_id: str = key("", "A Slack or Teams workspace.")


@section
class Binding:
    """Which agent takes which messages. The most specific one wins, then the first."""

    agent_id: str = key(help="An id of agents.list.", pattern=ID)
    match: Match = key(help="Which messages.")
