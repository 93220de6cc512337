"""`ostiary memory search`: what is remembered about something. Needs no framework, so that an answer comes at once."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from ostiary.cli.vault_access import Access
    from ostiary.contracts.search import Found, Passage

LIMIT = 6
_LONGEST_LINE = 100_000


class Asked(NamedTuple):
    """`stdin`: the questions come line by line, and an answer goes out for each."""

    text: str = ""
    limit: int = LIMIT
    agent: str = "main"
    sessions: bool = False
    as_json: bool = False
    stdin: bool = False


def try_quickly(arguments: Sequence[str]) -> int | None:
    """The exit code; None for what the framework must look at: help, mistakes, other commands. Raises OstiaryError."""
    asked = parse(arguments[1:]) if arguments[:1] == ["search"] else None
    return None if asked is None else run(asked)


def parse(words: Sequence[str]) -> Asked | None:
    texts: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if word in ("--json", "--stdin", "--sessions"):
            given[{"--json": "as_json"}.get(word, word[2:])] = True
        elif name in ("--limit", "-n", "--agent"):
            value = value if has_value else next(rest, "")
            given["agent" if name == "--agent" else "limit"] = value
        elif word.startswith("-"):
            return None
        else:
            texts.append(word)
    limit = str(given.pop("limit", LIMIT))
    asked = Asked(text=texts[0] if texts else "", limit=int(limit) if limit.isdecimal() else 0, **given)
    is_whole = asked.agent and 1 <= asked.limit <= 50 and len(texts) == (0 if asked.stdin else 1)
    return asked if is_whole else None


def run(asked: Asked) -> int:
    """Print what was found. Raises OstiaryError."""
    from ostiary.cli import vault_access

    if asked.stdin:
        vault_access.run(lambda access: _answer_lines(access, asked))
        return 0
    found = vault_access.run(lambda access: _answer(access, asked))
    for notice in found.notices:
        print(notice, file=sys.stderr)
    if asked.as_json:
        print(json.dumps(as_data(found), indent=2, ensure_ascii=False))
    else:
        print_found(found)
    return 0


def as_data(found: "Found") -> list[dict[str, Any]]:
    return [_data(each) for each in found.passages]


def print_found(found: "Found", *, with_collection: bool = False) -> None:
    """For a person: the place, how well it fits and why, and the lines themselves."""
    from ostiary.cli.output import safe

    if not found.passages:
        print("Nothing was found.")
    for number, each in enumerate(found.passages):
        place = f"{each.collection}:{each.path}" if with_collection else each.path
        why = f"  ({', '.join(each.why)})" if each.why else ""
        doubt = "  [unconfirmed]" if "memory/unconfirmed/" in each.path else ""
        print(("\n" if number else "") + safe(f"{place}:{each.start}-{each.end}  {each.score:.2f}{doubt}{why}"))
        for line in each.snippet.splitlines():
            print(f"  {safe(line)}")


def _data(each: "Passage") -> dict[str, Any]:
    return {
        "path": each.path,
        "start": each.start,
        "end": each.end,
        "score": each.score,
        "snippet": each.snippet,
        "text": each.text,
        "why": list(each.why),
        "collection": each.collection,
        "version": each.version,
        "at": each.at,
        "trust": "" if each.label is None else str(each.label.trust),
    }


async def _answer(access: "Access", asked: Asked) -> "Found":
    await _settle(access)
    return await access.recall(asked.text, agent=asked.agent, limit=asked.limit, sessions=asked.sessions)


async def _answer_lines(access: "Access", asked: Asked) -> None:
    """Until the input ends; a question that cannot be answered gets an error in its place."""
    import anyio.to_thread

    from ostiary.contracts.errors import OstiaryError, StoreError

    await _settle(access)
    while line := await anyio.to_thread.run_sync(_line, sys.stdin.buffer):
        try:
            text, limit = _question(line, asked.limit)
            found = await access.recall(text, agent=asked.agent, limit=limit, sessions=asked.sessions)
            answer: Any = as_data(found)
        except StoreError:
            raise
        except OstiaryError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer, ensure_ascii=False), flush=True)


async def _settle(access: "Access") -> None:
    """Without a gateway nobody indexes in the background: what changed since the last command is taken in first."""
    from ostiary.cli.progress import progress

    if access.is_own:
        with progress() as shown:
            await access.catch_up(
                lambda index: shown.of("indexing", index.documents, index.documents + index.waiting), vectors=False
            )


def _line(source: BinaryIO) -> bytes:
    """The next one. Of one too long to be a question the rest is read and let go: it gets one answer, like every other."""
    line = source.readline(_LONGEST_LINE)
    rest = line
    while rest and not rest.endswith(b"\n") and len(rest) == _LONGEST_LINE:
        rest = source.readline(_LONGEST_LINE)
    return line


def _question(given: bytes, limit: int) -> tuple[str, int]:
    """Plain text, or {"query": …, "limit": …}. Raises BadInput."""
    from ostiary.contracts.errors import BadInput

    if len(given) >= _LONGEST_LINE:
        raise BadInput(f"a question has at most {_LONGEST_LINE:,} bytes")
    line = given.decode("utf-8", "replace").strip()
    if not line.startswith("{"):
        return line, limit
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        asked = {}
    text, wanted = asked.get("query"), asked.get("limit", limit)
    if not isinstance(text, str) or type(wanted) is not int:
        raise BadInput('a line that begins with { is JSON like {"query": "…", "limit": 6}')
    # Half a surrogate is no text, and nothing could print it.
    return text.encode("utf-8", "replace").decode(), wanted
