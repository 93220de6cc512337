"""What the socket says of the rules."""

from pathlib import Path

import pytest

from tests.unit.gateway.socket.room import Refusal, open_room


async def test_a_call_is_explained_layer_by_layer(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client(scopes=["admin"])
        found = await client.call("policy.explain", {"tool": "bash", "arguments": {"command": "ls"}})
    assert (found["tool"], found["outcome"], found["layer"], found["visible"]) == ("exec", "ask", "confirm", True)
    assert [step["layer"] for step in found["steps"] if step["decides"]] == ["confirm"]
    assert len(found["steps"]) == 15


async def test_a_tool_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client(scopes=["admin"])
        with pytest.raises(Refusal, match="There is no tool"):
            await client.call("policy.explain", {"tool": "exce"})


async def test_tools_are_listed_with_their_standing(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client(scopes=["read"])
        (mine,) = (await client.call("tools.list"))["tools"]
        (theirs,) = (await client.call("tools.list", {"who": "external", "channel": "irc"}))["tools"]
    assert (mine["name"], mine["effects"], mine["standing"]) == ("exec", ["execute"], "asked")
    assert (theirs["standing"], theirs["layer"]) == ("hidden", "role")
