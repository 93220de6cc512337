"""The audit log over the socket."""

from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite.connection import connect_writer
from ostiary.contracts.store import Audit
from tests.unit.gateway.socket.room import KEY, Refusal, open_room


# The house itself writes the first entry when it starts.
def rows(*kinds: str) -> list[Audit]:
    return [Audit(at=1.0, kind=each, actor="owner", subject="exec", outcome="ok", detail={"n": 1}) for each in kinds]


async def test_entries_are_listed_by_place_and_kind(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        await room.store.commit(rows("login", "tool.decided", "tool.called"))
        client = await room.client(scopes=["admin"])
        whole = await client.call("audit.list", {"newest": True, "limit": 2})
        tools = await client.call("audit.list", {"kind": "tool.*", "after": 3})
    assert [each["kind"] for each in whole["entries"]] == ["tool.decided", "tool.called"]
    assert [(each["seq"], each["detail"]) for each in tools["entries"]] == [(4, {"n": 1})]
    assert whole["head"] == 4


async def test_a_log_that_holds_is_said_to_and_one_that_was_touched_is_not(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        await room.store.commit(rows("login", "login"))
        client = await room.client(scopes=["admin"])
        before = await client.call("audit.verify")
        connection = connect_writer(tmp_path / "store.db", KEY)
        connection.execute("UPDATE audit SET actor = 'nobody' WHERE seq = 2").fetchall()
        connection.close()
        after = await client.call("audit.verify")
    assert (before["ok"], before["problem"], before["entries"]) == (True, "", 3)
    assert (after["ok"], "Entry 2" in after["problem"]) == (False, True)


@pytest.mark.parametrize("method", ["audit.list", "audit.verify"])
async def test_only_an_administrator_reads_the_log(tmp_path: Path, method: str) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client(scopes=["read", "chat", "approve"])
        with pytest.raises(Refusal, match="admin"):
            await client.call(method)
