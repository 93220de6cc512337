"""In the posture vault the model works on the store alone, by tools with names of their own."""

from pathlib import Path
from typing import Any

import pytest

from ostiary.kit.models import call
from tests.journeys.memory.people import ME, people

USUAL = {"read", "write", "edit", "exec", "apply_patch", "memory_search", "memory_get", "memory_write"}
OWN = {
    *("vault_read", "vault_write", "vault_edit", "vault_exec", "vault_search", "vault_get", "vault_status"),
    *("vault_memory_search", "vault_memory_get", "vault_memory_write"),
}
MAIN = "agent:main:main"


def posture(**tools: Any) -> dict[str, Any]:
    return {"posture": "vault", "tools": {"roles": {"external": {"allow": ["*"]}}, **tools}}


async def test_the_usual_names_are_absent_and_calling_them_does_nothing(tmp_path: Path) -> None:
    async with people(tmp_path / "home", **posture()) as house:
        await house.asks(MAIN, "Write it.", call("write", {"path": "a.md", "content": "x"}), call("exec", {"command": "id"}))
        assert house.tools & USUAL == set()
        assert house.tools >= OWN
        assert all("There is no tool" in each for each in house.results)
        assert await house.house.store.documents.list("_workspace") == ()


async def test_files_are_written_read_found_and_worked_on(tmp_path: Path) -> None:
    async with people(tmp_path / "home", **posture()) as house:
        await house.asks(
            MAIN,
            "Do it.",
            call("vault_write", {"path": "plan.md", "content": "The garden needs a fence.\n"}),
            call("vault_read", {"path": "plan.md"}),
            call("vault_search", {"query": "what does the garden need"}),
            call("vault_exec", {"command": "tr a-z A-Z < plan.md > loud.md && cat loud.md"}),
            call("vault_get", {"path": "loud.md"}),
        )
        written, read, found, ran, got = house.results
        assert "plan.md" in written
        assert "garden needs a fence" in read
        assert "garden needs a fence" in found
        assert "THE GARDEN NEEDS A FENCE." in ran
        assert "THE GARDEN NEEDS A FENCE." in got


async def test_what_is_remembered_is_found_by_its_own_tools_alone(tmp_path: Path) -> None:
    async with people(tmp_path / "home", **posture()) as house:
        await house.house.memory.note("The safe opens with 90210.", by=ME, area="private")
        await house.asks(MAIN, "Safe?", call("vault_memory_search", {"query": "what opens the safe"}))
        assert "90210" in house.results[0]
        for arguments in ({"query": "safe"}, {"query": "safe", "collection": "_memory"}):
            await house.asks("agent:main:api:apart", "Safe?", call("vault_search", arguments))
            assert "90210" not in "".join(house.results)
        await house.asks(
            "agent:main:api:apart", "Safe?", call("vault_get", {"collection": "_memory", "path": "memory/private/notes.md"})
        )
        assert "90210" not in "".join(house.results)
        await house.asks("agent:main:api:apart", "Which?", call("vault_status", {}))
        assert "_memory" not in house.results[-1]


@pytest.mark.parametrize(
    "lists", [{"deny": ["group:fs"]}, {"alsoAllow": [*sorted(OWN), "group:fs"]}, {"deny": ["group:runtime"]}]
)
async def test_lists_meant_for_the_usual_tools_change_nothing(tmp_path: Path, lists: dict[str, Any]) -> None:
    async with people(tmp_path / "home", **posture(**lists)) as house:
        steps = (call("vault_write", {"path": "a.md", "content": "kept"}), call("vault_read", {"path": "a.md"}))
        await house.asks(MAIN, "Do it.", *steps)
        assert house.tools & {"read", "write", "edit", "exec"} == set()
        assert "kept" in house.results[1]
