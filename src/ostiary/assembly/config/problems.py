"""What is wrong with a configuration, said so that a person can put it right."""

import re
from collections.abc import Iterable

from ostiary.assembly.config.section import section
from ostiary.contracts.errors import ConfigInvalid

Path = tuple[str | int, ...]

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


@section
class Problem:
    """`message` follows the path in a sentence. `line` counts from 1; 0 is unknown."""

    path: Path
    message: str
    line: int = 0

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line else ""
        return f"{dotted(self.path) or 'the file'}: {self.message}{where}"


def dotted(path: Path) -> str:
    """`('agents', 'list', 0, 'a/b')` is `agents.list[0]["a/b"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


_STEP = re.compile(r"""\[(\d+)\]|\[(?:"([^"]*)"|'([^']*)')\]|(?:^|\.)([^.\[\]]+)""")


def parse_path(text: str) -> Path:
    """The inverse of `dotted`. Raises ConfigInvalid if it is not a path."""
    steps: list[str | int] = []
    place = 0
    while place < len(text):
        match = _STEP.match(text, place)
        if match is None:
            break
        number, double, single, plain = match.groups()
        steps.append(int(number) if number is not None else next(each for each in (double, single, plain) if each is not None))
        place = match.end()
    if place != len(text) or not steps:
        raise ConfigInvalid(
            f"{text[:120]!r} is not a path",
            hint='Write for example gateway.port, agents.list[0].id or agents.defaults.models["a/b"].alias.',
        )
    return tuple(steps)


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, or an empty text."""
    import difflib

    lowered = {each.lower(): each for each in known}
    found = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else ""


def abridged(sentences: tuple[str, ...]) -> str:
    """The first of them, and that there are more."""
    return sentences[0] if len(sentences) == 1 else f"{sentences[0]} and {len(sentences) - 1} more"


def refusal(problems: Iterable[Problem], source: str) -> ConfigInvalid:
    """One error that carries every problem; its own sentence holds the first."""
    sentences = tuple(str(each) for each in problems)
    count = "one problem" if len(sentences) == 1 else f"{len(sentences)} problems"
    return ConfigInvalid(
        f"{source} has {count}: {abridged(sentences)}",
        problems=sentences,
        hint="Correct the file, then run: ostiary config validate",
    )
