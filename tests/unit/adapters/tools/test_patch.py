"""apply_patch, in both formats."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.tools.documents import MemoryDocuments
from tests.conformance.tools.tools import context, folder_of

from ostiary.adapters.tools.diffs import unified
from ostiary.adapters.tools.files import Files
from ostiary.adapters.tools.hunks import MAX_FILES, parse
from ostiary.adapters.tools.patch import ApplyPatch, patched
from ostiary.contracts.errors import ToolError
from ostiary.contracts.tool import ToolResult
from ostiary.kit.clock import ManualClock


async def apply(documents: MemoryDocuments, patch: str) -> ToolResult:
    return await ApplyPatch(Files(documents, folder_of), ManualClock()).call({"patch": patch}, context())


async def after(documents: MemoryDocuments, patch: str) -> MemoryDocuments:
    return documents.commit((await apply(documents, patch)).writes)


def envelope(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def house() -> MemoryDocuments:
    documents = MemoryDocuments().put("_workspace", "a.py", "def f():\n    return 1\n\n\ndef g():\n    return 1\n")
    return documents.put("_workspace", "b.txt", "one\ntwo\nthree\n").put("_bootstrap", "AGENTS.md", "x")


async def test_one_patch_adds_changes_moves_and_deletes() -> None:
    documents = house().put("_workspace", "old.txt", "bye\n")
    patch = envelope(
        "*** Add File: new/c.txt",
        "+hello",
        "+",
        "*** Update File: a.py",
        "@@ def g():",
        "-    return 1",
        "+    return 2",
        "*** Update File: b.txt",
        "*** Move to: moved/b.txt",
        " one",
        "-two",
        "+2",
        "*** Delete File: old.txt",
    )
    documents = await after(documents, patch)
    assert documents.text("new/c.txt") == "hello\n\n"
    assert documents.text("a.py") == "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    assert (documents.text("b.txt"), documents.text("moved/b.txt")) == (None, "one\n2\nthree\n")
    assert documents.text("old.txt") is None


async def test_people_see_every_file() -> None:
    result = await apply(house(), envelope("*** Update File: b.txt", "-two", "+2", "*** Delete File: a.py"))
    assert result.text == "Changed b.txt (+1 -1 lines).\nDeleted a.py (+0 -6 lines)."
    changes = result.details["changes"]
    assert isinstance(changes, list)
    assert [(change["path"], change["change"], change["version"]) for change in changes] == [
        ("b.txt", "changed", 2),
        ("a.py", "deleted", 2),
    ]


UNIFIED = """diff --git a/b.txt b/b.txt
index 1..2 100644
--- a/b.txt
+++ b/b.txt
@@ -1,3 +1,4 @@
 one
