"""Markdown to the intermediate form: nothing lost, nothing raised, nothing unsafe."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.adapters.text.links import safe_url
from ostiary.adapters.text.parse import LONGEST, parse
from ostiary.adapters.text.simple import simple_runs
from ostiary.adapters.text.words import words
from ostiary.contracts.text import (
    Block,
    Code,
    Document,
    Heading,
    Item,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
)
from tests.unit.adapters.text.samples import EVERYTHING, letters_of, markdown

BOLD = frozenset({"bold"})


def only(text: str) -> Block:
    [block] = parse(text).blocks
    return block


def test_every_kind_of_block_is_read() -> None:
    kinds = [type(block) for block in parse(EVERYTHING).blocks]
    assert kinds == [Heading, Paragraph, Listing, Quote, Table, Code, Rule, Listing]


def test_styles_nest_into_flat_runs() -> None:
    assert only("a **b *c*** `d`") == Paragraph(
        (
            Span("a "),
            Span("b ", BOLD),
            Span("c", frozenset({"bold", "italic"})),
            Span(" "),
            Span("d", frozenset({"code"})),
        )
    )


def test_raw_html_stays_text() -> None:
    assert only("<script>alert(1)</script> <b>x</b>") == Paragraph((Span("<script>alert(1)</script> <b>x</b>"),))


@pytest.mark.parametrize(
    "text",
    ["[x](javascript:alert)", "[x](data:text/html,a)", "[x](file:///etc/passwd)", "[x](docs/page.md)", "![x](a.png)", "[a]: /b"],
)
def test_a_link_that_may_not_be_followed_stays_as_it_was_written(text: str) -> None:
    assert only(text) == Paragraph((Span(text),))


def test_a_picture_becomes_a_link_and_is_never_loaded() -> None:
    assert only("![a chart](https://e.example/c.png)") == Paragraph((Span("a chart", url="https://e.example/c.png"),))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("see https://a.example/b.", "https://a.example/b"),
        ("(https://a.example/b_(c))", "https://a.example/b_(c)"),
        ("<https://a.example/?q=1&r=2>", "https://a.example/?q=1&r=2"),
        ("**https://a.example**", "https://a.example"),
    ],
)
def test_a_bare_address_is_a_link_without_the_punctuation_around_it(text: str, url: str) -> None:
    block = only(text)
    assert isinstance(block, Paragraph)
    assert [span.url for span in block.spans if span.url] == [url]


def test_file_names_are_not_taken_for_addresses() -> None:
    assert only("edit main.py and a.b.c") == Paragraph((Span("edit main.py and a.b.c"),))


def test_tasks_know_whether_they_are_done() -> None:
    assert only("- [x] **a**\n- [ ] b\n- c") == Listing(
        (
            Item((Paragraph((Span("a", BOLD),)),), checked=True),
            Item((Paragraph((Span("b"),)),), checked=False),
            Item((Paragraph((Span("c"),)),)),
        )
    )


def test_a_numbered_list_keeps_its_first_number() -> None:
    block = only("7. a\n8. b")
    assert isinstance(block, Listing)
    assert (block.start, len(block.items)) == (7, 2)


def test_cells_beyond_the_header_are_kept_in_the_last_column() -> None:
    block = only("| a | b |\n|--|--|\n| 1 | 2 | 3 | four |\n")
    assert isinstance(block, Table)
    assert block.rows == (((Span("1"),), (Span("2 | 3 | four"),)),)


def test_hidden_text_is_read_only_where_it_is_asked_for() -> None:
    assert only("a ||b|| c") == Paragraph((Span("a ||b|| c"),))
    assert parse("a ||b|| c ||", spoilers=True).blocks == (
        Paragraph((Span("a "), Span("b", frozenset({"spoiler"})), Span(" c ||"))),
    )


@pytest.mark.parametrize("text", [">" * 200 + " deep", "".join(" " * (2 * n) + "- deep\n" for n in range(60))])
def test_nesting_without_end_becomes_plain_text(text: str) -> None:
    assert all(isinstance(block, Paragraph) for block in parse(text).blocks)
    assert "deep" in words(parse(text).blocks)


def test_text_without_end_becomes_plain_paragraphs() -> None:
    document = parse("**a**\n\n" * (LONGEST // 7 + 1))
    assert document.blocks[0] == Paragraph((Span("**a**"),))


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert isinstance(parse(text, spoilers=True), Document)


@given(markdown())
def test_no_letter_is_lost_or_moved(text: str) -> None:
    assert letters_of(words(parse(text).blocks)) == letters_of(text)


_INLINE = st.lists(
    st.sampled_from(
        (
            "a",
            "word",
            " ",
            "  ",
            "\n",
            "*",
            "**",
            "_",
            "`",
            "~",
            "~~",
            "[",
            "]",
            "(",
            ")",
            "!",
            "&",
            "<",
            "&amp;",
            ".",
            ":",
            "é",
            "1",
            "\\",
            "-",
            "—",
            "日本",
            "**bold**",
            "*it*",
            "`code`",
            "~~s~~",
            "[x](https://a.b/c_d?e=1&f=2)",
            "https://x.y/z",
        )
    ),
    min_size=1,
    max_size=9,
).map("".join)


@settings(max_examples=400)
@given(_INLINE)
def test_the_short_way_reads_what_the_full_parser_reads(text: str) -> None:
    # A backslash break sends the paragraph through the full parser without changing what it says.
    short, full = parse(f"x {text} y"), parse(f"x {text} y\\\n\\*")
    shortened = simple_runs(f"x {text} y") is not None and len(short.blocks) == len(full.blocks) == 1
    assert not shortened or words(short.blocks) == words(full.blocks).removesuffix("\n*")
    assert not shortened or _styles(short) == _styles(full)


def _styles(document: Document) -> list[tuple[str, frozenset[str], str]]:
    [block] = document.blocks
    assert isinstance(block, Paragraph | Heading)
    return [(span.text, span.styles, span.url) for span in block.spans if span.styles or span.url]


@given(st.text(max_size=80))
def test_an_address_is_safe_or_empty(text: str) -> None:
    for scheme in ("", "http://", "https://", "mailto:", "javascript:", "HTTPS://"):
        found = safe_url(scheme + text)
        assert not found or found.lower().startswith(("http://", "https://", "mailto:", "tel:"))


@pytest.mark.parametrize(
    "url",
    [
        "https:///x",
        "https://",
        "http://[",
        "//a.b",
        "https://a\u202eb.c",
        "https://a b",
        "java\nscript:x",
        "HTTPS://" + "a" * 3000,
    ],
)
def test_odd_addresses_are_refused(url: str) -> None:
    assert safe_url(url) == ""
