"""Commands beside each other on the same files, when one of them has the network."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.adapters.tools.shell.support import MAIN, open_house
from tests.unit.adapters.tools.shell.test_process import OTHER, SOON, act, background, serves

from ostiary.contracts.errors import ToolError

RULES = replace(SOON, way_out=lambda role: "/proxy")
FETCH = {"command": "sh fetch.sh", "network": True}


async def test_no_command_is_allowed_the_network_while_another_may_change_what_it_runs(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=RULES) as house:
        await house.exec.bind(FETCH, house.context())
        name = await background(house)
        with pytest.raises(ToolError, match="could change what this one would run") as caught:
            await house.exec.bind(FETCH, house.context())
        assert "process tool" in caught.value.hint
        assert await house.exec.bind({"command": "sh fetch.sh"}, house.context())
        assert await house.exec.bind(FETCH, house.context(OTHER))
        await act(house, "kill", name)
        assert await house.exec.bind(FETCH, house.context())


async def test_it_is_known_whether_a_command_with_the_network_is_under_way(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=RULES) as house:
        await background(house)
        assert not house.processes.has_way_out
        await house.exec.call({"command": "serve", "network": True}, house.context(OTHER))
        assert house.processes.has_way_out
        await house.processes.end_session(OTHER)
        assert not house.processes.has_way_out
        await house.processes.end_session(MAIN)
