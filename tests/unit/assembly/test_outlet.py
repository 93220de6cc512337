"""The ways out for commands and the browser: each role by its own rules, and nobody to the gateway itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from aiohttp import web

from ostiary.assembly.house import open_house
from ostiary.assembly.outlet import Outlet
from tests.unit.adapters.egress.sites import HERE, Names, serving
from tests.unit.adapters.egress.test_proxy import ask
from tests.unit.assembly.test_gateway import configure


async def hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


@asynccontextmanager
async def outlet_of(home: Path, by_role: dict[str, object]) -> AsyncIterator[tuple[Outlet, int]]:
    """The outlet of a house that may reach this machine by name, and the port of a site there."""
    configure(home, {"tools": {"web": {"allowPrivate": ["127.0.0.1"], "byRole": by_role}}})
    async with serving(hello) as port, open_house(home, {}) as house:
        house.outlet._egress._resolve = Names(site_example=HERE)
        house.outlet._changed.set()
        await opened(house.outlet)
        yield house.outlet, port


async def opened(outlet: Outlet) -> None:
    with anyio.fail_after(5):
        await anyio.wait_all_tasks_blocked()
        while not outlet.socket_of("owner"):
            await anyio.wait_all_tasks_blocked()


async def status(outlet: Outlet, role: str, port: int) -> bytes:
    asked = f"GET http://site.example:{port}/ HTTP/1.1\r\nHost: site.example\r\n\r\n"
    return (await ask(outlet.socket_of(role), asked.encode())).split()[1]


async def test_addresses_that_are_denied_to_a_role_are_not_reached_by_its_commands(tmp_path: Path) -> None:
    by_role: dict[str, object] = {"guest": {"deny": ["127.0.0.0/8"]}, "friend": {"allow": ["198.51.100.0/24"]}}
    async with outlet_of(tmp_path, by_role) as (outlet, port):
        said = [await status(outlet, role, port) for role in ("owner", "anybody", "guest", "friend")]
    assert said == [b"200", b"200", b"403", b"403"]


async def test_roles_with_the_same_rules_share_a_door(tmp_path: Path) -> None:
    async with outlet_of(tmp_path, {"guest": {"deny": ["a.example"]}, "friend": {"deny": ["a.example"]}}) as (outlet, _):
        doors = [outlet.socket_of(role) for role in ("owner", "anybody", "guest", "friend")]
    assert [doors.index(door) for door in doors] == [0, 0, 2, 2]
    assert outlet.socket_of("owner") == ""


async def test_a_port_that_the_gateway_listens_on_is_closed_to_commands_from_then_on(tmp_path: Path) -> None:
    async with outlet_of(tmp_path, {}) as (outlet, port):
        before = await status(outlet, "owner", port)
        outlet.keep_off(port)
        await opened(outlet)
        assert (before, await status(outlet, "owner", port)) == (b"200", b"403")
