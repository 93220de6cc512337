"""What the gate tells the audit log."""

from typing import Any

import pytest

from ostiary.gateway.auth import Gate
from ostiary.gateway.errors import ApiError
from tests.unit.gateway.auth.support import LOCAL, TOKEN, Phone, World, bearer


class Told:
    def __init__(self, world: World) -> None:
        self.rows: list[tuple[str, str, str, str]] = []
        world.gate = Gate(
            lambda: TOKEN,
            monotonic=lambda: world.ticks,
            rules=lambda: world.rules,
            failure_rules=lambda: world.failure_rules,
            books=world.db,
            now=lambda: world.now,
            noted=self.note,
        )

    def note(self, kind: str, actor: str, subject: str, outcome: str, detail: Any = None, /) -> None:
        self.rows.append((kind, actor, subject, outcome))

    def kinds(self) -> list[str]:
        return [row[0] for row in self.rows]


@pytest.fixture
def told(world: World) -> Told:
    return Told(world)


async def test_who_comes_in_is_told_with_the_way_they_came(world: World, told: Told) -> None:
    world.gate.identify(bearer(TOKEN))
    assert told.rows == [("login", "token", "token", "ok")]


async def test_a_wrong_token_is_told_with_the_address_and_never_with_the_token(world: World, told: Told) -> None:
    with pytest.raises(ApiError):
        world.gate.identify(bearer("wrong-token-wrong-token-wrong"))
    assert told.kinds() == ["login.failed"]
    assert "wrong-token" not in str(told.rows)


async def test_whoever_is_locked_out_fills_no_log(world: World, told: Told) -> None:
    for _ in range(30):
        with pytest.raises(ApiError):
            world.gate.identify(bearer("wrong-token-wrong-token-wrong"))
    assert len(told.rows) == world.failure_rules.attempts


async def test_a_devices_life_is_told(world: World, told: Told) -> None:
    phone = Phone()
    caller = await world.pair(phone, "read")
    owner = world.gate.identify(bearer(TOKEN))
    await world.gate.desk.rotate(caller.device, owner)
    await world.gate.desk.set_scopes(caller.device, ["chat"], owner)
    await world.gate.desk.revoke(caller.device, owner)
    devices = [row for row in told.rows if row[0].startswith("device.")]
    assert [row[0].removeprefix("device.") for row in devices] == ["asked", "approved", "rotated", "scoped", "revoked"]
    assert {row[2] for row in devices} == {caller.device}
    assert {row[1] for row in devices[1:]} == {"token"}


async def test_a_device_that_is_turned_down_is_told(world: World, told: Told) -> None:
    asked = await world.connect(Phone(), scopes=("read",))
    await world.gate.desk.reject(asked.request, world.gate.identify(bearer(TOKEN)))
    assert told.kinds() == ["device.asked", "login", "device.rejected"]


async def test_a_device_of_the_owners_own_machine_is_told(world: World, told: Told) -> None:
    await world.connect(Phone(), client=LOCAL, token=TOKEN)
    assert told.kinds() == ["device.paired", "login"]


async def test_a_browser_that_signs_in_is_told(world: World, told: Told) -> None:
    await world.sign_in()
    ((kind, actor, subject, outcome),) = told.rows
    assert (kind, actor.partition(":")[0], subject, outcome) == ("login", "browser", "Firefox", "signed in")
