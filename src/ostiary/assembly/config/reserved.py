"""Keys that are read and checked but have no effect yet, and the part of the program that will give them one.

They are here so that a file written for the whole program is not refused; whoever sets one is told at every start. A test
holds this list against the code: a key that is not here must be read by somebody, and one that is here by nobody.
"""

from collections.abc import Iterator, Mapping, Sequence

from ostiary.assembly.config.parse import Reading
from ostiary.assembly.config.problems import Path

SUBAGENTS = "sub-agents"
CHANNELS = "the chat channels"
PLUGINS = "plugins with settings of their own"
PER_AGENT = "settings of single agents"

RESERVED: Mapping[str, str] = {
    "agents.defaults.models.*.params": "parameters passed on to providers",
    "agents.defaults.workspace": "taking in a folder at setup",
    "agents.defaults.subagents.archiveAfterMinutes": SUBAGENTS,
    "agents.defaults.subagents.model": SUBAGENTS,
    "agents.defaults.verboseDefault": CHANNELS,
    "agents.defaults.timeFormat": "times in the prompt",
    "agents.defaults.envelopeTimezone": CHANNELS,
    "agents.list.*.workspace": "taking in a folder at setup",
    "agents.list.*.thinkingDefault": PER_AGENT,
    "agents.list.*.identity.emoji": CHANNELS,
    "agents.list.*.identity.theme": PER_AGENT,
    "agents.list.*.identity.avatar": CHANNELS,
    "agents.list.*.groupChat": CHANNELS,
    "messages.groupChat": CHANNELS,
    "messages.ackReaction": CHANNELS,
    "messages.ackReactionScope": CHANNELS,
    "messages.removeAckAfterReply": CHANNELS,
    "channels.*.historyLimit": CHANNELS,
    "commands.text": CHANNELS,
    "commands.native": CHANNELS,
    "commands.restart": "the command /restart",
    "commands.useAccessGroups": CHANNELS,
    "auth.profiles.*.email": "lists of profiles that show whose they are",
    "tools.fs": "file tools that reach beyond the workspace",
    "tools.elevated": "commands outside the sandbox for named senders",
    "plugins.entries.*.config": PLUGINS,
    "plugins.slots": PLUGINS,
}
"""By path, with * for a name or a place in a list. What is below a path belongs to it."""


def part_of(path: Sequence[str | int]) -> str:
    """The part that will give this key its effect; empty if it has one."""
    for reserved, part in RESERVED.items():
        steps = reserved.split(".")
        if len(path) >= len(steps) and all(step in ("*", given) for step, given in zip(steps, path, strict=False)):
            return part
    return ""


def warn(tree: object, reading: Reading) -> None:
    """Tell of every reserved key that the file sets."""
    for path, part in _found(tree, ()):
        reading.warn(path, f"has no effect yet; it comes with {part}")


def _found(tree: object, path: Path) -> Iterator[tuple[Path, str]]:
    part = part_of(path)
    if part:
        yield path, part
    elif isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from _found(value, (*path, name))
    elif isinstance(tree, list | tuple):
        for place, value in enumerate(tree):
            yield from _found(value, (*path, place))
