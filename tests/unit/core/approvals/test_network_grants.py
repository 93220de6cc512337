"""A command with the network is granted as it stands: an open pattern would hand the network to whatever lies there."""

import pytest
from tests.unit.core.approvals.test_grants import action, granted

from ostiary.contracts.errors import BadInput
from ostiary.core.approvals.grants import offers_for


@pytest.mark.parametrize("command", ["npm test", "git status", "pytest -q", "ls"])
def test_with_the_network_only_the_very_command_is_offered(command: str) -> None:
    assert offers_for("exec", {"command": command, "network": True}) == (command,)
    assert len(offers_for("exec", {"command": command})) == 2


def test_an_open_pattern_is_not_taken_for_a_command_with_the_network() -> None:
    with pytest.raises(BadInput, match="word by word"):
        granted(action("exec", command="npm test", network=True), "npm test*")
    assert granted(action("exec", command="npm test", network=True), "npm test").pattern == "npm test"
    assert granted(action("exec", command="npm test"), "npm test*").pattern == "npm test*"
