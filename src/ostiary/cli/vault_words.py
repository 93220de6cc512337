"""The words that the commands of `ostiary vault` share: which document, when, and by whom it is done."""

import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer

from ostiary.cli.vault_access import WORKSPACE, Access
from ostiary.contracts.errors import BadInput

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Collection = Annotated[str, typer.Option("--collection", "-c", help="The collection; or write collection:path.")]
Document = Annotated[str, typer.Argument(help="The document's path, like notes/plan.md or _memory:MEMORY.md.")]
At = Annotated[str, typer.Option("--at", help='As it was then: yesterday, "2h ago", "2026-11-15 09:00".')]


def run(act: Callable[[Access], Awaitable[Any]]) -> Any:
    """Raises OstiaryError."""
    from ostiary.cli import vault_access

    return vault_access.run(act)


def address(path: str, collection: str) -> tuple[str, str]:
    """Collection and path of `path`, which may begin with `collection:`. Raises BadInput for an empty path."""
    import re

    named = re.fullmatch(r"([a-z0-9_][a-z0-9_-]{0,63}):(.*)", path, re.DOTALL) if not collection else None
    name, place = (named[1], named[2]) if named is not None else (collection or WORKSPACE, path)
    if not place:
        raise BadInput("say which document", hint="For example: ostiary vault get notes/plan.md")
    return name, place


def moment_of(text: str) -> float | None:
    if not text:
        return None
    from ostiary.cli.moments import parse_moment

    return parse_moment(text, time.time())
