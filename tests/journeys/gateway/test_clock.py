"""Clocks that jump, by days and in both directions, while the gateway runs. Needs libfaketime; see conftest."""

from pathlib import Path

import pytest

from tests.journeys.gateway.conftest import FAKETIME
from tests.journeys.gateway.house import Home
from tests.journeys.gateway.model import Model


@pytest.mark.parametrize("jump", ["+400d", "-3d"])
def test_a_jump_of_the_clock_loses_nothing(home: Home, model: Model, tmp_path: Path, jump: str) -> None:
    offset = tmp_path / "offset"
    offset.write_text("+0\n")
    home.environ |= {
        "LD_PRELOAD": FAKETIME,
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }
    model.begin("one", "two", "three")
    with home.up() as gateway:
        assert gateway.say("first", "jump", Idempotency_Key="a").text == "one"
        offset.write_text(f"{jump}\n")
        assert gateway.say("first", "jump", Idempotency_Key="a").text == "one"
        assert gateway.say("second", "jump").text.endswith("two")
        gateway.kill()
    with home.up() as gateway:
        offset.write_text("+0\n")
        assert gateway.say("third", "jump").text.endswith("three")
        assert gateway.say("first", "jump", Idempotency_Key="a").text == "one"
    assert len(model.requests) == 3
