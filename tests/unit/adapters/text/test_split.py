"""How a long reply is cut: by block, then by line, then by word; and every piece stands by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.adapters.text.layout import Dialect, prefixed
from ostiary.adapters.text.messages import written_in
from ostiary.adapters.text.parse import parse
from ostiary.adapters.text.registry import FORMS, render_in, renderer
from ostiary.contracts.text import ChunkMode, Limits, RenderOptions
from tests.unit.adapters.text.samples import letters_of, markdown


def cut(name: str, text: str, size: int, *, lines: int = 0, mode: ChunkMode = "length") -> list[str]:
    options = RenderOptions(limits=Limits(size=size, lines=lines), chunk_mode=mode)
    return [message.text for message in renderer(name)(parse(text, spoilers=True), options)]


def test_paragraphs_are_packed_whole() -> None:
    assert cut("plain", "a" * 20 + "\n\n" + "b" * 10 + "\n\n" + "c" * 20, 40) == ["a" * 20 + "\n\n" + "b" * 10, "c" * 20]


def test_a_heading_goes_with_what_it_heads() -> None:
    assert cut("slack", "w" * 25 + "\n\n# Head\n\n" + "x" * 30, 40) == ["w" * 25, "*Head*\n\n" + "x" * 30]


def test_newline_mode_sends_every_paragraph_by_itself() -> None:
    assert cut("plain", "# A\n\nb\n\n- c\n- d\n\ne", 400, mode="newline") == ["A\n\nb", "- c\n- d", "e"]


def test_a_style_is_closed_and_opened_again_at_a_cut() -> None:
    pieces = cut("telegram", f"**{'bold words ' * 8}end**", 60)
    assert len(pieces) > 1
    assert all(piece.startswith("<b>") and piece.endswith("</b>") for piece in pieces)


def test_a_fence_is_closed_and_opened_again_with_its_language() -> None:
    pieces = cut("discord", "```py\n" + "\n".join(f"line_{n} = {n}" for n in range(12)) + "\n```", 80)
    assert len(pieces) > 1
    assert all(piece.startswith("```py\n") and piece.endswith("\n```") for piece in pieces)
    assert sum(piece.count("line_") for piece in pieces) == 12


def test_a_code_block_that_fits_is_never_cut() -> None:
    code = "```\n" + "x\n" * 20 + "```"
    pieces = cut("slack", f"{'word ' * 10}\n\n{code}", 60)
    assert pieces[-1] == code


def test_an_entity_is_never_torn() -> None:
    pieces = cut("telegram", "&" * 100, 32)
    assert set(pieces[:-1]) == {"&amp;" * 6}
    assert "".join(pieces) == "&amp;" * 100


@pytest.mark.parametrize("cluster", ["👨\u200d👩\u200d👧", "e\u0301", "🇨🇭"])
def test_a_visible_character_is_never_torn(cluster: str) -> None:
    pieces = cut("plain", cluster * 40, 32)
    assert all(piece.count(cluster) * len(cluster) == len(piece) for piece in pieces)


def test_a_long_list_goes_on_counting() -> None:
    pieces = cut("plain", "\n".join(f"{n}. item number {n}" for n in range(1, 9)), 48)
    assert "\n".join(pieces) == "\n".join(f"{n}. item number {n}" for n in range(1, 9))


def test_an_item_that_is_cut_goes_on_without_a_second_mark() -> None:
    pieces = cut("plain", f"3. {'word ' * 12}\n4. next", 40)
    assert [piece[:3] for piece in pieces] == ["3. ", "   "]
    assert pieces[-1].endswith("\n4. next")


def test_a_long_table_repeats_its_header() -> None:
    table = "| key | value |\n|--|--|\n" + "".join(f"| k{n} | v{n} |\n" for n in range(30))
    pieces = cut("slack", table, 120)
    assert len(pieces) > 1
    assert all("key | value" in piece for piece in pieces)
    assert sum(piece.count(" | v") for piece in pieces) == 30 + len(pieces)


def test_a_link_is_not_cut_when_it_fits_the_next_message() -> None:
    pieces = cut("plain", f"{'w' * 20} https://a.example/{'p' * 15} end", 40)
    assert any(piece.startswith("https://a.example/" + "p" * 15) for piece in pieces)


def test_a_link_longer_than_a_message_becomes_text() -> None:
    pieces = cut("slack", f"[label](https://a.example/{'p' * 200})", 64)
    assert "".join(pieces).replace(" ", "") == f"label(https://a.example/{'p' * 200})"


def test_irc_gets_one_line_of_350_bytes_per_message() -> None:
    messages = render_in(FORMS["irc"], "äöü " * 200 + "\n\n```\na\n\nb\n```\n\n- c\n- d")
    assert all(len(message.text.encode()) <= 350 and "\n" not in message.text for message in messages)
    assert [message.text for message in messages[-4:]] == ["a", "b", "- c", "- d"]


def test_discord_gets_at_most_17_lines() -> None:
    messages = render_in(FORMS["discord"], "```\n" + "x\n" * 60 + "```")
    assert all(message.text.count("\n") < 17 for message in messages)


@settings(max_examples=60)
@given(markdown(), st.sampled_from([40, 90, 300]), st.sampled_from([0, 1, 7]))
def test_cutting_loses_no_letter(text: str, size: int, lines: int) -> None:
    # A table that becomes a list says what its columns are called only where they are: heads hold no letters here.
    text = text.replace("\\|", "").replace("| a | b |", "| 1 | 2 |")
    whole = "".join(cut("plain", text, 0))
    pieces = "".join(cut("plain", text, size, lines=lines))
    # A link that is cut in two only adds; the words of the whole stay in order.
    assert _follows(letters_of(whole), letters_of(pieces))


def _follows(short: str, long: str) -> bool:
    rest = iter(long)
    return all(letter in rest for letter in short)


def test_work_grows_with_the_text_and_no_faster() -> None:
    text = "**word** & `code` " * 4000
    drawn = 0

    def count(each: str) -> str:
        nonlocal drawn
        drawn += len(each)
        return each

    dialect = Dialect(
        escape=count,
        marks=dict.fromkeys(("bold", "italic", "strike", "spoiler"), ("*", "*")),
        link=lambda label, url: label,
        code=lambda code: code,
        fence=lambda code: [code.text],
        quote=prefixed("> "),
    )
    pieces = written_in(dialect)(parse(text), RenderOptions(limits=Limits(size=500)))
    assert len(pieces) > 100
    assert drawn < 12 * len(text)
