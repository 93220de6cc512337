"""What a person means by `opus` or `son`: the best match among models, or a list to choose from."""

import re
from collections.abc import Iterable, Sequence

from ostiary.contracts.errors import BadInput
from ostiary.contracts.model import ModelRef
from ostiary.contracts.records import dataclass

_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)*")
_VERSION_DASH = re.compile(r"(?<=\d)-(?=\d{1,2}(?!\d))")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[a-z]")
_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A model as people may call it."""

    ref: ModelRef
    name: str = ""
    alias: str = ""

    def words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*_words(self.ref.model), *_words(self.name), *_words(self.alias))))


def best_match(text: str, pool: Sequence[Named], *, prefer: str = "") -> ModelRef | None:
    """The one model that `text` means; None if nothing is like it. Raises BadInput when several are equally like it.

    A whole word beats its beginning, that beats a part, that beats a slip of the pen. Of one family the newest wins; of
    several families the one of the preferred provider, then the one with the shortest name.
    """
    wanted = _words(text)
    scored = [(score, named) for named in pool if (score := _score(wanted, named))]
    if not scored or not any(_LETTER.search(word) for word in wanted):
        return None
    best = max(score for score, _ in scored)
    likely = [named for score, named in scored if score == best]
    if any(named.ref.provider == prefer for named in likely):
        likely = [named for named in likely if named.ref.provider == prefer]
    shortest = min(len(_family(named)) for named in likely)
    likely = [named for named in likely if len(_family(named)) == shortest]
    if len({(named.ref.provider, _family(named)) for named in likely}) > 1:
        raise BadInput(f"{text[:60]!r} may mean several models", hint=f"Say which: {_listed(named.ref for named in likely)}.")
    return max(likely, key=_version).ref


def nearest(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Up to three names that look like `text`."""
    # Only an error needs it, and it is not small.
    from difflib import get_close_matches

    known = {name.lower(): name for name in names}
    return tuple(known[name] for name in get_close_matches(text.lower()[:120], known, n=3, cutoff=0.5))


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(_VERSION_DASH.sub(".", text.lower())[:200]))


def _score(wanted: tuple[str, ...], named: Named) -> int:
    """The weakest likeness of any wanted word, 0 if one is unlike every word of the model."""
    have = named.words()
    return min((max((_likeness(word, each) for each in have), default=0) for word in wanted), default=0)


def _likeness(word: str, have: str) -> int:
    if word == have:
        return 4
    if have.startswith(word):
        return 3
    if len(word) > 2 and word in have:
        return 2
    return int(len(word) > 3 and not _DIGIT.search(word) and _one_slip(word, have))


def _one_slip(word: str, have: str) -> bool:
    """One letter missing, added, changed or swapped."""
    if abs(len(word) - len(have)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(word, have, strict=False)) if a != b), min(len(word), len(have)))
    rest, other = word[start:], have[start:]
    swapped = rest[:2] == other[:2][::-1] and rest[2:] == other[2:]
    return swapped or rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]


def _family(named: Named) -> tuple[str, ...]:
    return tuple(word for word in _words(named.ref.model) if not _DIGIT.search(word))


def _version(named: Named) -> tuple[tuple[int, ...], int]:
    numbers = [int(number) for word in _words(named.ref.model) for number in re.findall(r"\d{1,5}(?!\d)", word)]
    return tuple(numbers), -len(named.ref.model)


def _listed(refs: Iterable[ModelRef]) -> str:
    names = [str(ref) for ref in refs]
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
