from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.gateway.auth.place import check_place, client_address, host_name, is_local, is_our_host, is_secure
from ostiary.gateway.auth.rules import AccessRules
from ostiary.gateway.errors import ApiError
from tests.unit.gateway.auth.support import REMOTE, http, socket

PLAIN = AccessRules()
NAMED = AccessRules(hosts=frozenset({"house.example", "fd00::7"}))
PROXIED = AccessRules(hosts=frozenset({"house.example"}), trusted_proxies=("127.0.0.1", "10.0.0.0/8", "not an address"))


@pytest.mark.parametrize("host", ["house.example", "HOUSE.example:443", "[fd00::7]:80", "127.0.0.1", "localhost:1", "[::1]"])
def test_configured_names_and_loopback_are_ours(host: str) -> None:
    assert is_our_host(host, http(), NAMED)


@pytest.mark.parametrize(
    "host",
    ["", ":", ":80", "house.example.", "house.example.evil.example", "evil.example", "house.example:x", "house.example:80:80",
     "a@house.example", "house.example/", "fd00::7", "[fd00::8]", "192.0.2.1", "0.0.0.0", "127.1", "2130706433", "0x7f.1",
     "localhost.", "ʟocalhost", "house.example\t", "house.example,evil.example"],
)  # fmt: skip
def test_other_names_are_not(host: str) -> None:
    assert not is_our_host(host, http(), NAMED)


def test_the_address_that_was_connected_to_is_ours_and_no_other() -> None:
    scope = {**http(client=REMOTE), "server": ("192.0.2.1", 18789)}
    assert is_our_host("192.0.2.1:18789", scope, PLAIN)
    assert not is_our_host("192.0.2.2:18789", scope, PLAIN)


@given(st.text(max_size=40))
def test_whatever_stands_in_host_is_judged_without_failing(text: str) -> None:
    name = host_name(text)
    assert name is None or name == name.lower()


def test_a_host_sent_twice_is_refused() -> None:
    scope = http()
    scope["headers"].append((b"host", b"127.0.0.1"))
    with pytest.raises(ApiError) as caught:
        check_place(scope, PLAIN)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", "https://127.0.0.1:18789", "http://127.0.0.1", "http://127.0.0.1:18789.evil.example",
     "http://localhost:18789", "http://127.0.0.1:18789/", "HTTP://127.0.0.1:18789", "ws://127.0.0.1:18789", "file://"],
)  # fmt: skip
@pytest.mark.parametrize("make", [http, socket])
def test_a_page_of_another_origin_may_not_call(origin: str, make: Any) -> None:
    with pytest.raises(ApiError) as caught:
        check_place(make(origin=origin), PLAIN)
    assert (caught.value.status, caught.value.code) == (403, "bad_origin")


@pytest.mark.parametrize("scope", [http(origin="http://127.0.0.1:18789"), socket(origin="http://127.0.0.1:18789"), http()])
def test_our_own_page_and_a_program_may(scope: Any) -> None:
    check_place(scope, PLAIN)


def test_a_page_over_tls_has_an_https_origin() -> None:
    check_place(socket(scheme="wss", origin="https://127.0.0.1:18789"), PLAIN)
    assert is_secure(socket(scheme="wss"), PLAIN)


def test_only_a_trusted_proxy_says_that_the_browser_speaks_tls() -> None:
    said = {"host": "house.example", "origin": "https://house.example", "x_forwarded_proto": "https"}
    check_place(http(**said), PROXIED)
    with pytest.raises(ApiError):
        check_place(http(client=REMOTE, **said), PROXIED)
    with pytest.raises(ApiError):
        check_place(http(**said), NAMED)


@pytest.mark.parametrize("client", [("127.0.0.1", 1), ("127.9.9.9", 1), ("::1", 1), ("::ffff:127.0.0.1", 1)])
def test_a_loopback_connection_is_local(client: tuple[str, int]) -> None:
    assert is_local(http(client=client))


@pytest.mark.parametrize(
    "client", [REMOTE, None, ("", 0), ("localhost", 1), ("::ffff:192.0.2.7", 1), ("0.0.0.0", 1), ("127.1", 1)]
)
def test_no_other_connection_is(client: Any) -> None:
    assert not is_local(http(client=client))


@pytest.mark.parametrize(
    "name",
    ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-anything",
     "x_forwarded_for", "X-Forwarded-For", "cf-connecting-ip", "true-client-ip", "x-client-ip",
     "tailscale-user-login", "x-original-host"],
)  # fmt: skip
@pytest.mark.parametrize("value", ["127.0.0.1", "", "for=127.0.0.1"])
def test_a_connection_that_shows_a_proxy_is_not_local(name: str, value: str) -> None:
    scope = http()
    scope["headers"].append((name.encode(), value.encode()))
    assert not is_local(scope)


@pytest.mark.parametrize("host", ["house.example", "192.0.2.1", "", "localhost.evil.example"])
def test_a_connection_that_called_another_name_is_not_local(host: str) -> None:
    assert not is_local(http(host=host))


def test_our_own_tailnet_address_is_local_and_no_other_own_address() -> None:
    tailnet = {**http(client=("100.64.0.5", 1), host="100.64.0.5:18789"), "server": ("100.64.0.5", 18789)}
    lan = {**http(client=("192.168.0.5", 1), host="192.168.0.5:18789"), "server": ("192.168.0.5", 18789)}
    neighbour = {**tailnet, "client": ("100.64.0.6", 1)}
    assert [is_local(scope) for scope in (tailnet, lan, neighbour)] == [True, False, False]


@pytest.mark.parametrize(
    ("client", "forwarded", "rules", "address"),
    [
        (REMOTE, "198.51.100.1", PLAIN, "192.0.2.7"),
        (REMOTE, "198.51.100.1", PROXIED, "192.0.2.7"),
        (("127.0.0.1", 1), "198.51.100.1", PROXIED, "198.51.100.1"),
        (("127.0.0.1", 1), "127.0.0.1, 198.51.100.1, 10.1.2.3", PROXIED, "198.51.100.1"),
        (("127.0.0.1", 1), "198.51.100.1, nonsense", PROXIED, "127.0.0.1"),
        (("127.0.0.1", 1), "", PROXIED, "127.0.0.1"),
        (("2001:db8:1:2:3:4:5:6", 1), "", PLAIN, "2001:db8:1:2::/64"),
        (None, "127.0.0.1", PLAIN, ""),
    ],
)
def test_failures_are_counted_against_the_nearest_address_that_is_not_our_proxy(
    client: Any, forwarded: str, rules: AccessRules, address: str
) -> None:
    assert client_address(http(client=client, x_forwarded_for=forwarded), rules) == address
