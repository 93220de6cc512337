"""Which links of a message are meant."""

import pytest

from ostiary.core.agent.links import links_in


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("", ()),
        ("no links, www.example.com neither", ()),
        ("see https://a.example/x.", ("https://a.example/x",)),
        ("(https://a.example/x_(y)) and <HTTP://B.example>!", ("https://a.example/x_(y)", "HTTP://B.example")),
        ("[here](https://a.example/p?q=1) **https://b.example**", ("https://a.example/p?q=1", "https://b.example")),
        ("https://a.example/ https://a.example https://a.example/#top", ("https://a.example/",)),
        ("https://1.example https://2.example https://3.example https://4.example", tuple(f"https://{n}.example" for n in "123")),
        ("run `curl https://a.example` or ``x ` https://b.example``", ()),
        ("```\nhttps://a.example\n```\nhttps://b.example", ("https://b.example",)),
        ("~~~\nhttps://a.example\n", ()),
        ("https://user:pass@a.example/", ()),
        ("https://", ()),
        ("xhttps://a.example ftp://b.example file:///etc/passwd", ()),
        ("http://me.example:18789/chat http://ME.example./x http://other.example:1/", ("http://other.example:1/",)),
        ("https://a.example/" + "x" * 3000, ()),
    ],
)
def test_links_are_found_as_they_are_meant(text: str, links: tuple[str, ...]) -> None:
    assert links_in(text, own_hosts=("Me.example", "127.0.0.1:18789")) == links


def test_a_message_made_to_be_slow_is_not() -> None:
    for piece in ("`", "https://", ")", "https://a.example/" + ")" * 1900 + " ", "``x", "~~~\n"):
        assert len(links_in(piece * (200_000 // len(piece)))) <= 3
