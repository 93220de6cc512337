"""Whatever the judge lets through, the address that is really connected to is a public one."""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address
from typing import Any, ClassVar

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ostiary.adapters.egress import Egress, EgressFailed, EgressRules, FetchLimits
from ostiary.adapters.egress.url import parse_url
from ostiary.contracts.errors import EgressRefused
from tests.unit.adapters.egress.sites import is_public


class Watched(asyncio.SelectorEventLoop):
    """Sees what the process is about to connect to, below the HTTP library, and stops it there."""

    dialled: ClassVar[list[str]] = []

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        self.dialled.append(str(address[0]))
        raise ConnectionRefusedError("seen; nothing is sent")


FETCH = FetchLimits(total_seconds=5)


def dialled_for(url: str, answers: tuple[str, ...]) -> set[str]:
    """Every address that fetching `url` leads to, whatever a name server answers."""
    Watched.dialled.clear()
    anyio.run(_fetch, url, answers, backend_options={"loop_factory": Watched})
    return set(Watched.dialled)


async def _fetch(url: str, answers: tuple[str, ...]) -> None:
    async def resolve(host: str) -> tuple[str, ...]:
        return answers

    try:
        await Egress(resolve=resolve).agent(EgressRules()).fetch(url, limits=FETCH)
    except (EgressRefused, EgressFailed):
        return


def spellings(number: int) -> st.SearchStrategy[str]:
    """One IPv4 address as people and programs write it to get past a check."""
    dotted = str(IPv4Address(number))
    first, second, third, fourth = dotted.split(".")
    octets = [f"{int(part):#o}".replace("0o", "0") for part in dotted.split(".")]
    return st.sampled_from(
        [
            dotted,
            f"{dotted}.",
            str(number),
            hex(number),
            f"0x{number:08X}",
            f"0{number:o}",
            ".".join(hex(int(part)) for part in dotted.split(".")),
            ".".join(octets),
            f"{first}.{int(second) << 16 | int(third) << 8 | int(fourth)}",
            f"{first}.{second}.{int(third) << 8 | int(fourth)}",
            f"{first}.{second}.{third}.0{fourth}",
            dotted.translate({ord(str(digit)): 0xFF10 + digit for digit in range(10)}),
            dotted.replace(".", "。"),
            dotted.replace(".", "．"),
            dotted.replace(".", "%2e"),
            f"[::ffff:{dotted}]",
            f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]",
            f"[::{dotted}]",
            f"[64:ff9b::{dotted}]",
            f"[64:ff9b:1::{dotted}]",
            f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
            f"[2001:0:0:0::{dotted}]",
            f"[fe80::{number & 0xFFFF:x}%25eth0]",
            f"public.example@{dotted}",
            f"{dotted}@public.example",
            f"public.example\\@{dotted}",
            f"{dotted}#@public.example",
            f"{dotted}:80#.public.example",
            f"{dotted}\t.public.example",
            f"public.example:80@{dotted}:80",
        ]
    )


INSIDE = [0x7F000001, 0x00000000, 0x0A000001, 0xA9FEA9FE, 0xC0A80101, 0xAC100001, 0x64646464, 0xE0000001, 0xFFFFFFFF, 0xA83F8110]
NUMBERS = st.sampled_from(INSIDE) | st.integers(0, 2**32 - 1)
HOSTS = NUMBERS.flatmap(spellings) | st.from_regex(r"[0-9a-fx.\[\]:%@]{1,30}", fullmatch=True) | st.just("name.example")
URLS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["http://", "https://", "HTTP://", "http:/", "http:///", "http:\\\\", " http://", "ht\ttp://"]),
    HOSTS,
    st.sampled_from(["", "", ":80", ":443", ":8080", ":18789", ":0", ":", ":99999"]),
    st.sampled_from(["", "/", "/x?y#z", "?@127.0.0.1/", "#@127.0.0.1/", "\\@127.0.0.1/", "/..//127.0.0.1"]),
)
ANSWERS = st.lists(
    st.builds(lambda number: str(IPv4Address(number)), NUMBERS)
    | st.builds(lambda number: str(IPv6Address(number)), st.integers(0, 2**128 - 1))
    | st.builds(lambda number: f"::ffff:{IPv4Address(number)}", NUMBERS)
    | st.builds(lambda number: f"64:ff9b::{IPv4Address(number)}", NUMBERS)
    | st.builds(lambda number: f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1", NUMBERS)
    | st.just("fe80::1%1"),
    min_size=1,
    max_size=3,
).map(tuple)


@settings(max_examples=400)
@given(url=URLS, answers=ANSWERS)
@example(url="http://name.example/", answers=("127.0.0.1", "8.8.8.8"))
@example(url="http://8.8.8.8/", answers=("127.0.0.1",))
@example(url="http://[64:ff9b::8.8.8.8]/", answers=("127.0.0.1",))
def test_what_is_connected_to_is_public(url: str, answers: tuple[str, ...]) -> None:
    assert [address for address in dialled_for(url, answers) if not is_public(address)] == []


@pytest.mark.parametrize("url", ["http://name.example/", "https://8.8.8.8/", "http://[::ffff:8.8.8.8]/", "http://8.8.8.8./"])
def test_the_check_above_sees_connections(url: str) -> None:
    assert {address.removeprefix("::ffff:") for address in dialled_for(url, ("8.8.8.8",))} <= {"8.8.8.8", "808:808"}
    assert dialled_for(url, ("8.8.8.8",)) != set()


@settings(max_examples=400)
@given(url=URLS)
def test_the_c_library_takes_no_host_for_an_address_that_we_take_for_a_name(url: str) -> None:
    try:
        parsed = parse_url(url)
        found = socket.getaddrinfo(parsed.host, None, flags=socket.AI_NUMERICHOST, type=socket.SOCK_STREAM)
    except (EgressRefused, OSError):
        return
    assert parsed.address is not None
    wanted = str(parsed.address)
    assert all(str(IPv6Address(str(entry[4][0])).ipv4_mapped or wanted) == wanted for entry in found if ":" in str(entry[4][0]))
    assert all(entry[4][0] == wanted for entry in found if ":" not in str(entry[4][0]))
