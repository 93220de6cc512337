from collections.abc import AsyncIterator
from pathlib import Path

import anyio

from ostiary.adapters.gateway_db import connect_gateway_db
from ostiary.gateway.auth import owner
from tests.unit.gateway.auth.support import KEY, Phone, World, http

OWNER = owner("token")


async def following(watch: AsyncIterator[str]) -> str:
    with anyio.fail_after(5):
        return await anext(watch)


async def test_a_revocation_in_this_process_is_told_without_waiting_for_the_next_look(world: World) -> None:
    caller = await world.pair(Phone(), "read")
    world.rules = type(world.rules)(poll_seconds=3600.0)
    watch = world.gate.watch_revocations()
    told: list[str] = []

    async def listen() -> None:
        told.append(await following(watch))

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        await world.gate.desk.revoke(caller.device, OWNER)
    assert told == [caller.id]


async def test_a_revocation_by_another_process_is_told(world: World, tmp_path: Path) -> None:
    caller = await world.pair(Phone(), "read")
    watch = world.gate.watch_revocations()
    told: list[str] = []

    async def listen() -> None:
        told.append(await following(watch))

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        with connect_gateway_db(tmp_path / "gateway.db", KEY) as other_process:
            other_process.devices.revoke(caller.device, world.now)
    assert told == [caller.id]


async def test_rotation_narrowing_and_signing_out_end_sockets_too(world: World) -> None:
    first, second = await world.pair(Phone(), "read", "chat"), await world.pair(Phone(), "read", "chat")
    browser = world.gate.identify(http(cookie=await world.sign_in()))
    watch = world.gate.watch_revocations()
    told: list[str] = []

    async def listen() -> None:
        told.extend([await following(watch) for _ in range(3)])

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        await world.gate.desk.rotate(first.device, OWNER)
        await world.gate.desk.set_scopes(second.device, ["read"], OWNER)
        await world.gate.desk.revoke(browser.device, browser)
    assert told == [first.id, second.id, browser.id]


async def test_who_came_in_by_the_old_token_may_not_stay_when_it_changes(world: World) -> None:
    watch = world.gate.watch_revocations()
    told: list[str] = []

    async def listen() -> None:
        told.append(await following(watch))

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        world.token = "another-token-entirely"
    assert told == ["token"]


async def test_a_watcher_is_told_what_comes_and_not_what_was(world: World) -> None:
    old, new = await world.pair(Phone(), "read"), await world.pair(Phone(), "read")
    await world.gate.desk.revoke(old.device, OWNER)
    watch = world.gate.watch_revocations()
    told: list[str] = []

    async def listen() -> None:
        told.append(await following(watch))

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        await world.gate.desk.revoke(new.device, OWNER)
    assert told == [new.id]


async def test_who_was_seen_is_written_down_when_the_gateway_stops(world: World) -> None:
    caller = await world.pair(Phone(), "read")
    async with anyio.create_task_group() as group:
        group.start_soon(world.gate.keep_books)
        await anyio.wait_all_tasks_blocked()
        world.now += 100
        world.gate.saw(caller)
        group.cancel_scope.cancel()
    device = world.db.reads.devices.get(caller.device)
    assert device is not None
    assert device.seen_at == world.now
