"""What a conversation is called until somebody names it: its first words."""

from collections.abc import Iterable

from ostiary.contracts.content import Text, Trust
from ostiary.contracts.events import TurnInput

TITLE = "title"
"""The setting under which a name that was given to it is kept."""

_LONGEST = 80


def title_of(inputs: Iterable[TurnInput]) -> str:
    """Empty if nothing was said. A title is read in other conversations, where nobody knows any more that a stranger wrote it:
    words from outside give way to where they came from."""
    said = [part for each in inputs for part in each.parts if isinstance(part, Text)]
    own = next((part.text for part in said if part.label.trust is not Trust.UNTRUSTED), "")
    first = own or next((source for part in said for source in part.label.sources), "")
    return " ".join(first.split())[:_LONGEST]
