import pytest

from ostiary.adapters.browser.relay import asked_for


@pytest.mark.parametrize(
    ("head", "url"),
    [
        (b"GET http://a.example/x?y HTTP/1.1\r\nHost: b.example\r\n\r\n", "http://a.example/x?y"),
        (b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", "https://a.example:443/"),
        (b"CONNECT [::1]:80 HTTP/1.1\r\n\r\n", "http://[::1]:80/"),
        (b"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n", ""),
        (b"GET ftp://a.example/ HTTP/1.1\r\n\r\n", ""),
        (b"CONNECT  HTTP/1.1\r\n\r\n", ""),
        (b"\x16\x03\x01\r\n\r\n", ""),
        (b"\r\n\r\n", ""),
    ],
)
def test_the_first_line_tells_what_is_asked_for_or_nothing(head: bytes, url: str) -> None:
    assert asked_for(head) == url
