"""Bringing an older file up to this version by editing its text, so that comments and references stay."""

from collections.abc import Callable

from ostiary.assembly.config import edit, json5
from ostiary.assembly.config.json5 import Node
from ostiary.assembly.config.problems import Path, dotted
from ostiary.assembly.config.schema import VERSION
from ostiary.assembly.config.section import section
from ostiary.contracts.errors import ConfigInvalid


@section
class Migrated:
    """`notes` says what was changed, one sentence each; none means the text is as it was."""

    text: str
    notes: tuple[str, ...]


def migrate(text: str, node: Node, source: str) -> Migrated:
    """Raises ConfigInvalid for a version this program does not know. A file without `version` is as old as its keys are."""
    found = node.member("version")
    version = found.node.value if found is not None else 0
    if isinstance(version, bool) or not isinstance(version, int) or version < 0:
        return Migrated(text=text, notes=())  # the schema says what is wrong with it
    if version > VERSION:
        sentence = f"version: {source} is of version {version}, but this program knows only up to {VERSION}"
        raise ConfigInvalid(sentence, problems=(sentence,), hint="Install the newer version of Ostiary, or restore a backup.")
    notes: list[str] = []
    for step in _STEPS[version:]:
        text, said = step(text)
        notes += said
    if notes or (found is not None and version < VERSION):
        text = edit.set_value(text, ("version",), VERSION)
        notes.append(f"version is {VERSION} now")
    return Migrated(text=text, notes=tuple(notes))


_MOVES: tuple[tuple[Path, Path], ...] = (
    (("agent",), ("agents", "defaults")),
    (("session", "idleMinutes"), ("session", "reset", "idleMinutes")),
    (("session", "resetByType", "dm"), ("session", "resetByType", "direct")),
    (("routing", "bindings"), ("bindings",)),
    (("routing", "queue"), ("messages", "queue")),
    (("messages", "queue", "byProvider"), ("messages", "queue", "byChannel")),
    (("routing", "groupChat"), ("messages", "groupChat")),
    (("messages", "ackReactionEmoji"), ("messages", "ackReaction")),
    (("gateway", "token"), ("gateway", "auth", "token")),
)
_QUEUE_WORDS = {"queue": "steer", "steer+backlog": "steer-backlog"}


def modernise(text: str) -> tuple[str, list[str]]:
    """Names that older files, and OpenClaw's, used for what has another name now."""
    notes: list[str] = []
    for old, new in _MOVES:
        text, said = _move(text, old, new)
        notes += said
    if edit.find(json5.parse(text), ("session", "mainKey")) is not None:
        text = edit.unset(text, ("session", "mainKey"))
        notes.append("session.mainKey is gone: the shared conversation is always called main")
    text, said = _drop_if_empty(text, ("routing",))
    notes += said
    for path, old_word, new_word in _old_words(json5.parse(text)):
        text = edit.set_value(text, path, new_word)
        notes.append(f'{dotted(path)}: "{old_word}" is called "{new_word}" now')
    return text, notes


def _old_words(root: Node) -> list[tuple[Path, str, str]]:
    found: list[tuple[Path, str, str]] = []
    places: list[Path] = [("messages", "queue", "mode")]
    by_channel = edit.find(root, ("messages", "queue", "byChannel"))
    places += [("messages", "queue", "byChannel", each.name) for each in by_channel.members] if by_channel else []
    for path in places:
        node = edit.find(root, path)
        if node is not None and isinstance(node.value, str) and node.value in _QUEUE_WORDS:
            found.append((path, node.value, _QUEUE_WORDS[node.value]))
    bindings = edit.find(root, ("bindings",))
    for index in range(len(bindings.items) if bindings else 0):
        kind_path = ("bindings", index, "match", "peer", "kind")
        node = edit.find(root, kind_path)
        if node is not None and node.value == "dm":
            found.append((kind_path, "dm", "direct"))
    return found


def _move(text: str, old: Path, new: Path) -> tuple[str, list[str]]:
    """Move a value as it is written. Where both are objects they are joined; what is already at the new place stays."""
    root = json5.parse(text)
    node = edit.find(root, old)
    if node is None:
        return text, []
    target = edit.find(root, new)
    if target is None:
        source = text[node.start : node.end]
        return edit.unset(edit.set_source(text, new, source), old), [f"{dotted(old)} is called {dotted(new)} now"]
    notes: list[str] = []
    if node.kind == target.kind == "object":
        for member in node.members:
            text, said = _move(text, (*old, member.name), (*new, member.name))
            notes += said
    else:
        notes.append(f"{dotted(old)} was dropped, because {dotted(new)} is there already")
        text = edit.unset(text, old)
    return edit.unset(text, old), notes


def _drop_if_empty(text: str, path: Path) -> tuple[str, list[str]]:
    node = edit.find(json5.parse(text), path)
    if node is None or node.members or node.items or node.kind == "scalar":
        return text, []
    return edit.unset(text, path), [f"{dotted(path)} was empty and is gone"]


_STEPS: tuple[Callable[[str], tuple[str, list[str]]], ...] = (modernise,)
"""Step n brings a text from version n to n + 1."""
