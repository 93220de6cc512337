"""Who may read what. `reach` says it as globs for the search, `may_read` for one path; both say the same."""

from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.search import Reach
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.paths import AGENTS, COLLECTION, OWNERS, SESSIONS, SHARED, UNCONFIRMED, USERS, person_folder, place_of
from ostiary.core.memory.rules import MemoryRules

NOTHING = Reach(collections=())
_UNSEEN_IN_GROUPS = ("MEMORY*.md", f"{OWNERS}**", f"{USERS}**", f"{UNCONFIRMED}**")


def reach(principal: Principal, session: SessionKey, *, is_private_place: bool, rules: MemoryRules) -> Reach:
    """The owner alone with the assistant: everything of this agent. Others: what is shared, and their own.

    Where others read along nothing, unless the rules open groups: then the owner's daily and shared notes and no more, and
    for others what is shared."""
    if not is_private_place and not rules.in_groups:
        return NOTHING
    folder = folder_of(session.agent)
    if principal.is_owner:
        # At the top of the collection the other agents' folders lie beside the main agent's files.
        others = () if folder else (f"{AGENTS}**",)
        unseen = () if is_private_place else tuple(folder + each for each in _UNSEEN_IN_GROUPS)
        return Reach(collections=(COLLECTION,), include=(f"{folder}**",), exclude=(*others, *unseen))
    own = (f"{folder}{person_folder(principal.user)}**",) if is_private_place else ()
    return Reach(collections=(COLLECTION,), include=(f"{folder}{SHARED}**", *own))


def session_reach(principal: Principal, session: SessionKey, *, is_private_place: bool, rules: MemoryRules) -> Reach:
    """Past conversations of this agent, for the owner alone, when the rules open them."""
    if not (rules.sessions and principal.is_owner and is_private_place):
        return NOTHING
    return Reach(collections=(SESSIONS,), include=(f"agent:{session.agent}:*/**",))


def may_read(path: str, principal: Principal, session: SessionKey, *, is_private_place: bool, rules: MemoryRules) -> bool:
    """`path` is relative to the agent's folder."""
    if not is_private_place and not rules.in_groups:
        return False
    place = place_of(path)
    if not principal.is_owner:
        is_own = is_private_place and path.startswith(person_folder(principal.user))
        return place == "shared" or is_own
    if not folder_of(session.agent) and path.startswith(AGENTS):
        return False
    return is_private_place or (place in ("daily", "shared", "notes") and not _resembles_long(path))


def _resembles_long(path: str) -> bool:
    return "/" not in path and path.startswith("MEMORY") and path.endswith(".md")
