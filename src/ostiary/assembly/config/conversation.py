"""Conversations: sessions, the queue before them, channels, and the commands people give."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from ostiary.assembly.config.section import key, section
from ostiary.assembly.config.tools import ToolLists

QueueMode = Literal["collect", "followup", "steer", "steer-backlog", "interrupt"]
ChatType = Literal["direct", "group", "channel", "thread"]
STABLE_ID = r"(?!([Uu]ser)?[Nn]ame:|[Uu]ser:|@[^:]*$).*\S.*"
Typing = Literal["never", "message", "thinking", "instant"]


@section
class Reset:
    """When a conversation starts afresh. With both, whichever comes first."""

    mode: Literal["daily", "idle", "never"] = key("daily", "At an hour of the day, after a pause, or only when asked.")
    at_hour: int = key(4, "The hour of the daily reset, by the machine's clock.", minimum=0, maximum=23)
    idle_minutes: int | None = key(None, "The pause after which it starts afresh.", minimum=1, maximum=5_256_000)


@section
class SendMatch:
    """All fields given must match."""

    channel: str = key("", "The channel's id.")
    chat_type: ChatType | None = key(None, "The kind of conversation.")
    key_prefix: str = key("", "The beginning of the session key after agent:<id>:.")
    raw_key_prefix: str = key("", "The beginning of the whole session key.")


@section
class SendRule:
    """One rule; the first that matches decides."""

    action: Literal["allow", "deny"] = key(help="What to do.")
    match: SendMatch = key(factory=SendMatch)


@section
class SendPolicy:
    """Whether replies may be delivered at all."""

    default: Literal["allow", "deny"] = key("allow", "What holds when no rule matches.")
    rules: tuple[SendRule, ...] = key((), "In order.")


@section
class Session:
    """Which messages share a conversation, and for how long."""

    dm_scope: Literal["main", "per-peer", "per-channel-peer", "per-account-channel-peer"] = key(
        "main", "main: all direct messages share one conversation. per-...: one for each sender."
    )
    identity_links: Mapping[str, tuple[str, ...]] = key(factory=dict, help="One person's ids on several channels, as channel:id.")
    reset: Reset = key(factory=Reset)
    reset_by_type: Mapping[ChatType, Reset] = key(factory=dict, help="Other rules for direct, group, channel or thread.")
    reset_by_channel: Mapping[str, Reset] = key(factory=dict, help="Other rules for a channel; they beat those by type.")
    reset_triggers: tuple[str, ...] = key(("/new", "/reset"), "Messages that start afresh.")
    send_policy: SendPolicy = key(factory=SendPolicy)
    history_limit: int = key(400, "Messages of the past that are sent to the model.", minimum=2, maximum=10_000)


@section
class Queue:
    """What happens to a message that arrives while a turn runs."""

    mode: QueueMode = key("collect", "collect: together in the next turn. steer: into the running one. interrupt: end it.")
    debounce_ms: int = key(1000, "Wait for quiet this long before the next turn.", minimum=0, maximum=600_000)
    cap: int = key(20, "Messages kept for one session.", minimum=1, maximum=1000)
    drop: Literal["old", "new", "summarize"] = key("summarize", "What goes when the queue is full.")
    by_channel: Mapping[str, QueueMode] = key(factory=dict, help="Another mode for a channel.")


@section
class Inbound:
    """Putting rapid messages together."""

    debounce_ms: int = key(2000, "Messages of one sender within this time become one.", minimum=0, maximum=600_000)
    by_channel: Mapping[str, int] = key(
        factory=lambda: {"whatsapp": 5000, "slack": 1500, "discord": 1500},
        help="Another time for a channel.",
        minimum=0,
        maximum=600_000,
    )


@section
class GroupChat:
    """Groups."""

    history_limit: int = key(
        50, "Messages not meant for us that are shown once with the next one. 0: none.", minimum=0, maximum=10_000
    )
    mention_patterns: tuple[str, ...] = key((), "Regular expressions that count as a mention.")


@section
class Messages:
    """Messages on their way in and out."""

    queue: Queue = key(factory=Queue)
    inbound: Inbound = key(factory=Inbound)
    group_chat: GroupChat = key(factory=GroupChat)
    response_prefix: str = key("", "Put before every reply.")
    ack_reaction: str = key("", "A reaction that says the message was seen.", placeholder="👀")
    ack_reaction_scope: Literal["group-mentions", "group-all", "direct", "all"] = key("group-mentions", "Where.")
    remove_ack_after_reply: bool = key(False, "Take it away when the reply is out.")


@section
class Coalesce:
    """Joining the blocks of a streamed reply."""

    min_chars: int | None = key(None, "Join until there are so many characters.", minimum=1, maximum=100_000)
    max_chars: int | None = key(None, "Never more than this in one block.", minimum=1, maximum=100_000)
    idle_ms: int | None = key(None, "Wait no longer than this for more.", minimum=50, maximum=600_000)


@section
class ChannelMarkdown:
    """How Markdown is written where the channel has no such thing."""

    tables: Literal["code", "bullets", "off"] | None = key(
        None, "Tables as aligned code, as a point per row, or as they were written. Unset: what suits the channel."
    )


@section
class Group:
    """One group of a channel."""

    open_keys: ClassVar[str] = "own"

    require_mention: bool | None = key(None, "Overrides requireMention of the channel.")
    allow_from: tuple[str, ...] | None = key(None, "Stable sender ids that are heard here; overrides groupAllowFrom.")
    tools: ToolLists = key(factory=ToolLists)
    tools_by_sender: Mapping[str, ToolLists] = key(
        factory=dict,
        help="Rules for single senders, by stable id, never by a name; * is everybody who is not named.",
        advanced=True,
        keys=STABLE_ID,
    )
    own: object = key(factory=dict, help="The channel's own keys.")


@section
class Channel:
    """What every channel understands; its own keys are checked by the channel."""

    open_keys: ClassVar[str] = "own"

    enabled: bool = key(True, "Start this channel.")
    dm_policy: Literal["pairing", "allowlist", "open", "disabled"] = key("pairing", "Who may write to it directly.")
    allow_from: tuple[str, ...] = key((), "Stable sender ids, never display names.")
    group_policy: Literal["allowlist", "open", "disabled"] = key("allowlist", "In which groups it speaks.")
    group_allow_from: tuple[str, ...] = key((), "Stable sender ids that are heard in groups.")
    require_mention: bool = key(True, "In groups, answer only who mentions it.")
    groups: Mapping[str, Group] = key(factory=dict, help="By the group's stable id; once any is named only these, * is all.")
    history_limit: int | None = key(None, "Overrides messages.groupChat.historyLimit.", minimum=0, maximum=10_000)
    dm_history_limit: int | None = key(None, "Overrides session.historyLimit for direct messages.", minimum=0, maximum=10_000)
    response_prefix: str | None = key(None, "Overrides messages.responsePrefix.")
    text_chunk_limit: int | None = key(None, "Characters in one message.", minimum=100, maximum=100_000)
    chunk_mode: Literal["length", "newline"] = key("length", "newline: every paragraph is a message of its own.")
    markdown: ChannelMarkdown = key(factory=ChannelMarkdown)
    block_streaming: bool | None = key(None, "Send a long reply in blocks. Unset: agents.defaults.blockStreamingDefault.")
    block_streaming_coalesce: Coalesce = key(factory=Coalesce)
    reply_to_mode: Literal["off", "first", "all"] = key("off", "Which messages of a reply are marked as answers.")
    typing_mode: Typing | None = key(None, "Overrides agents.defaults.typingMode.")
    own: object = key(factory=dict, help="The channel's own keys.")


@section
class Commands:
    """Slash commands."""

    text: bool = key(True, "Read commands from ordinary messages.")
    native: Literal["auto", "on", "off"] = key("auto", "Register them with channels that have a menu of their own.")
    restart: bool = key(False, "Allow /restart.")
    use_access_groups: bool = key(True, "Only senders who may talk may command.")
    owner_allow_from: tuple[str, ...] = key((), "The owner's stable ids, as channel:id.")
