"""Which hosts and addresses are reached."""

from ipaddress import ip_address

import pytest

from ostiary.adapters.egress import EgressRules, Judge, is_own
from ostiary.adapters.egress.url import parse_url
from ostiary.contracts.errors import BadInput

NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.0.1",
    "169.254.169.254",
    "168.63.129.16",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "192.0.0.8",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "2001:0:4136:e378::1",
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd7a:115c:a1e0::1",
    "ff02::1",
    "4000::1",
    "5f00::1",
]


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_an_address_that_is_not_public_is_refused_unless_allowed(text: str) -> None:
    address = ip_address(text)
    assert Judge(EgressRules()).refusal_of_address(address, "site.example", 443)
    assert Judge(EgressRules(allow_private=(text,))).refusal_of_address(address, "site.example", 443) == ""


@pytest.mark.parametrize(
    "text", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "100.63.255.255"]
)
def test_a_public_address_is_reached(text: str) -> None:
    assert Judge(EgressRules()).refusal_of_address(ip_address(text), "site.example", 443) == ""


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "http://router.home.arpa/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://example.com:22/",
        "http://example.com:6379/",
    ],
)
def test_a_place_inside_is_refused_before_anybody_is_asked(url: str) -> None:
    assert Judge(EgressRules()).refusal_of_url(parse_url(url))


def test_a_name_that_is_allowed_may_lead_inside_but_never_to_metadata() -> None:
    judge = Judge(EgressRules(allow_private=("nas.lan", "*.home.arpa:8080", "192.168.7.0/24")))
    assert judge.refusal_of_host("nas.lan", 80) == ""
    assert judge.refusal_of_address(ip_address("10.1.1.1"), "nas.lan", 80) == ""
    assert judge.refusal_of_address(ip_address("10.1.1.1"), "a.home.arpa", 8080) == ""
    assert judge.refusal_of_address(ip_address("10.1.1.1"), "a.home.arpa", 80)
    assert judge.refusal_of_address(ip_address("192.168.7.9"), "evil.example", 80) == ""
    assert judge.refusal_of_address(ip_address("192.168.8.9"), "evil.example", 80)
    assert judge.refusal_of_address(ip_address("169.254.169.254"), "nas.lan", 80)


def test_a_network_that_is_allowed_does_not_open_the_metadata_address_in_it() -> None:
    judge = Judge(EgressRules(allow_private=("0.0.0.0/0", "*")))
    assert judge.refusal_of_address(ip_address("169.254.169.254"), "169.254.169.254", 80)
    assert judge.refusal_of_address(ip_address("100.100.100.200"), "x.example", 80)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0"])
def test_the_gateways_own_port_is_refused_whoever_allows_it(host: str) -> None:
    judge = Judge(EgressRules(allow_private=("*", host, f"{ip_address(host)}"), control_ports=frozenset({18789})))
    assert "gateway" in judge.refusal_of_address(ip_address(host), host, 18789)
    assert judge.refusal_of_address(ip_address(host), host, 18790) == ""


def test_the_gateways_own_names_are_refused_whoever_allows_them() -> None:
    rules = EgressRules(allow_private=("*",), allowed=("*",), control_hosts=("house.example", "*.tail1234.ts.net"))
    judge = Judge(rules)
    assert judge.refusal_of_host("house.example", 443)
    assert judge.refusal_of_host("box.tail1234.ts.net", 443)
    assert judge.refusal_of_host("other.example", 443) == ""


def test_an_address_of_this_machine_is_refused_even_if_it_is_public() -> None:
    mine = ip_address("8.8.4.4")
    judge = Judge(EgressRules(is_own=lambda address: address == mine, control_ports=frozenset({18789})))
    assert "own" in judge.refusal_of_address(mine, "me.example", 443)
    assert "gateway" in judge.refusal_of_address(mine, "me.example", 18789)


def test_this_machine_knows_its_own_addresses() -> None:
    assert is_own(ip_address("127.0.0.1"))
    assert not is_own(ip_address("8.8.8.8"))
    assert not is_own(ip_address("2606:4700::1111"))


def test_what_is_blocked_wins_over_what_is_allowed() -> None:
    judge = Judge(EgressRules(allowed=("*.example",), blocked=("bad.example", "8.8.0.0/16", "*.example:8443")))
    assert judge.refusal_of_host("good.example", 443) == ""
    assert judge.refusal_of_host("bad.example", 443)
    assert judge.refusal_of_host("good.example", 8443)
    assert judge.refusal_of_host("other.test", 443)
    assert judge.refusal_of_address(ip_address("8.8.8.8"), "good.example", 443)


def test_an_empty_list_allows_nothing() -> None:
    judge = Judge(EgressRules(allowed=()))
    assert judge.refusal_of_host("example.com", 443)
    assert judge.refusal_of_address(ip_address("8.8.8.8"), "8.8.8.8", 443)


def test_two_lists_must_both_allow() -> None:
    judge = Judge(EgressRules(allowed=("*.example", "8.0.0.0/8"), allowed_too=("docs.example", "8.8.0.0/16")))
    assert judge.refusal_of_address(ip_address("9.9.9.9"), "docs.example", 443) == ""
    assert judge.refusal_of_address(ip_address("9.9.9.9"), "other.example", 443)
    assert judge.refusal_of_address(ip_address("8.8.8.8"), "8.8.8.8", 443) == ""
    assert judge.refusal_of_address(ip_address("8.9.9.9"), "8.9.9.9", 443)


def test_a_star_before_a_dot_is_for_names_below_and_no_others() -> None:
    judge = Judge(EgressRules(allowed=("*.example.com",)))
    assert judge.refusal_of_host("a.b.example.com", 443) == ""
    assert judge.refusal_of_host("example.com", 443)
    assert judge.refusal_of_host("evilexample.com", 443)
    assert judge.refusal_of_host("a.example.com.evil.test", 443)


@pytest.mark.parametrize("entry", ["", "http://example.com", "a b", "1.2.3.4/99", "example.com:0", "127.1", "*:x", "a/b", "[::1"])
def test_a_rule_that_cannot_be_understood_is_an_error_and_not_silence(entry: str) -> None:
    with pytest.raises(BadInput):
        Judge(EgressRules(blocked=(entry,)))