-two
+2
+2.5
 three
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+x
+y
\\ No newline at end of file
diff --git a/a.py b/c.py
rename from a.py
rename to c.py
"""


async def test_a_unified_diff_does_the_same() -> None:
    documents = await after(house(), UNIFIED)
    assert documents.text("b.txt") == "one\n2\n2.5\nthree\n"
    assert documents.text("new.txt") == "x\ny"
    assert (documents.text("a.py") is None, (documents.text("c.py") or "")[:8]) == (True, "def f():")


async def test_a_unified_diff_deletes() -> None:
    documents = await after(house(), "--- a/b.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n")
    assert documents.text("b.txt") is None


async def test_line_numbers_that_are_off_find_the_nearest_place() -> None:
    text = "x\na\nb\nx\na\nb\nx\na\nb\n"
    documents = MemoryDocuments().put("_workspace", "a", text)
    changed = await after(documents, "--- a/a\n+++ b/a\n@@ -6,2 +6,2 @@\n a\n-b\n+B\n")
    assert changed.text("a") == "x\na\nb\nx\na\nB\nx\na\nb\n"


async def test_windows_line_ends_and_indentation_of_the_file_are_kept() -> None:
    documents = MemoryDocuments().put("_workspace", "w", "  one\r\n\ttwo  \r\nthree\r\n")
    changed = await after(documents, envelope("*** Update File: w", " one", "-two", "+2", " three"))
    assert changed.text("w") == "  one\r\n2\r\nthree\r\n"


async def test_an_end_without_a_line_break_is_kept() -> None:
    documents = MemoryDocuments().put("_workspace", "w", "one\ntwo")
    assert (await after(documents, envelope("*** Update File: w", "-one", "+1", " two"))).text("w") == "1\ntwo"


async def test_lines_without_old_ones_are_added_at_the_end() -> None:
    assert (await after(house(), envelope("*** Update File: b.txt", "@@", "+four"))).text("b.txt") == "one\ntwo\nthree\nfour\n"


async def test_the_end_of_the_file_settles_which_place_is_meant() -> None:
    documents = MemoryDocuments().put("_workspace", "w", "x\ny\nx\n")
    assert (await after(documents, envelope("*** Update File: w", "-x", "+z", "*** End of File"))).text("w") == "x\ny\nz\n"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("*** Update File: a.py", "-    return 1", "+    return 2"), r"several places \(lines 2, 6\)"),
        (("*** Update File: b.txt", "-four", "+4"), "does not fit"),
        (("*** Update File: b.txt", "@@ nowhere", "-two", "+2"), "behind @@ is not in the file"),
        (("*** Update File: nope.txt", "-x", "+y"), "no file nope.txt"),
        (("*** Delete File: nope.txt",), "no file nope.txt"),
        (("*** Add File: b.txt", "+x"), "exists already"),
        (("*** Update File: b.txt", "*** Move to: a.py", "-two", "+2"), "exists already"),
        (("*** Add File: ../x", "+x"), "leaves the workspace"),
        (("*** Update File: b.txt", "*** Move to: ../x", "-two", "+2"), "leaves the workspace"),
        (("*** Add File: /etc/cron.d/x", "+x"), "relative"),
        (("*** Add File: AGENTS.md", "+x"), "owner's own"),
        (("*** Update File: b.txt", "*** Move to: AGENTS.md"), "owner's own"),
        (("*** Add File: n", "+x", "*** Add File: n/m", "+x"), "a file and a folder"),
        (("*** Add File: n", "x"), r"begin with \+"),
        (("*** Update File: b.txt", "two"), "begin with a blank"),
        (("*** Update File: b.txt",), "no change for b.txt"),
        (("*** Rename File: b.txt",), r"expected \*\*\* Add File"),
        (("*** Update File: b.txt", "-two", "+two"), "changes nothing"),
        (("*** Add File: n", "+a\x00b"), "NUL"),
        ((), "holds no change"),
        (tuple(f"*** Add File: {number}" for number in range(MAX_FILES + 1)), "at most"),
    ],
)
async def test_a_patch_that_cannot_be_applied_says_why(lines: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        await apply(house(), envelope(*lines))


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("hello", "holds no change"),
        ("", "holds no change"),
        ("*** Begin Patch\n*** Delete File: b.txt", "no \\*\\*\\* End Patch"),
        ("@@ -1 +1 @@\n-a\n+b", "without --- and"),
        ("--- a/b.txt\n+++ b/b.txt\n@@ what @@\n-a", "expected @@"),
        ("--- a/b.txt\n+++ b/b.txt\n", "no change for"),
        ("--- /dev/null\n+++ /dev/null\n", "both sides"),
        ("Binary files a/x and b/x differ", "only changes of text"),
        ("--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b", "leaves the workspace"),
    ],
)
async def test_a_text_that_is_no_patch_says_why(patch: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        await apply(house(), patch)


async def test_one_part_that_does_not_fit_stops_all() -> None:
    documents = house()
    with pytest.raises(ToolError):
        await apply(documents, envelope("*** Update File: b.txt", "-two", "+2", "*** Update File: a.py", "-nope", "+x"))
    assert documents.text("b.txt") == "one\ntwo\nthree\n"


async def test_a_patch_in_a_fence_is_read() -> None:
    patch = "```diff\n" + envelope("*** Update File: b.txt", "-two", "+2") + "\n```"
    assert (await after(house(), patch)).text("b.txt") == "one\n2\nthree\n"


LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "d"]), max_size=12)


@given(LINES, LINES, st.booleans())
def test_our_own_diffs_can_be_applied(old: list[str], new: list[str], has_end: bool) -> None:
    before = "".join(f"{line}\n" for line in old)
    changed = "".join(f"{line}\n" for line in new).removesuffix("" if has_end else "\n")
    diff = unified(before.encode(), changed.encode(), "x", limit=100_000)
    hunks = parse(diff)[0].hunks if diff else ()
    assert patched(before, hunks, "x") == changed


@given(st.text(alphabet="*BeginPatchAdUFl: +-@ \n/dev0,1", max_size=200))
def test_any_text_is_a_patch_or_a_tool_error(text: str) -> None:
    try:
        got: object = parse(f"*** Begin Patch\n{text}\n*** End Patch")
    except ToolError as error:
        got = error
    assert isinstance(got, tuple | ToolError)


async def test_a_line_added_at_the_end_of_a_windows_file_ends_as_the_others() -> None:
    documents = MemoryDocuments().put("_workspace", "w", "one\r\ntwo")
    assert (await after(documents, envelope("*** Update File: w", " two", "+three"))).text("w") == "one\r\ntwo\r\nthree"


async def test_a_byte_order_mark_stays_and_hides_no_line() -> None:
    documents = MemoryDocuments().put("_workspace", "w", "\ufeffone\ntwo\n")
    assert (await after(documents, envelope("*** Update File: w", "-one", "+1", " two"))).text("w") == "\ufeff1\ntwo\n"


async def test_an_empty_line_between_the_parts_of_a_patch_belongs_to_neither() -> None:
    changed = await after(house(), envelope("*** Update File: b.txt", "-two", "+2", "", "*** Add File: n", "+x", ""))
    assert (changed.text("b.txt"), changed.text("n")) == ("one\n2\nthree\n", "x\n\n")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((" three", "-four", "+4"), r"nearest is line 3 of b\.txt, but the file ends after line 3"),
        ((" one", "-zwei", "+2"), r"they part at line 2, which reads:\ntwo\nthree\nwhere you have:\nzwei"),
        (("@@", "-three", "+3", "@@", "-one", "+1"), r"Change 2 of b\.txt does not fit\. Its lines are at line 1, above line 3"),
    ],
)
async def test_a_change_that_does_not_fit_is_shown_where_it_nearly_does(lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(ToolError, match=said):
        await apply(house(), envelope("*** Update File: b.txt", *lines))


async def test_lines_that_are_all_alike_take_no_longer_than_others() -> None:
    documents = MemoryDocuments().put("_workspace", "w", "x\ny\n" * 100_000)
    with pytest.raises(ToolError, match="several places"):
        await apply(documents, envelope("*** Update File: w", *[" x", " y"] * 50_000, "+z"))
    with pytest.raises(ToolError, match="does not fit"):
        await apply(documents, envelope("*** Update File: w", *[" x", " y"] * 50_000, " y", "+z"))


async def test_many_changes_of_a_long_file_are_found_without_reading_it_for_each() -> None:
    documents = MemoryDocuments().put("_workspace", "w", "".join(f"line {number}\n" for number in range(100_000)))
    hunks = [line for number in range(0, 100_000, 100) for line in ("@@", f"-line {number}", "+x")]
    assert ((await after(documents, envelope("*** Update File: w", *hunks))).text("w") or "").count("x\n") == 1000


async def test_a_patch_of_too_many_changes_is_refused() -> None:
    with pytest.raises(ToolError, match="at most 1,000"):
        await apply(house(), envelope("*** Update File: b.txt", *("@@", "+x") * 1001))


async def test_no_difference_is_worked_out_that_nobody_will_see() -> None:
    documents = MemoryDocuments()
    for number in range(8):
        documents.put("_workspace", f"f{number}", "".join(f"{line}\n" for line in range(900)))
    changes = (await apply(documents, envelope(*(f"*** Delete File: f{number}" for number in range(8))))).details["changes"]
    assert isinstance(changes, list)
    assert [bool(change["diff"]) for change in changes] == [True] * 6 + [False] * 2


async def test_kinds_of_quotes_and_dashes_of_the_file_are_kept() -> None:
    documents = MemoryDocuments().put("_workspace", "w", "\u201cone\u201d \u2013 cafe\u0301\ntwo\n")
    changed = await after(documents, envelope("*** Update File: w", ' "one" - caf\u00e9', "-two", "+2"))
    assert changed.text("w") == "\u201cone\u201d \u2013 cafe\u0301\n2\n"


@pytest.mark.parametrize(
    "patch",
    [
        "\n" * 400_000,
        "*** Begin Patch\n*** Update File: b.txt\n-two\n+2" + "\n" * 300_000 + "*** End Patch",
        "--- a/b.txt\n+++ b/b.txt\n@@ -2,1 +2,1 @@\n-two\n+2" + "\n" * 300_000 + "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
    ],
)
async def test_empty_lines_without_number_are_read_once(patch: str) -> None:
    with suppress(ToolError):
        await apply(house(), patch)
