"""/confirm and /approvals where others ask and read along."""

from pathlib import Path
from typing import cast

import pytest
from tests.journeys.engine.test_approvals import ask_first
from tests.unit.core.engines import MAIN, OWNER, Engine, Tool, engine

from ostiary.contracts.engine import Controls
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ModelCatalogue
from ostiary.core.approvals.desk import Approvals
from ostiary.core.routing.approval_commands import add_approval_commands
from ostiary.core.routing.commands import CommandCall, Commands
from ostiary.kit.models import ScriptedModel, call, say

GROUP = SessionKey("main", "memory:group:room")


async def run(house: Engine, text: str, session: SessionKey) -> str:
    commands = Commands()
    desk = house.supervisor.approvals
    assert desk is not None
    add_approval_commands(commands.add, desk, house.clock)
    name, _, args = text.partition(" ")
    command = commands.find(name)
    assert command is not None
    made = CommandCall(
        name=name,
        args=args,
        session=session,
        principal=OWNER,
        message=house.channel.message(text),
        controls=cast(Controls, house.supervisor),
        catalogue=cast(ModelCatalogue, None),
        commands=commands,
    )
    return (await command.run(made)).text


async def asked(house: Engine) -> Approvals:
    desk = house.supervisor.approvals
    assert desk is not None
    await house.channel.say("do it")
    await house.settle(lambda: len(desk.pending) == 1 and house.supervisor.status()["waiting"] == 1)
    return desk


async def test_a_yes_without_a_name_means_only_what_was_asked_here(tmp_path: Path) -> None:
    tool = Tool()
    async with engine(tmp_path, ScriptedModel([call("probe"), say("done")]), tools=[tool], decide=ask_first) as house:
        desk = await asked(house)
        with pytest.raises(BadInput, match="nothing waits here"):
            await run(house, "confirm", GROUP)
        assert (len(desk.pending), tool.calls) == (1, [])
        assert "Allowed" in await run(house, "confirm", desk.pending[0].session)
        await house.channel.until_sent(2)
        assert len(tool.calls) == 1


async def test_an_id_may_be_typed_in_capitals_and_with_a_time(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([call("probe"), say("done")]), tools=[Tool()], decide=ask_first) as house:
        desk = await asked(house)
        assert "without asking" in await run(house, f"confirm {desk.pending[0].id.upper()} for 8h", MAIN)
        assert len(desk.grants) == 1


async def test_a_group_is_not_told_what_is_asked_elsewhere(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([call("probe", {"n": 4711})]), tools=[Tool()], decide=ask_first) as house:
        await asked(house)
        assert "4711" not in await run(house, "approvals", GROUP)
        assert "4711" in await run(house, "approvals", MAIN)
