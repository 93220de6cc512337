from hypothesis import given
from hypothesis import strategies as st

from ostiary.adapters.tools.diffs import MAX_LINES, counts, unified


def test_a_change_far_inside_keeps_its_line_number() -> None:
    before = "".join(f"{number}\n" for number in range(1, 5001))
    diff = unified(before.encode(), before.replace("\n4000\n", "\nx\n").encode(), "f")
    assert diff == "--- f\n+++ f\n@@ -3997,7 +3997,7 @@\n 3997\n 3998\n 3999\n-4000\n+x\n 4001\n 4002\n 4003\n"


def test_a_new_and_a_deleted_file_have_nothing_on_the_other_side() -> None:
    assert unified(None, b"a\n", "f") == "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"
    assert unified(b"a\n", None, "f") == "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"


def test_what_is_no_text_has_no_diff() -> None:
    assert unified(b"\x00", b"a", "f") == ""
    assert unified(b"a", b"\xff", "f") == ""


def test_a_long_diff_is_cut_at_a_line_and_says_so() -> None:
    diff = unified(b"", b"word\n" * 100, "f", limit=100)
    assert (len(diff) < 130, diff.endswith(" more lines]\n")) == (True, True)


def test_too_many_changed_lines_are_only_counted() -> None:
    diff = unified(b"a\n", "".join(f"{number}\n" for number in range(MAX_LINES + 5)).encode(), "f")
    assert "too many lines to compare" in diff


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_can_be_compared(before: bytes, after: bytes) -> None:
    assert isinstance(unified(before, after, "f"), str)
    assert all(number >= 0 for number in counts(before, after))


def test_changes_of_a_large_file_are_counted() -> None:
    before = b"".join(b"line %d\n" % number for number in range(300_000))
    assert counts(before, before.replace(b"line 150000\n", b"a\nb\n")) == (2, 1)


PIECES = st.lists(st.sampled_from([b"a", b"b", b"\n", b"a\n", b"\n\n"]), max_size=8).map(b"".join)


@given(PIECES, PIECES)
def test_lines_are_counted_as_a_person_would(before: bytes, after: bytes) -> None:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    most = min(len(old), len(new))
    head = next((place for place in range(most) if old[place] != new[place]), most)
    tail = next((back for back in range(most - head) if old[-1 - back] != new[-1 - back]), most - head)
    assert counts(before, after) == (len(new) - head - tail, len(old) - head - tail)
