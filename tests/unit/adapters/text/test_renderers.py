"""Each channel's own rules of writing, and what all of them keep."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.adapters.text.parse import parse
from ostiary.adapters.text.registry import FORMS, NAMES, adjusted, form_of, render_in, renderer
from ostiary.adapters.text.render_telegram import without_markup
from ostiary.contracts.errors import BadInput
from ostiary.contracts.text import Document, Limits, Paragraph, Rendered, RenderOptions, Span, StyleRange
from tests.unit.adapters.text.samples import EVERYTHING, markdown

WIDE = RenderOptions(limits=Limits(size=0))
GAP = "\u200b"


def show(name: str, text: str, options: RenderOptions = WIDE) -> str:
    return "\n=====\n".join(message.text for message in renderer(name)(parse(text, spoilers=True), options))


class Tags(HTMLParser):
    """Complains about a tag that is not allowed, closed out of order or left open."""

    def __init__(self, allowed: frozenset[str]) -> None:
        super().__init__()
        self.allowed = allowed
        self.stack: list[str] = []
        self.words: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.allowed
        assert {name for name, _ in attrs} <= {"href", "class", "rel", "target", "start", "type", "disabled", "checked", "style"}
        self.links.extend(value or "" for name, value in attrs if name == "href")
        self.stack.extend([] if tag in ("br", "hr", "input") else [tag])

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


TELEGRAM_TAGS = frozenset({"b", "i", "s", "tg-spoiler", "code", "pre", "a", "blockquote"})
PAGE_TAGS = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "span", "pre", "blockquote", "ul", "ol", "li"}
    | {"input", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "a", "div"}
)


def read(html: str, allowed: frozenset[str]) -> Tags:
    tags = Tags(allowed)
    tags.feed(html)
    tags.close()
    assert tags.stack == []
    return tags


def test_telegram_escapes_three_characters_and_knows_its_tags() -> None:
    assert show("telegram", 'a < b & "c" **d** _e_ ~~f~~ `g<` ||h||') == (
        'a &lt; b &amp; "c" <b>d</b> <i>e</i> <s>f</s> <code>g&lt;</code> <tg-spoiler>h</tg-spoiler>'
    )


def test_telegram_code_names_its_language_and_carries_no_other_style() -> None:
    assert show("telegram", "**`x`**") == "<code>x</code>"
    assert show("telegram", "```py\na<b\n```") == '<pre><code class="language-py">a&lt;b</code></pre>'
    assert show("telegram", '```"><b>\na\n```') == "<pre>a</pre>"


def test_telegram_quotes_do_not_nest_and_hold_no_code() -> None:
    drawn = show("telegram", "> a\n> > b\n>\n> ```\n> c\n> ```\n> d")
    assert drawn == "<blockquote>a\n\n&gt; b</blockquote>\n<pre>c</pre>\n<blockquote>d</blockquote>"


def test_telegram_text_can_be_sent_again_without_markup() -> None:
    drawn = show("telegram", "**a** < b [c](https://d.example/?e=1&f=2) `<b>`")
    assert without_markup(drawn) == "a < b c <b>"


def test_slack_uses_single_marks_and_its_own_links() -> None:
    drawn = show("slack", "**a** *b* ~~c~~ `d` [e](https://f.example/?g=1&h=2) https://i.example")
    assert drawn == "*a* _b_ ~c~ `d` <https://f.example/?g=1&amp;h=2|e> <https://i.example>"


def test_slack_cannot_be_made_to_call_everyone() -> None:
    assert show("slack", "<!channel> <@U1> `<!here>`") == "&lt;!channel&gt; &lt;@U1&gt; `&lt;!here&gt;`"


def test_slack_marks_that_were_meant_literally_open_no_style() -> None:
    assert show("slack", r"\*a\* snake_case 2 \* 3") == f"*{GAP}a* snake_case 2 * 3"
    assert show("slack", r"\> not a quote") == f"{GAP}&gt; not a quote"


def test_slack_styles_within_a_word_get_a_gap() -> None:
    assert show("slack", "un**believ**able") == f"un{GAP}*believ*{GAP}able"


def test_slack_code_cannot_be_ended_from_within() -> None:
    assert show("slack", "````\na ``` b\n````") == f"```\na ``{GAP}` b\n```"
    assert show("slack", "`` a`b ``") == "a`b"


def test_discord_escapes_with_backslashes() -> None:
    assert show("discord", r"\*a\* snake_case \[x\] a|b <@1>") == r"\*a\* snake\_case \[x\] a\|b \<@1>"


def test_discord_lines_that_look_like_structure_are_guarded() -> None:
    assert show("discord", "\\# a\n\\- b\n1\\. c\n\\> d") == "\\# a\n\\- b\n1\\. c\n\\> d"


def test_discord_calls_nobody_by_accident() -> None:
    assert show("discord", "@everyone and @here, not @heresy") == f"@{GAP}everyone and @{GAP}here, not @heresy"


def test_discord_hides_web_addresses_only() -> None:
    assert show("discord", "[a](https://b.example/c_(d))") == "[a](https://b.example/c_%28d%29)"
    assert show("discord", "[a](mailto:b@c.example)") == "a (b@c.example)"
    assert show("discord", "[https://bank.example](https://evil.example)") == "https://bank.example (https://evil.example)"
    assert show("discord", "https://b.example/c_d_e") == "https://b.example/c_d_e"


def test_discord_has_three_sizes_of_heading() -> None:
    assert show("discord", "# a\n\n#### b") == "# a\n\n### b"


def test_whatsapp_uses_single_marks_and_shows_addresses() -> None:
    drawn = show("whatsapp", "**a** *b* ~~c~~ `d` [e](https://f.example)\n\n```py\ng\n```")
    assert drawn == "*a* _b_ ~c~ `d` e (https://f.example)\n\n```\ng\n```"


def test_whatsapp_leaves_out_a_style_within_a_word() -> None:
    assert show("whatsapp", "un**believ**able") == "unbelievable"


def test_signal_gives_ranges_in_utf16_units() -> None:
    [message] = renderer("signal")(parse("😀 **a *b*** `c` ||d||", spoilers=True), WIDE)
    assert message == Rendered(
        "😀 a b c d",
        (
            StyleRange(3, 3, "BOLD"),
            StyleRange(5, 1, "ITALIC"),
            StyleRange(7, 1, "MONOSPACE"),
            StyleRange(9, 1, "SPOILER"),
        ),
    )


def test_signal_keeps_no_noncharacter_that_was_written() -> None:
    [message] = renderer("signal")(parse("a\ufdd0b **c**"), WIDE)
    assert message == Rendered("a\ufffdb c", (StyleRange(4, 1, "BOLD"),))


def test_plain_text_has_no_marks() -> None:
    drawn = show("plain", "# A\n\n**b** [c](https://d.example) https://e.example\n\n- [x] f\n  1. g\n\n> h\n\n---")
    assert drawn == "A\n\nb c (https://d.example) https://e.example\n\n[x] f\n    1. g\n\n> h\n\n---"


def test_html_is_escaped_and_links_leave_safely() -> None:
    assert show("html", '<img src=x onerror=alert(1)> ["](https://a.example/?b="c&d)') == (
        "<p>&lt;img src=x onerror=alert(1)&gt; "
        '<a href="https://a.example/?b=%22c&amp;d" rel="noopener noreferrer nofollow" target="_blank">&quot;</a></p>'
    )


def test_html_trusts_no_document_it_is_given() -> None:
    evil = Document((Paragraph((Span("x", url="javascript:alert(1)"), Span("y", url='https://a/"onclick="b'))),))
    [message] = renderer("html")(evil, WIDE)
    assert read(message.text, PAGE_TAGS).links == ['https://a/"onclick="b']
    assert "javascript" not in message.text


def test_html_for_the_page_needs_no_inline_style() -> None:
    assert "style=" not in show("html", EVERYTHING)
    assert 'style="' in show("mail", EVERYTHING)


TABLE = "| name | n | note |\n|:--|--:|:-:|\n| ab | 1 | x |\n| 日本 | 22 | **y** |"


def test_tables_line_up_as_code() -> None:
    assert show("slack", TABLE) == "```\nname |   n | note\n-----+-----+-----\nab   |   1 |  x\n日本 |  22 |  y\n```"


def test_tables_become_points() -> None:
    assert show("signal", TABLE) == "• ab\n  • n: 1\n  • note: x\n• 日本\n  • n: 22\n  • note: y"
    assert show("whatsapp", "| k | v |\n|--|--|\n| a | b |") == "- *a*: b"


def test_tables_may_stay_as_they_were_written() -> None:
    options = RenderOptions(limits=Limits(size=0), tables="off")
    assert show("plain", "| k | v |\n|--|--:|\n| a | b |", options) == "| k | v |\n| --- | ---: |\n| a | b |"


def test_a_renderer_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match="there is no renderer 'fax'"):
        renderer("fax")


def test_an_unknown_channel_is_written_in_the_markup_it_declares() -> None:
    form = form_of("pigeon", "plain", max_chars=40)
    assert form is not None
    assert [len(message.text) for message in render_in(form, "word " * 20)] == [39, 39, 19]
    assert form_of("pigeon") is None


def test_the_owner_may_set_limits_tables_and_mode() -> None:
    form = adjusted(FORMS["discord"], size=500, lines=0, tables="bullets", chunk_mode="newline")
    limits = Limits(size=500, lines=0)
    assert form.options == RenderOptions(limits=limits, tables="bullets", chunk_mode="newline")
    assert adjusted(form) == form


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_say_makes_no_message(name: str) -> None:
    assert renderer(name)(parse(" \n\n "), RenderOptions()) == []


LIMITS = st.builds(
    Limits,
    size=st.sampled_from([40, 100, 350, 2000]),
    unit=st.sampled_from(["chars", "utf16", "bytes"]),
    lines=st.sampled_from([0, 1, 5, 17]),
)
OPTIONS = st.builds(
    RenderOptions,
    limits=LIMITS,
    tables=st.sampled_from([None, "code", "bullets", "off"]),
    chunk_mode=st.sampled_from(["length", "newline"]),
)


def measured(text: str, limits: Limits) -> int:
    match limits.unit:
        case "chars":
            return len(text)
        case "utf16":
            return len(text.encode("utf-16-le")) // 2
        case "bytes":
            return len(text.encode())


@settings(max_examples=60)
@given(markdown(), OPTIONS, st.sampled_from([name for name in NAMES if name != "mail"]))
def test_no_message_is_longer_than_the_channel_takes(text: str, options: RenderOptions, name: str) -> None:
    limits = options.limits
    for message in renderer(name)(parse(text, spoilers=True), options):
        assert measured(message.text, limits) <= limits.size
        assert not limits.lines or message.text.count("\n") < limits.lines


@settings(max_examples=60)
@given(markdown(), OPTIONS)
def test_every_telegram_message_is_well_formed_by_itself(text: str, options: RenderOptions) -> None:
    for message in renderer("telegram")(parse(text, spoilers=True), options):
        read(message.text, TELEGRAM_TAGS)
        assert not re.search(r"&(?!(?:amp|lt|gt|quot|#x27);)", message.text)
        assert not re.search("<(?:pre|code)[^>]*><[bis]>", message.text)


@settings(max_examples=60)
@given(markdown(), OPTIONS, st.sampled_from(["html", "mail"]))
def test_every_page_is_well_formed_and_leads_nowhere_unsafe(text: str, options: RenderOptions, name: str) -> None:
    for message in renderer(name)(parse(text, spoilers=True), options):
        tags = read(message.text, PAGE_TAGS)
        assert all(link.startswith("https://") for link in tags.links)


@settings(max_examples=60)
@given(markdown(), OPTIONS, st.sampled_from(["discord", "slack", "whatsapp"]))
def test_every_message_closes_the_fences_it_opens(text: str, options: RenderOptions, name: str) -> None:
    for message in renderer(name)(parse(text, spoilers=True), options):
        assert message.text.count("```") % 2 == 0


@settings(max_examples=60)
@given(markdown(), OPTIONS)
def test_signal_ranges_lie_within_their_text(text: str, options: RenderOptions) -> None:
    for message in renderer("signal")(parse(text, spoilers=True), options):
        units = len(message.text.encode("utf-16-le")) // 2
        assert all(each.start >= 0 and each.length > 0 and each.start + each.length <= units for each in message.ranges)


@given(st.text(), st.sampled_from(sorted(FORMS)))
def test_any_text_can_be_sent_anywhere(text: str, channel: str) -> None:
    assert all(message.text for message in render_in(FORMS[channel], text))
