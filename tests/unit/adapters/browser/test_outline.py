from hypothesis import given
from hypothesis import strategies as st

from ostiary.adapters.browser.outline import MAX_PAGES, Outline, outline
from ostiary.adapters.browser.records import PAGE_BYTES, Element

RAW = """- generic [active] [ref=e1]:
  - navigation [ref=e2]:
    - 'link "a: it''s" [ref=e3] [cursor=pointer]':
      - /url: /docs?a=1
  - heading "Title" [level=2] [ref=e4]
  - list [ref=e5]:
    - listitem [ref=e6]: first
  - textbox "Name" [ref=e7]: "typed: this"
  - textbox "Mail" [ref=e8]:
    - /placeholder: you@example
  - checkbox "Agree" [checked] [disabled] [ref=e9]
  - iframe [ref=e10]:
    - button "Inside" [ref=f1e2]"""


def test_a_tree_becomes_terse_lines_with_refs_where_something_can_be_done() -> None:
    assert outline(RAW).lines == (
        "navigation",
        '  e3 link "a: it\'s" -> /docs?a=1',
        'heading 2 "Title"',
        "- first",
        'e7 textbox "Name": typed: this',
        'e8 textbox "Mail" (you@example)',
        'e9 checkbox "Agree" [checked, disabled]',
        "iframe",
        '  f1e2 button "Inside"',
    )


def test_elements_are_known_by_ref_with_role_name_and_target() -> None:
    elements = outline(RAW).elements
    assert elements["e3"] == Element(role="link", name="a: it's", target="/docs?a=1")
    assert elements["f1e2"] == Element(role="button", name="Inside")
    assert "e4" not in elements


def test_text_that_looks_like_a_ref_is_quoted() -> None:
    assert outline('- paragraph [ref=e1]: e12 button "Safe"').lines == ("'e12 button \"Safe\"'",)


def test_a_name_with_a_line_break_stays_one_line() -> None:
    assert outline('- button "a\\n- button \\"b\\" [ref=e9]" [ref=e1]').lines == ('e1 button "a - button "b" [ref=e9]"',)


def test_direction_marks_are_removed() -> None:
    assert outline("- text: abc\u202edef").lines == ("abc def",)


def test_long_text_is_wrapped_and_long_names_are_cut() -> None:
    shown = outline(f'- text: {"x" * 1000}\n- button "{"y" * 1000}" [ref=e1]')
    assert [len(line) for line in shown.lines[:3]] == [400, 400, 200]
    assert len(shown.lines[3]) < 180


def test_parts_hold_everything_in_order() -> None:
    lines = tuple(f"line {number}" for number in range(2000))
    shown = Outline(lines=lines, elements={})
    count = shown.part(1)[1]
    parts = [shown.part(number)[0] for number in range(1, count + 1)]
    assert "\n".join(parts).split("\n") == list(lines)
    assert all(len(part) <= PAGE_BYTES for part in parts)


def test_there_are_never_more_parts_than_may_be_asked_for() -> None:
    shown = Outline(lines=("x" * 400,) * 5000, elements={})
    assert shown.part(1)[1] == MAX_PAGES
    assert shown.part(10_000)[0] == shown.part(MAX_PAGES)[0]


@given(st.text(max_size=300))
def test_no_text_breaks_it_and_no_control_character_passes(raw: str) -> None:
    shown = outline(raw)
    assert not any(ord(character) < 32 or 0x202A <= ord(character) <= 0x202E for line in shown.lines for character in line)


@given(
    st.lists(
        st.sampled_from(['- button "x" [ref=e1]:', "  - /url: y", "    - text: z", "- 'q", '- link "', "- [ref=e2]"]), max_size=9
    )
)
def test_lines_in_any_order_are_read_without_fault(lines: list[str]) -> None:
    assert set(outline("\n".join(lines)).elements) <= {"e1"}
