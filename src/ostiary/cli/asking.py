"""Questions of the assistant at the terminal: shown whole, answered by the person who sits there, or left for somebody who
can. There is no way to say yes in advance: what would then run is what nobody has read."""

import re
import select
import sys
import termios
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ostiary.cli.output import safe

_YES = re.compile(r"y(?:es)?(?:\s+(?:for\s+)?(\d{1,4}\s*(?:min|m|h|d)))?", re.IGNORECASE)
_NO = re.compile(r"(?:no?)?(?:\s+(.*))?", re.IGNORECASE)
HOW = "y to allow once, y for 1h to allow like calls for an hour, anything else refuses"

Send = Callable[[str], str]
"""Say a command in the session; gives what it replied. Raises OstiaryError."""


def whole(question: Mapping[str, Any], now: float) -> str:
    """Everything there is to know before saying yes."""
    left = max(0, round(question["deadline"] - now))
    lines = [f"The assistant asks ({question['id']}): {question['reason']}.", ""]
    lines += [f"  │ {line}" for line in str(question["text"]).split("\n")]
    if question["trust"] == "untrusted":
        sources = ", ".join(question["sources"])
        lines += ["", f"  The conversation holds text from outside ({sources}); it may be its idea, not yours."]
    if question["offers"]:
        lines += ["", f"  Like calls are: {question['offers'][0]['text']}"]
    return safe("\n".join([*lines, "", f"  Without an answer it is refused in {left} s."]))


def command_for(question: Mapping[str, Any], said: str) -> str:
    """The command that means what a person typed. Only a plain yes is one."""
    said = said.strip()
    yes = _YES.fullmatch(said)
    if yes is not None:
        span = (yes[1] or "").replace(" ", "")
        return f"/confirm {question['id']}" + (f" for {span}" if span else "")
    no = _NO.fullmatch(said)
    note = (no[1] or "") if no is not None else said
    return f"/deny {question['id']} {note}".strip()


def is_settled(reply: str) -> bool:
    return reply.startswith(("Allowed", "Refused")) or "answered already" in reply or "nothing waits" in reply.lower()


def put(question: Mapping[str, Any], send: Send) -> None:
    """Show it, and ask if somebody sits here; until it is settled or its time is over. Raises OstiaryError."""
    print(f"\n{whole(question, time.time())}", file=sys.stderr, flush=True)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        name = question["id"]
        print(f"\n  Answer with: ostiary approvals allow {name}\n           or: ostiary approvals deny {name}", file=sys.stderr)
        sys.stderr.flush()
        return
    while True:
        _forget_what_was_typed()
        print(f"\nAllow it? ({HOW}) [y/N] ", end="", file=sys.stderr, flush=True)
        said = _line(question["deadline"] - time.time())
        if said is None:
            print("\nNobody answered in time; it is refused.", file=sys.stderr, flush=True)
            return
        reply = send(command_for(question, said))
        print(safe(reply), file=sys.stderr, flush=True)
        if is_settled(reply):
            return


def _forget_what_was_typed() -> None:
    """A line that was typed before the question could be read is no answer to it."""
    with suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _line(seconds: float) -> str | None:
    """What was typed; None if nothing was within `seconds`. An end of input is no yes."""
    ready, _, _ = select.select([sys.stdin], [], [], max(0.0, seconds))
    return sys.stdin.readline() if ready else None
