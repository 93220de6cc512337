"""Notes in great number, written by chance from those of the evaluation set, with rare words as real notes have them."""

import random
import re
from collections.abc import Iterator

from evals.memory.questions import notes, questions, sets

LINES = 11
_RARE = 30_000
_SWAPPED = 0.12
_SYLLABLES = [first + second for first in "bdfghklmnprstv" for second in "aeio"]
_WORD = re.compile(r"[a-z]{5,}")


def many_notes(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Path and text of each: a heading and lines of some hundred characters."""
    chance = random.Random(seed)
    pool = [line for name in sets() for text in notes(name).values() for line in text.splitlines()[1:] if len(line) > 50]
    rare = [_word(chance) for _ in range(_RARE)]
    # Half of all rare words are among the first few hundred, as in any language.
    places = [int(_RARE * chance.random() ** 4) for _ in range(100_000)]

    def swapped(found: "re.Match[str]") -> str:
        return rare[chance.choice(places)] if chance.random() < _SWAPPED else found[0]

    for number in range(count):
        lines = [_WORD.sub(swapped, line) for line in chance.choices(pool, k=LINES - 1)]
        yield (
            f"notes/{number // 100:03d}/note-{number:05d}.md",
            "\n".join([f"# Note {number} on {rare[number % _RARE]}", *lines]) + "\n",
        )


def natural_questions(count: int, seed: int = 2) -> list[str]:
    """Questions of the evaluation set, in an order of chance."""
    asked = [question.text for question in questions()]
    random.Random(seed).shuffle(asked)
    return asked[:count]


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 5)))
