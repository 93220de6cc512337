"""What the keys of tools.web mean."""

import json
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from ostiary.adapters.egress import Egress, Judge
from ostiary.adapters.tools.web.providers import choose
from ostiary.assembly.config.load import understand
from ostiary.assembly.config.secret import CredentialReference, SecretSource
from ostiary.assembly.config.web import Web
from ostiary.assembly.web import egress_rules, engines, fetch_settings, link_settings, search_settings
from ostiary.contracts.errors import ConfigInvalid, ToolError


def read(web: dict[str, Any], folder: Path) -> Web:
    return understand(json.dumps({"tools": {"web": web}}), {}, source=folder / "ostiary.json5").config.tools.web


def reveal(source: SecretSource) -> str:
    assert isinstance(source, CredentialReference)
    return f"the secret {source.name}"


def untold(name: str, purpose: str) -> None:
    """Nobody keeps a record."""


def test_a_role_can_only_narrow_what_all_may_reach(tmp_path: Path) -> None:
    web = read(
        {
            "allowPrivate": ["nas.lan", "192.168.1.0/24"],
            "allow": ["*.example", "nas.lan"],
            "deny": ["bad.example"],
            "byRole": {"guest": {"allow": ["docs.example", "other.test"], "deny": ["worse.example"]}},
        },
        tmp_path,
    )
    owner = Judge(egress_rules(web, "owner", control_hosts=("me.example",), control_ports=(18789,)))
    guest = Judge(egress_rules(web, "guest"))
    public, private = ip_address("8.8.8.8"), ip_address("192.168.1.7")
    assert owner.refusal_of_address(public, "docs.example", 443) == ""
    assert owner.refusal_of_address(private, "nas.lan", 443) == ""
    assert owner.refusal_of_host("bad.example", 443)
    assert owner.refusal_of_host("me.example", 443)
    assert owner.refusal_of_address(ip_address("127.0.0.1"), "127.0.0.1", 18789)
    assert guest.refusal_of_host("docs.example", 443) == ""
    assert guest.refusal_of_host("free.example", 443)
    assert guest.refusal_of_host("other.test", 443)
    assert guest.refusal_of_address(private, "nas.lan", 443)


def test_without_a_word_only_what_is_public_is_reached(tmp_path: Path) -> None:
    judge = Judge(egress_rules(read({}, tmp_path), "owner"))
    assert judge.refusal_of_address(ip_address("8.8.8.8"), "a.example", 443) == ""
    assert judge.refusal_of_address(ip_address("127.0.0.1"), "a.example", 443)


@pytest.mark.parametrize(
    "web",
    [
        {"deny": ["http://a b"]},
        {"allowPrivate": [""]},
        {"fetch": {"maxRedirects": 6}},
        {"links": {"maxLinks": 4}},
        {"search": {"provider": "other"}},
        {"search": {"searxng": {"baseUrl": "file:///x"}}},
        {"fetch": {"userAgent": "a\r\nb"}},
        {"unknown": 1},
    ],
)
def test_what_cannot_be_is_refused(web: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid):
        read(web, tmp_path)


def test_what_is_switched_off_is_not_there(tmp_path: Path) -> None:
    off = {"enabled": False}
    web = read({"fetch": off, "search": off, "links": off}, tmp_path)
    assert (fetch_settings(web.fetch), search_settings(web.search), link_settings(web.links)) == (None, None, None)


def test_limits_arrive_where_they_are_used(tmp_path: Path) -> None:
    web = read(
        {
            "fetch": {"maxChars": 1000, "timeoutSeconds": 7, "cacheTtlMinutes": 2, "maxRedirects": 1},
            "search": {"maxResults": 9, "timeoutSeconds": 8},
            "links": {"maxLinks": 2, "timeoutSeconds": 4},
        },
        tmp_path,
    )
    fetch, search, links = fetch_settings(web.fetch), search_settings(web.search), link_settings(web.links)
    assert fetch is not None
    assert (fetch.max_chars, fetch.limits.total_seconds, fetch.cache_seconds, fetch.limits.redirects) == (1000, 7.0, 120.0, 1)
    assert search is not None
    assert (search.max_results, search.seconds) == (9, 8.0)
    assert links is not None
    assert (links.max_links, links.seconds) == (2, 4.0)


async def test_the_provider_is_the_one_that_has_its_key(tmp_path: Path) -> None:
    stored = read({"search": {"tavily": {"apiKey": "credential:tavily"}}}, tmp_path).search
    made = engines(stored, reveal, {}, untold)
    assert made.keys["tavily"]() == "the secret tavily"
    plain = read({}, tmp_path).search
    async with Egress() as egress:
        assert choose(made, egress).name == "Tavily"
        assert choose(engines(plain, reveal, {"BRAVE_API_KEY": "k"}, untold), egress).name == "Brave"
        assert choose(engines(plain, reveal, {}, untold), egress).name == "DuckDuckGo"


def test_a_key_that_is_lent_is_told_by_its_name_and_a_missing_one_is_not(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    search = read({"search": {"tavily": {"apiKey": "credential:tavily"}}}, tmp_path).search
    made = engines(search, reveal, {"BRAVE_API_KEY": ""}, lambda name, purpose: told.append((name, purpose)))
    assert (made.keys["brave"](), made.keys["tavily"]()) == ("", "the secret tavily")
    assert told == [("tavily", "web_search:tavily")]


def test_a_key_that_cannot_be_had_is_an_error_of_the_tool(tmp_path: Path) -> None:
    def gone(source: SecretSource) -> str:
        raise ConfigInvalid("the credential store has no entry 'tavily'")

    search = read({"search": {"tavily": {"apiKey": "credential:tavily"}}}, tmp_path).search
    with pytest.raises(ToolError, match="no entry 'tavily'"):
        engines(search, gone, {}, untold).keys["tavily"]()
