from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import open_store
from ostiary.assembly.config.load import understand
from ostiary.assembly.control import control_rules, kill_at_rest, machine_facts, standings
from ostiary.contracts.control import ToolStanding
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.store import SetValue
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.control.control import Control, ControlRules
from ostiary.core.control.record import KEY as STATE
from ostiary.core.control.record import SPACE
from ostiary.core.control.state import decode
from ostiary.kit.clock import ManualClock
from tests.unit.core.control.parts import ME, House

KEY = bytes(range(32))


def rules_of(text: str) -> ControlRules:
    return control_rules(understand(text, {}, source=Path("ostiary.json5")).config)


def test_personal_sleeps_by_default_and_begins_asleep() -> None:
    assert rules_of("{}") == ControlRules(sleep_after=1800.0, start_awake=False, strict=False, fresh_on_wake=True)


@pytest.mark.parametrize("posture", ["open", "team", "vault"])
def test_the_other_postures_begin_awake_and_stay_so(posture: str) -> None:
    assert rules_of(f"{{posture: '{posture}'}}") == ControlRules(sleep_after=0.0, start_awake=True)


def test_the_file_beats_the_posture() -> None:
    assert rules_of("{control: {sleepAfterMinutes: 5, strict: true, startAwake: true, freshOnWake: false}}") == ControlRules(
        sleep_after=300.0, start_awake=True, strict=True, fresh_on_wake=False
    )


def spec(name: str) -> ToolSpec:
    schema = ToolSchema(name=name, description="", parameters={"type": "object", "properties": {}})
    return ToolSpec(schema=schema, effects=frozenset({Effect.EXECUTE}))


def judge(action: Action) -> Decision:
    return {
        "read": Allow(layer="profile"),
        "exec": Ask(layer="confirm", reason="it runs commands"),
        "message": Deny(layer="switch", reason="switched off"),
    }[action.tool.name]


async def test_standings_are_what_the_judge_says_with_the_switch_that_counts() -> None:
    house = House(rules=ControlRules())
    async with house.opened() as control:
        await control.enable(["exec"], ME, seconds=60.0)
        found = _standings(control)
        assert found == (
            ToolStanding(name="exec", outcome="ask", reason="it runs commands", is_on=True, until=house.clock.now() + 60),
            ToolStanding(name="message", outcome="deny", reason="switched off"),
            ToolStanding(name="read", outcome="allow"),
        )


def _standings(control: Control) -> tuple[ToolStanding, ...]:
    specs = [spec(name) for name in ("read", "exec", "message")]
    return standings(control, specs, judge, by=ME, session=SessionKey("main", "main"), channel="memory", attended=False)


async def test_the_machine_tells_what_it_is() -> None:
    facts = await machine_facts()
    assert isinstance(facts["processors"], int)
    assert facts["processors"] >= 1


@pytest.mark.parametrize("stored", [None, b"{"])
async def test_a_house_at_rest_can_be_shut_down(tmp_path: Path, stored: bytes | None) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        await store.commit([SetValue(space=SPACE, key=STATE, value=stored)] if stored else [])
        await kill_at_rest(store, 5.0, reason="ostiary kill")
        found = await store.value(SPACE, STATE)
        assert found is not None
        assert decode(found).state == "shutdown"
        assert [each.kind for each in await store.audit().entries()] == ["control.kill"]
