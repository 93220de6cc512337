"""Whether a fact is known already: the same words are not kept twice, a fuller wording takes the place of the shorter."""

from collections.abc import Sequence
from typing import Literal

from ostiary.contracts.records import dataclass
from ostiary.core.memory.entries import Entry
from ostiary.core.memory.text import holds, normal

_LEAST_WORDS = 3
# What stands around a known sentence and turns it into its opposite or restricts it.
_WORDS = (
    "not no never none nor neither false wrong untrue longer anymore stopped quit former formerly ex unless except but if only "
    "instead without cancelled canceled until before nicht kein keine nie niemals falsch mehr früher ehemals außer ohne wenn "
    "ne pas plus jamais faux sans si sauf nunca jamás falso sin ya non mai senza più não nem sem "
    "don t doesn didn isn aren wasn weren won wouldn can couldn shouldn"
)
_TURNING = frozenset(_WORDS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """`known`: `entry` says it already. `replaces`: the new wording says all that `entry` says, and more. Else `new`."""

    kind: Literal["new", "known", "replaces"]
    entry: Entry | None = None


NEW = Merge(kind="new")


def merge(existing: Sequence[Entry], text: str) -> Merge:
    """The same input gives the same answer: the first entry that says it all, else the last one that the text contains."""
    wanted = normal(text)
    if not wanted:
        return NEW
    shorter: Entry | None = None
    for entry in existing:
        if entry.is_heading:
            continue
        said = normal(entry.said)
        if said == wanted or _says_more(said, wanted):
            return Merge(kind="known", entry=entry)
        # Only items are ours to reword: a paragraph is somebody's own writing.
        if entry.is_item and len(said.split()) >= _LEAST_WORDS and holds(wanted, said):
            shorter = entry
    return NEW if shorter is None else Merge(kind="replaces", entry=shorter)


def _says_more(said: str, wanted: str) -> bool:
    if len(wanted.split()) < _LEAST_WORDS or not holds(said, wanted):
        return False
    around = f" {said} ".replace(f" {wanted} ", " ", 1).split()
    return _TURNING.isdisjoint(around)
