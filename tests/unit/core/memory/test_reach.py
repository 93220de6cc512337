"""Who may read what: the globs of a search and the rule for one path say the same."""

import itertools

import pytest

from ostiary.adapters.store.paths import matches
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.paths import day_of, numbered, path_of, person_folder, place_of
from ostiary.core.memory.reach import may_read, reach, session_reach
from ostiary.core.memory.rules import MemoryRules
from tests.unit.core.memory.house import BEN, GROUP, MAIN, ME

PATHS = (
    "MEMORY.md",
    "MEMORY-2.md",
    "MEMORY-old.md",
    "memory/2026-11-15.md",
    "memory/2026-11-15-2.md",
    "memory/shared/notes.md",
    "memory/shared/deep/er.md",
    "memory/private/notes.md",
    "memory/users/telegram-42/notes.md",
    "memory/users/telegram-4/notes.md",
    "memory/users/telegram-42x/notes.md",
    "memory/unconfirmed/2026-11-15.md",
    "memory/Shared/notes.md",
    "memory/sharedx.md",
    "notes/work.md",
    "agents/coder/MEMORY.md",
    "agents/coder/memory/shared/x.md",
)
CODER = SessionKey("coder", "main")


@pytest.mark.parametrize(
    ("person", "session", "private", "groups"),
    list(itertools.product((ME, BEN), (MAIN, CODER), (True, False), (True, False))),
)
def test_search_and_reading_agree_about_every_path(person: Principal, session: SessionKey, private: bool, groups: bool) -> None:
    rules = MemoryRules(in_groups=groups)
    seen = reach(person, session, is_private_place=private, rules=rules)
    for path in PATHS:
        whole = folder_of(session.agent) + path
        by_glob = bool(seen.collections) and any(matches(glob, whole) for glob in seen.include)
        by_glob = by_glob and not any(matches(glob, whole) for glob in seen.exclude)
        assert by_glob == may_read(path, person, session, is_private_place=private, rules=rules), path


def readable(person: Principal, *, private: bool, groups: bool = False) -> set[str]:
    rules = MemoryRules(in_groups=groups)
    return {path for path in PATHS if may_read(path, person, MAIN, is_private_place=private, rules=rules)}


def test_the_owner_alone_sees_everything_but_other_agents() -> None:
    assert readable(ME, private=True) == {path for path in PATHS if not path.startswith("agents/")}


def test_others_see_what_is_shared_and_their_own_exactly() -> None:
    assert readable(BEN, private=True) == {
        "memory/shared/notes.md",
        "memory/shared/deep/er.md",
        "memory/users/telegram-42/notes.md",
    }


def test_nothing_is_seen_in_groups_unless_the_owner_opens_them() -> None:
    assert readable(ME, private=False) == set()
    assert readable(BEN, private=False) == set()
    assert readable(BEN, private=False, groups=True) == {"memory/shared/notes.md", "memory/shared/deep/er.md"}
    opened = readable(ME, private=False, groups=True)
    assert "memory/2026-11-15.md" in opened
    assert not any("private" in path or "users" in path or path.startswith("MEMORY") for path in opened)


def test_past_conversations_are_the_owners_alone_and_of_one_agent() -> None:
    opened = MemoryRules(sessions=True)
    assert session_reach(ME, MAIN, is_private_place=True, rules=opened).include == ("agent:main:*/**",)
    assert session_reach(ME, MAIN, is_private_place=True, rules=MemoryRules()).collections == ()
    assert session_reach(BEN, MAIN, is_private_place=True, rules=opened).collections == ()
    assert session_reach(ME, GROUP, is_private_place=False, rules=opened).collections == ()


@pytest.mark.parametrize("stable_id", ["../../private", "*", "42/..", "[a]", "a" * 300, "", "é\n"])
def test_no_id_spells_a_path_or_a_glob(stable_id: str) -> None:
    folder = person_folder(UserId(channel="telegram", stable_id=stable_id))
    assert folder.count("/") == 3
    assert not set("*?[]\n") & set(folder)
    assert len(folder) < 130


def test_two_people_never_share_a_folder() -> None:
    people = [("a-b", "c"), ("a", "b-c"), ("a", "B-c"), ("a", "b%2Dc"), ("a", "b" * 200), ("a", "b" * 201)]
    folders = {person_folder(UserId(channel=channel, stable_id=name)) for channel, name in people}
    assert len(folders) == len(people)


def test_areas_lie_where_the_map_says() -> None:
    from datetime import UTC

    day = day_of(1_794_787_200.0, UTC)
    places = {area: path_of(area, user=BEN.user, day=day) for area in ("long", "daily", "shared", "private", "me")}
    assert places == {
        "long": "MEMORY.md",
        "daily": "memory/2026-11-16.md",
        "shared": "memory/shared/notes.md",
        "private": "memory/private/notes.md",
        "me": "memory/users/telegram-42/notes.md",
    }
    assert numbered("memory/2026-11-16.md", 2) == "memory/2026-11-16-2.md"
    assert place_of("memory/2026-11-16-2.md") == "daily"
    assert place_of("memory/2026-11-16.md.exe") == "notes"
