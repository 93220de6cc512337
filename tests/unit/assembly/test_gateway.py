"""The assembled house: plugins under the owner's rules, changes taken whole or not at all."""

import gc
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from ostiary.adapters.credentials import Credential, CredentialStore, Secret
from ostiary.assembly.builtin import ENTRY_POINTS, Host
from ostiary.assembly.config.load import Loaded, load
from ostiary.assembly.gateway import GC_THRESHOLDS, _set_aside
from ostiary.assembly.house import GATEWAY_DB, TOKEN, open_house
from ostiary.assembly.models import Sources
from ostiary.assembly.recent import RecentSecrets
from ostiary.assembly.rules import Rules
from ostiary.assembly.vault import STORE, STORE_KEY
from ostiary.contracts.errors import ConfigInvalid, StoreError, StoreRefused
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Deny
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.sessions.session import SYSTEM_LABEL
from ostiary.kit.clock import ManualClock
from tests.unit.core.engines import Tool

OWNER = Principal(user=UserId(channel="cli", stable_id="owner"), role="owner")
NO_SOURCES = cast(Sources, None)


def configure(home: Path, config: dict[str, Any]) -> None:
    path = home / "ostiary.json5"
    path.write_text(json.dumps(config))
    path.chmod(0o600)


def action(name: str) -> Action:
    spec = ToolSpec(schema=ToolSchema(name=name, description="", parameters={}), effects=frozenset({Effect.READ}))
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


def changed(home: Path, config: dict[str, Any]) -> Loaded:
    configure(home, config)
    return load(home, {})


async def test_a_bug_in_compiling_keeps_the_last_good_generation_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object, **more: object) -> Rules:
        raise ZeroDivisionError("a bug of ours")

    async with open_house(tmp_path, {}) as house:
        rules, models, newest = house.newest.rules, house.newest.models, house.newest
        monkeypatch.setattr("ostiary.assembly.newest.compile_rules", broken)
        newest.take(changed(tmp_path, {"session": {"historyLimit": 12}}), house.sources)
        assert (newest.rules, newest.models) == (rules, models)
        assert newest.live.current.config.session.history_limit != 12
        assert newest.live.problem is not None
        with pytest.raises(ConfigInvalid, match="could not be put in force"):
            house.apply(load(tmp_path, {}))
        monkeypatch.undo()
        newest.take(changed(tmp_path, {"session": {"historyLimit": 13}}), house.sources)
        assert newest.rules.run.history_messages == 13
        assert house.engine.status()["running"] == 0
    assert "a bug of ours" in caplog.text


async def test_limits_of_tools_and_the_time_to_drain_count_at_once(tmp_path: Path) -> None:
    async with open_house(tmp_path, {}) as house:
        told: list[int] = []
        house.newest.follow(lambda rules: told.append(rules.tool_limits.result_chars))
        house.apply(changed(tmp_path, {"tools": {"resultMaxBytes": 4096}, "gateway": {"drainSeconds": 1}}))
        assert (told[1:], house.engine.drain_seconds) == ([4096], 1.0)
        house.apply(changed(tmp_path, {"tools": {"resultMaxBytes": 2048}, "gateway": {"drainSeconds": 0}}))
        assert (told[1:], house.engine.drain_seconds) == ([4096, 2048], 0.0)


async def test_a_generation_is_never_counted_twice_for_different_contents(tmp_path: Path) -> None:
    async with open_house(tmp_path, {}) as house:
        first = house.apply(changed(tmp_path, {"session": {"historyLimit": 12}}))
        second = house.apply(changed(tmp_path, {"session": {"historyLimit": 13}}))
        # The file's watcher counts for itself and comes late.
        house.newest.take(replace(changed(tmp_path, {"session": {"historyLimit": 14}}), generation=first), house.sources)
        third = house.newest.rules.generation
        assert first < second < third
        house.newest.take(replace(load(tmp_path, {}), generation=first), house.sources)
        assert (house.newest.rules.generation, house.newest.live.current.generation) == (third, third)


class CountingCredentials:
    """The real ones, and how often they were opened."""

    def __init__(self, inner: CredentialStore) -> None:
        self._inner = inner
        self.opened = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def reveal(self, name: str) -> Secret | None:
        self.opened += 1
        return self._inner.reveal(name)


async def test_the_token_is_read_once_a_second_at_most_and_a_new_one_counts_within_that_time(tmp_path: Path) -> None:
    async with open_house(tmp_path, {}) as opened:
        clock, credentials = ManualClock(), CountingCredentials(opened.credentials)
        house = replace(opened, clock=clock, credentials=cast(CredentialStore, credentials), recent=RecentSecrets(clock))
        old = house.token()
        assert [house.token() for _ in range(100)] == [old] * 100
        assert credentials.opened == 1
        opened.credentials.set(Credential(name=TOKEN, kind="token", value=Secret("a-new-token-for-the-gateway")))
        await clock.advance(1.0)
        assert house.token() == "a-new-token-for-the-gateway"


async def test_a_token_that_the_configuration_changes_counts_at_once(tmp_path: Path) -> None:
    async with open_house(tmp_path, {}) as house:
        old = house.token()
        house.apply(changed(tmp_path, {"gateway": {"auth": {"token": "another-token-of-the-owner"}}}))
        assert (house.token(), old != house.token()) == ("another-token-of-the-owner", True)


async def test_a_token_that_cannot_be_read_fits_nobody_and_is_tried_again(tmp_path: Path) -> None:
    configure(tmp_path, {"gateway": {"auth": {"token": "${THE_TOKEN}"}}})
    async with open_house(tmp_path, {"THE_TOKEN": "a-token-from-outside"}) as opened:
        clock, environ = ManualClock(), {"THE_TOKEN": "a-token-from-outside"}
        house = replace(opened, clock=clock, environ=environ, recent=RecentSecrets(clock))
        del environ["THE_TOKEN"]
        assert house.token() == ""
        environ["THE_TOKEN"] = "a-token-from-outside"
        await clock.advance(1.0)
        assert house.token() == "a-token-from-outside"


async def test_a_lost_key_is_not_replaced_while_the_gateways_book_needs_it(tmp_path: Path) -> None:
    async with open_house(tmp_path, {}):
        pass
    (tmp_path / STORE_KEY).unlink()
    (tmp_path / STORE).unlink()
    (tmp_path / GATEWAY_DB).write_bytes(b"sealed with that key")

    async def open_again() -> None:
        async with open_house(tmp_path, {}):
            raise AssertionError

    with pytest.raises(StoreRefused, match=str(GATEWAY_DB)):
        await open_again()
    assert not (tmp_path / STORE_KEY).exists()


@pytest.fixture
def uncollected() -> Iterator[None]:
    """As a process is while the gateway starts."""
    before = gc.get_threshold()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("uncollected")
async def test_garbage_is_looked_for_again_once_the_gateway_listens() -> None:
    await _set_aside()
    assert (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count() > 0) == (True, GC_THRESHOLDS, True)
