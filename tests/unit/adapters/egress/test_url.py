"""One reading of a URL: plain, or refused."""

import pytest

from ostiary.adapters.egress.url import follow, parse_url
from ostiary.contracts.errors import EgressRefused


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("https://example.com", "https://example.com/"),
        ("  HTTPS://Example.COM./a?b=c#d\n", "https://example.com/a?b=c"),
        ("http://example.com:8080/x", "http://example.com:8080/x"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://de.wikipedia.org/wiki/Österreich", "https://de.wikipedia.org/wiki/%C3%96sterreich"),
        ("https://example.com/a%20b?q=100%", "https://example.com/a%20b?q=100%25"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://example。com/", "https://example.com/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://[2606:4700:0:0::1111]:81/", "http://[2606:4700::1111]:81/"),
        ("https://example.com?x=1", "https://example.com/?x=1"),
        ("https://example.com/?next=https://a.example/b@c", "https://example.com/?next=https://a.example/b@c"),
    ],
)
def test_a_plain_url_has_one_spelling(text: str, spelled: str) -> None:
    url = parse_url(text)
    assert str(url) == spelled
    assert parse_url(str(url)) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "//example.com/",
        "file:///etc/passwd",
        "data:text/html,x",
        "ftp://example.com/",
        "gopher://example.com/",
        "javascript:alert(1)",
        "view-source:http://example.com",
        "http:/example.com",
        "http:example.com",
        "http:///example.com",
        "http:\\\\example.com",
        "http://example.com\\@127.0.0.1/",
        "http://user@example.com/",
        "http://user:pass@example.com/",
        "http://example.com@127.0.0.1/",
        "http://127.0.0.1:80@example.com/",
        "http://%31%32%37.0.0.1/",
        "http://exa%6dple.com/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[127.0.0.1]/",
        "http://::1/",
        "http://example.com:/",
        "http://example.com:0/",
        "http://example.com:080/",
        "http://example.com:65536/",
        "http://example.com:+80/",
        "http://example.com:８０/",
        "http://exam\tple.com/",
        "http://example.com/a\r\nHost: x",
        "http://example.com/\x00",
        "http://exa mple.com/",
        "http://example.com/​x",
        "http://example..com/",
        "http://.example.com/",
        "http://example.com../",
        "http://-example.com/",
        "http://exa$mple.com/",
        "http://" + "a" * 64 + ".com/",
        "http://" + "a." * 127 + "com/",
        "http://example.com/" + "a" * 5000,
        # What some programs take for 127.0.0.1 and others for a name.
        "http://127.1/",
        "http://127.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.0.0.01/",
        "http://0/",
        "http://127.0.0.1.1/",
        "http://example.0x1/",
        "http://①②⑦.0.0.1/",
        "http://１２７.０.０.１/",
        "http://127。0。0。1/",
        "http://[::ffff:0x7f.1]/",
    ],
)
def test_an_odd_url_is_refused(text: str) -> None:
    with pytest.raises(EgressRefused):
        parse_url(text)


@pytest.mark.parametrize(
    ("location", "leads_to"),
    [
        ("/x", "https://a.example/x"),
        ("y?z=1", "https://a.example/dir/y?z=1"),
        ("//b.example/x", "https://b.example/x"),
        ("http://b.example", "http://b.example/"),
    ],
)
def test_a_redirect_is_read_against_its_page(location: str, leads_to: str) -> None:
    assert str(follow(parse_url("https://a.example/dir/page"), location)) == leads_to


@pytest.mark.parametrize(
    "location", ["", "\\\\b.example", "/\t/b.example", "file:///etc/passwd", "//user@b.example", "http://127.1/"]
)
def test_an_odd_redirect_is_refused(location: str) -> None:
    with pytest.raises(EgressRefused):
        follow(parse_url("https://a.example/"), location)
