"""The door takes its rules from the newest configuration."""

import json
from pathlib import Path
from typing import Any

import pytest

from ostiary.assembly.config.load import load
from ostiary.assembly.door import NewestAccess, access_rules, check_token, open_entrance
from ostiary.assembly.house import open_house
from ostiary.contracts.errors import BadInput, ConfigInvalid
from ostiary.gateway.auth.place import is_our_host


def configure(home: Path, config: dict[str, Any]) -> None:
    path = home / "ostiary.json5"
    path.write_text(json.dumps(config))
    path.chmod(0o600)


async def test_names_the_owner_allows_count_and_others_do_not(tmp_path: Path) -> None:
    scope: dict[str, Any] = {"type": "http", "headers": [], "server": ("127.0.0.1", 1)}
    async with open_house(tmp_path, {}) as house:
        before = access_rules(house)
        configure(tmp_path, {"gateway": {"allowedHosts": ["Home.Example"]}})
        house.apply(load(tmp_path, {}))
        after = access_rules(house)
    assert not is_our_host("home.example", scope, before)
    assert is_our_host("home.example:443", scope, after)
    assert not is_our_host("evil.home.example", scope, after)


async def test_the_rules_of_who_comes_in_are_made_once_for_a_configuration_and_anew_for_the_next(tmp_path: Path) -> None:
    async with open_house(tmp_path, {}) as house:
        rules = NewestAccess(house)
        before, again = rules(), rules()
        configure(tmp_path, {"gateway": {"allowedHosts": ["home.example"]}})
        house.apply(load(tmp_path, {}))
        after = rules()
    assert again is before
    assert (before.hosts, after.hosts) == (frozenset(), frozenset({"home.example"}))


@pytest.mark.parametrize("name", ["*", "a b", "http://x", "x:80", "x/", "", "-x"])
def test_what_is_no_host_name_is_refused(tmp_path: Path, name: str) -> None:
    configure(tmp_path, {"gateway": {"allowedHosts": [name]}})
    with pytest.raises(ConfigInvalid, match="allowedHosts"):
        load(tmp_path, {})


async def test_sockets_have_the_limits_of_the_configuration(tmp_path: Path) -> None:
    limits = {"maxPayloadBytes": 4096, "maxBufferedBytes": 8192, "tickIntervalMs": 5000}
    configure(tmp_path, {"gateway": limits})
    async with open_house(tmp_path, {}) as house, open_entrance(house, run_token="") as entrance:
        made = entrance.socket._make()._limits
    assert (made.max_payload, made.max_buffered, made.tick_seconds) == (4096, 8192, 5.0)


@pytest.mark.parametrize(
    ("bind", "token"), [("loopback", "changeme"), ("loopback", "${TOKEN}"), ("lan", "short"), ("lan", "aaaaaaaaaaaaaaaaaaaa")]
)
async def test_a_placeholder_never_opens_the_door_and_a_weak_token_only_on_this_machine(
    tmp_path: Path, bind: str, token: str
) -> None:
    configure(tmp_path, {"gateway": {"bind": bind, "auth": {"token": "${GIVEN}"}}})
    async with open_house(tmp_path, {"GIVEN": token}) as house:
        with pytest.raises(BadInput, match=r"gateway\.auth\.token"):
            check_token(house)


async def test_a_weak_token_is_told_on_this_machine(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    configure(tmp_path, {"gateway": {"auth": {"token": "${GIVEN}"}}})
    async with open_house(tmp_path, {"GIVEN": "short"}) as house:
        check_token(house)
    assert "gateway.auth.token is weak" in caplog.text
