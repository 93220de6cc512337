"""Clocks that jump, by days and in both directions, while the gateway runs. Needs libfaketime; see conftest."""

import time
from pathlib import Path

from tests.journeys.gateway.conftest import FAKETIME
from tests.journeys.gateway.house import Gateway, Home, until
from tests.journeys.gateway.model import Model

DAY = 86_400


def days_off(gateway: Gateway) -> int:
    """How far the gateway's clock is from ours, by what it says of a repeated request; asking again never runs again."""
    again = gateway.say("first", "jump", Idempotency_Key="a")
    assert again.text == "one"
    return round((int(again.json["created"]) - time.time()) / DAY)


def test_jumps_of_the_clock_lose_nothing(home: Home, model: Model, tmp_path: Path) -> None:
    offset = tmp_path / "offset"
    offset.write_text("+0\n")
    home.environ |= {
        "LD_PRELOAD": FAKETIME,
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }
    model.begin("one", "two", "three", "four")
    with home.up() as gateway:
        assert days_off(gateway) == 0
        offset.write_text("+400d\n")
        until(lambda: days_off(gateway) == 400)
        assert gateway.say("second", "jump").text.endswith("two")
        offset.write_text("-3d\n")
        until(lambda: days_off(gateway) == -3)
        assert gateway.say("third", "jump").text.endswith("three")
        gateway.kill()
    offset.write_text("+0\n")
    with home.up() as gateway:
        assert days_off(gateway) == 0
        assert gateway.say("fourth", "jump").text.endswith("four")
    assert len(model.requests) == 4
