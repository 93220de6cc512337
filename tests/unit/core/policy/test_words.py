import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.core.policy.words import mentions, printable


@pytest.mark.parametrize(
    ("text", "address", "found"),
    [
        ("see https://a.example/b?c=1", "https://a.example/b?c=1", True),
        ("see https://a.example/b.", "https://a.example/b", True),
        ("(https://a.example/b)", "https://a.example/b", True),
        ("<https://A.Example/b>", "https://a.example/b", True),
        ("https://a.example", "https://a.example/", True),
        ("https://a.example/", "HTTPS://A.EXAMPLE", True),
        ("what is on a.example?", "https://a.example/", True),
        ("read docs.example/x/y", "http://docs.example/x/y", True),
        ("https://en.example/wiki/X_(film)", "https://en.example/wiki/X_(film)", True),
        ("https://a.example/b", "https://a.example/b?leak=1", False),
        ("https://a.example/b?leak=1", "https://a.example/b", False),
        ("https://a.example/b", "https://a.example/B", False),
        ("https://a.example/b", "https://a.example/b/", False),
        ("https://a.example", "https://a.example//", False),
        ("https://u:p@a.example", "https://U:p@a.example", False),
        ("https://a.example", "ftp://a.example", False),
        ("a.example", "ftp://a.example", False),
        ("xhttps://a.example", "https://a.example", False),
        ("https://a.example.evil", "https://a.example", False),
        ("write to telegram:12345 please", "telegram:12345", True),
        ("write to telegram:12345.", "telegram:12345", True),
        ("write to telegram:123456", "telegram:12345", False),
        ("mail ann@x.example", "ann@x.example", True),
        ("mail ann@x.example", "nn@x.example", False),
        ("ask ANN", "ann", False),
        ("one two", "one two", False),
        ("", "", False),
        ("anything", "", False),
        ("()", "", False),
        ('<a href="https://a.example/b">x</a>', "https://a.example/b", True),
        ('"https://en.example/X_(film)y"', "https://en.example/X_(film)y", True),
        ("https://a.example/b~", "https://a.example/b", False),
        ("~https://a.example/b", "https://a.example/b", False),
        ("look at A.Example", "https://a.example", True),
        ("https://LOCALHOST", "https://localhost", True),
        ("Ann.B", "ann.b", True),
    ],
)
def test_an_address_is_named_by_itself_or_not_at_all(text: str, address: str, found: bool) -> None:
    assert mentions([text], address) is found


def test_any_of_the_texts_may_name_it() -> None:
    assert mentions(["nothing", "https://a.example"], "https://a.example")
    assert not mentions([], "https://a.example")


def test_what_steers_a_screen_is_written_out() -> None:
    assert printable("a\nb\x1b[2J\u202e\u200b c") == "a\\u000ab\\u001b[2J\\u202e\\u200b c"


@given(st.text())
def test_whatever_is_shown_is_one_printable_line(text: str) -> None:
    assert printable(text).isprintable()


@given(st.from_regex(r"https://[a-z]{1,8}\.example/[a-z0-9/?=&]{1,20}[a-z0-9]", fullmatch=True), st.text(max_size=3))
def test_a_longer_address_is_never_taken_for_the_one_that_was_named(url: str, more: str) -> None:
    assert mentions([f"open {url} now"], url)
    assert not mentions([f"open {url} now"], f"{url}x{more}")
