"""The assembled house: plugins under the owner's rules, changes taken whole or not at all."""

import json
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from ostiary.assembly.builtin import ENTRY_POINTS, Host
from ostiary.assembly.config.load import load
from ostiary.assembly.house import open_house
from ostiary.assembly.models import Sources
from ostiary.contracts.errors import ConfigInvalid, StoreError
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Deny
from ostiary.contracts.tool import ToolSpec
from ostiary.core.sessions.session import SYSTEM_LABEL
from tests.unit.core.engines import Tool

OWNER = Principal(user=UserId(channel="cli", stable_id="owner"), role="owner")
NO_SOURCES = cast(Sources, None)


def configure(home: Path, config: dict[str, Any]) -> None:
    path = home / "ostiary.json5"
    path.write_text(json.dumps(config))
    path.chmod(0o600)


def action(name: str) -> Action:
    spec = ToolSpec(schema=ToolSchema(name=name, description="", parameters={}), effects=frozenset())
    return Action(principal=OWNER, session=SessionKey("main", "main"), channel="cli", tool=spec, arguments={}, label=SYSTEM_LABEL)


class Weather:
    name = "weather"

    @staticmethod
    def load() -> Any:
        def register(host: Host) -> None:
            host.add_tool(Tool("weather"))

        return register


async def test_denying_plugins_denies_what_plugins_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: [Weather] if group == ENTRY_POINTS else [])
    configure(tmp_path, {"tools": {"profile": "full", "deny": ["group:plugins"]}})
    async with open_house(tmp_path, {}) as house:
        assert "weather" in house.host.tools
        assert isinstance(house.newest.rules.judge(action("weather")), Deny)
        assert house.newest.plugin_tools == frozenset({"weather"})
        assert not isinstance(house.newest.rules.judge(action("read")), Deny)


async def test_a_second_house_on_the_same_state_is_refused(tmp_path: Path) -> None:
    async def open_again() -> None:
        async with open_house(tmp_path, {}):
            raise AssertionError

    async with open_house(tmp_path, {}):
        with pytest.raises(StoreError):
            await open_again()


async def test_a_change_that_cannot_be_used_keeps_the_last_good_one_and_says_so(tmp_path: Path) -> None:
    async with open_house(tmp_path, {}) as house:
        rules, newest = house.newest.rules, house.newest
        newest.take(ConfigInvalid("gateway.port: 'x' is not a number"), NO_SOURCES)
        configure(tmp_path, {"tools": {"deny": ["group:nonsense"]}})
        newest.take(load(tmp_path, {}), NO_SOURCES)
        assert newest.rules is rules
        assert "nonsense" in str(newest.live.problem)


async def test_a_house_opens_and_closes_with_nothing_configured(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with open_house(tmp_path, {}) as house:
            assert house.engine.status()["running"] == 0
            assert len(house.token()) > 30
        async with open_house(tmp_path, {}) as again:
            assert again.token() == house.token()
