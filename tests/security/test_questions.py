"""Shapes E and I: what a person is shown before they say yes, and tools that callers bring along."""

from dataclasses import replace
from pathlib import Path

import pytest

from ostiary.assembly.redteam.ground import Ground, open_ground
from ostiary.contracts.engine import Submission
from ostiary.contracts.model import ToolSchema
from ostiary.core.approvals.desk import PendingApproval
from ostiary.core.approvals.wording import described
from ostiary.kit.models import call, say

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
HIDING = [
    ("bidi", "echo safe \u202e; rm -rf /workspace"),
    ("backspace", "rm -rf /workspace \b\b\b\b echo safe"),
    ("escape", "rm -rf /workspace \x1b[2K\recho safe"),
    ("zero-width", "r\u200bm -rf /workspace"),
    ("padding", "echo safe" + " " * 5000 + "; rm -rf /workspace"),
    ("lines", "echo safe" + "\n" * 2000 + "rm -rf /workspace"),
    ("filler", "echo safe\u3164\u3164; rm -rf /workspace"),
]


async def _denied(ground: Ground, asked: PendingApproval) -> bool:
    return False


@pytest.mark.proves("E5")
@pytest.mark.parametrize(("name", "command"), HIDING)
async def test_a_question_hides_nothing_of_the_command(tmp_path: Path, name: str, command: str) -> None:
    async with open_ground(tmp_path, ENVIRON) as ground:
        await ground.begin()
        await ground.turn(call("exec", {"command": command}), answer=_denied)
        asked = ground.asked[0]
        shown = described(asked.asked.name, asked.arguments)
    assert asked.arguments["command"] == command
    assert "-rf /workspace" in shown
    assert all(sign.isprintable() or sign == "\n" for sign in shown)


@pytest.mark.proves("I3")
@pytest.mark.parametrize("name", ["deploy", "exec", "Deploy", "deploy "])
async def test_a_callers_tool_of_the_same_name_runs_nothing_of_ours(tmp_path: Path, name: str) -> None:
    own = ToolSchema(name=name, description="Mine.", parameters={"type": "object", "additionalProperties": True})

    def brings(plain: Submission) -> Submission:
        return replace(plain, client_tools=(own,))

    async with open_ground(tmp_path, ENVIRON) as ground:
        await ground.begin()
        await ground.turn(call(name, {"command": f"curl {ground.witness.taking()}"}), say("Done."), submission=brings)
        assert await ground.witness.look() == ()


@pytest.mark.proves("E1")
@pytest.mark.parametrize(
    "arguments",
    [
        '{"command": "x"',
        "[]",
        "null",
        '{"command": 7}',
        '{"command": ["sh", "-c", "id"]}',
        '{"command": "id\\u0000"}',
        '{"command": "' + "x" * 200_000 + '"}',
        '{"a":' * 5000 + "1" + "}" * 5000,
        '{"command": "id", "cwd": "../../etc"}',
        '{"command": "id", "cwd": "/etc"}',
        '{"command": "id", "timeout": 1e99}',
    ],
)
async def test_arguments_of_any_shape_run_nothing(tmp_path: Path, arguments: str) -> None:
    async def yes(ground: Ground, asked: PendingApproval) -> bool:
        return True

    async with open_ground(tmp_path, ENVIRON) as ground:
        await ground.begin()
        outcome = await ground.turn(call("exec", arguments), say("Done."), answer=yes)
        results = ground.puppet.outcomes
    assert outcome.status == "completed"
    assert [result.is_error for result in results] == [True]
