"""Devices from the command line, beside a gateway that runs: paired, narrowed, given a new token, sent away."""

import json
from typing import Any

import anyio
import anyio.to_thread
import pytest

from ostiary.client import CallRefused, DeviceKey, connect
from tests.journeys.gateway.house import Home


async def call(url: str, key: DeviceKey, token: str = "", scopes: list[str] | None = None) -> tuple[list[str], str]:
    """What the device may do, and the token it is given. Raises CallRefused."""
    async with connect(url, device=key, device_token=token, scopes=scopes, client_id="phone", display_name="My phone") as gateway:
        granted = gateway.hello["auth"]
        return granted["scopes"], granted.get("deviceToken") or ""


async def run_json(home: Home, *words: str) -> Any:
    return await anyio.to_thread.run_sync(lambda: home.run_json(*words))


async def test_a_device_is_paired_with_fewer_rights_then_given_a_token_then_revoked(home: Home) -> None:
    key, _ = DeviceKey.new()
    with anyio.fail_after(60), home.up() as gateway:
        with pytest.raises(CallRefused) as waits:
            await call(gateway.url, key, scopes=["read", "chat"])
        assert waits.value.code == "NOT_PAIRED"
        listed = await run_json(home, "devices", "list")
        assert [each["name"] for each in listed["pending"]] == ["My phone"]
        approved = await run_json(home, "devices", "approve", waits.value.details["code"], "--scopes", "read")
        assert approved["scopes"] == ["read"]
        scopes, token = await call(gateway.url, key, scopes=["read", "chat"])
        assert (scopes, token[:4]) == (["read"], "odt_")
        rotated = await run_json(home, "devices", "rotate", approved["device"][:16])
        with pytest.raises(CallRefused):
            await call(gateway.url, key, token)
        assert (await call(gateway.url, key, rotated["token"]))[0] == ["read"]
        await run_json(home, "devices", "revoke", approved["device"])
        with pytest.raises(CallRefused):
            await call(gateway.url, key, rotated["token"])
        assert (await run_json(home, "devices", "list"))["devices"] == []


async def test_a_request_can_be_turned_down(home: Home) -> None:
    with anyio.fail_after(60), home.up() as gateway:
        with pytest.raises(CallRefused) as waits:
            await call(gateway.url, DeviceKey.new()[0])
        code = waits.value.details["code"]
        assert home.run("devices", "approve", code, "--scopes", "fly").returncode == 1
        assert home.run("devices", "reject", code).returncode == 0
        assert home.run("devices", "reject", code).returncode == 1
        assert home.run_json("devices", "list") == {"pending": [], "devices": []}


async def test_what_becomes_of_devices_is_in_the_audit_log_with_and_without_a_gateway(home: Home) -> None:
    key, _ = DeviceKey.new()
    with anyio.fail_after(60), home.up() as gateway:
        with pytest.raises(CallRefused) as waits:
            await call(gateway.url, key)
        approved = await run_json(home, "devices", "approve", waits.value.details["code"])
    await run_json(home, "devices", "revoke", approved["device"])
    kept = [json.loads(line) for line in home.run("audit", "export").stdout.splitlines()]
    told = [(each["kind"], each["subject"]) for each in kept if each["kind"] in ("device.approved", "device.revoked")]
    assert told == [("device.approved", approved["device"]), ("device.revoked", approved["device"])]
    assert home.run("audit", "verify").returncode == 0
