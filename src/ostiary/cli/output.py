"""How the command line speaks: answers on stdout, complaints on stderr in one sentence and what to do."""

import json
import sys
from collections.abc import Sequence

from ostiary.contracts.errors import OstiaryError


def complain(error: OstiaryError) -> int:
    """Say what went wrong and what to do; gives the exit code."""
    problems: Sequence[str] = getattr(error, "problems", ())
    print(f"error: {_sentence(str(error))}", file=sys.stderr)
    if len(problems) > 1:
        for problem in problems:
            print(f"  {problem}", file=sys.stderr)
    if error.hint:
        print(error.hint, file=sys.stderr)
    return 1


def print_json(value: object) -> None:
    """For programs: one JSON document."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def safe(text: str) -> str:
    """Text that others wrote, without the control characters that would steer the terminal."""
    return "".join(c for c in text if c in "\n\t" or (c >= " " and c != "\x7f" and not "\x80" <= c <= "\x9f"))


def table(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> str:
    """Columns of plain text, as wide as they need to be."""
    lines = [list(heads), *[list(row) for row in rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def ago(seconds: float) -> str:
    """A past moment as people say it."""
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name} ago"
    return "just now"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
