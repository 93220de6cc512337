"""Where memory lies: documents of the collection `_memory`, the main agent's at the top, another agent's under its folder.

    MEMORY.md                       long: what always matters; part of the prompt of the owner's private sessions
    memory/YYYY-MM-DD.md            daily
    memory/shared/*.md              everybody's
    memory/private/*.md             the owner's alone
    memory/users/<person>/*.md      that person's, and the owner's
    memory/unconfirmed/*.md         said by somebody who cannot vouch for it; waits for the owner
    anything else                   notes that people put there

A file that is full goes on in `<name>-2.md`, `<name>-3.md` and so on.
"""

import hashlib
import re
from datetime import datetime, tzinfo
from typing import Literal, get_args
from urllib.parse import quote

from ostiary.contracts.messages import UserId
from ostiary.core.agent.bootstrap import MEMORY, PRIVATE

Area = Literal["long", "daily", "shared", "private", "me"]
Place = Literal["long", "daily", "shared", "private", "users", "unconfirmed", "notes"]

AREAS: tuple[Area, ...] = get_args(Area)
COLLECTION = MEMORY
SESSIONS = "_sessions"
LONG = PRIVATE
SHARED = "memory/shared/"
OWNERS = "memory/private/"
USERS = "memory/users/"
UNCONFIRMED = "memory/unconfirmed/"
AGENTS = "agents/"

_DAILY = re.compile(r"memory/\d{4}-\d\d-\d\d(?:-\d+)?\.md")
_LONG = re.compile(r"MEMORY(?:-\d+)?\.md")
_LONGEST_PERSON = 80


def person_folder(user: UserId) -> str:
    """One folder for one person: different people never share it, and no id can spell a path or a glob."""
    channel = quote(user.channel.strip().lower(), safe="").replace("-", "%2D")
    name = f"{channel}-{quote(user.stable_id, safe='@+', errors='surrogatepass')}"
    if len(name) > _LONGEST_PERSON:
        name = f"{channel[:20]}-~{hashlib.sha256(str(user).encode('utf-8', 'surrogatepass')).hexdigest()}"
    return f"{USERS}{name}/"


def day_of(at: float, zone: tzinfo) -> str:
    return datetime.fromtimestamp(at, zone).strftime("%Y-%m-%d")


def path_of(area: Area, *, user: UserId, day: str) -> str:
    """The first file of an area, relative to the agent's folder."""
    match area:
        case "long":
            return LONG
        case "daily":
            return f"memory/{day}.md"
        case "shared":
            return f"{SHARED}notes.md"
        case "private":
            return f"{OWNERS}notes.md"
        case "me":
            return f"{person_folder(user)}notes.md"


def unconfirmed_path(day: str) -> str:
    return f"{UNCONFIRMED}{day}.md"


def numbered(path: str, number: int) -> str:
    """The file in which a full one goes on: MEMORY.md, MEMORY-2.md, MEMORY-3.md."""
    return path if number <= 1 else f"{path.removesuffix('.md')}-{number}.md"


def place_of(path: str) -> Place:
    """What a path, relative to the agent's folder, belongs to. Spelling is exact: what only resembles an area is a note."""
    if _LONG.fullmatch(path):
        return "long"
    if _DAILY.fullmatch(path):
        return "daily"
    for start, place in _FOLDERS:
        if path.startswith(start):
            return place
    return "notes"


_FOLDERS: tuple[tuple[str, Place], ...] = (
    (SHARED, "shared"),
    (OWNERS, "private"),
    (USERS, "users"),
    (UNCONFIRMED, "unconfirmed"),
)
