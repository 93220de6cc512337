"""write and edit: what they change, what they refuse, what they leave to be committed."""

import pytest
from tests.conformance.tools.documents import MemoryDocuments
from tests.conformance.tools.tools import context, folder_of

from ostiary.adapters.tools.edit import Edit
from ostiary.adapters.tools.files import MAX_WRITTEN, Files
from ostiary.adapters.tools.write import Write
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import Conflict, ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Put
from ostiary.contracts.tool import ToolResult
from ostiary.kit.clock import ManualClock

OWN = Label(trust=Trust.OWNER, sources=("me",))
WEB = Label(trust=Trust.UNTRUSTED, sources=("web",))


def protected(path: str) -> str:
    return "it may hold secrets" if path.endswith(".env") else ""


def files(documents: MemoryDocuments) -> Files:
    return Files(documents, folder_of, protected=protected)


async def write(documents: MemoryDocuments, path: object, content: object = "x\n", agent: str = "main") -> ToolResult:
    tool = Write(files(documents), ManualClock(50.0))
    return await tool.call({"path": path, "content": content}, context(session=SessionKey(agent, "main")))


async def edit(documents: MemoryDocuments, old: str, new: str, **more: object) -> ToolResult:
    return await Edit(files(documents), ManualClock()).call({"path": "a.md", "old": old, "new": new, **more}, context())


def holding(content: str | bytes, label: Label | None = None) -> MemoryDocuments:
    return MemoryDocuments().put("_workspace", "a.md", content, label=label)


async def test_writing_changes_nothing_until_the_result_is_committed() -> None:
    documents = holding("old\n")
    result = await write(documents, "a.md", "new\n")
    assert documents.text("a.md") == "old\n"
    assert documents.commit(result.writes).text("a.md") == "new\n"


async def test_a_write_says_who_when_in_which_turn_and_with_which_label() -> None:
    given = context()
    result = await write(MemoryDocuments(), "notes/new.md", "é\n")
    assert result.writes == (
        Put(
            collection="_workspace",
            path="notes/new.md",
            content="é\n".encode(),
            at=50.0,
            author="api:me",
            turn="turn_1",
            label=given.label,
            expect_version=0,
        ),
    )


async def test_people_see_the_difference() -> None:
    result = await write(holding("one\ntwo\n"), "a.md", "one\n2\n")
    assert result.text == "Replaced a.md (+1 -1 lines, version 2)."
    assert result.details == {"path": "a.md", "version": 2, "diff": "--- a.md\n+++ a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"}


async def test_what_somebody_else_wrote_meanwhile_is_not_overwritten() -> None:
    documents = holding("one")
    result = await write(documents, "a.md", "two")
    documents.put("_workspace", "a.md", "theirs")
    with pytest.raises(Conflict):
        documents.commit(result.writes)


async def test_a_deleted_file_can_be_written_again() -> None:
    documents = holding("one").delete("_workspace", "a.md")
    result = await write(documents, "a.md", "two")
    assert result.details["version"] == 3
    assert documents.commit(result.writes).text("a.md") == "two"


async def test_writing_the_same_makes_no_new_version() -> None:
    result = await write(holding("same"), "a.md", "same")
    assert (result.writes, result.text) == ((), "a.md is that already.")


async def test_another_agent_writes_into_its_own_folder() -> None:
    result = await write(MemoryDocuments(), "a.md", "x", agent="helper")
    assert [write.path for write in result.writes if isinstance(write, Put)] == ["agents/helper/a.md"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        (".", "empty"),
        ("../x", "leaves the workspace"),
        ("a/../../x", "leaves the workspace"),
        ("/etc/passwd", "relative"),
        ("~/x", "relative"),
        ("C:\\x", "relative"),
        ("a\\b", "relative"),
        ("a\x00b", "control"),
        ("a\nb", "control"),
        ("a\udc80", "control"),
        ("x" * 2000, "characters long"),
        ("d/" + "x" * 300, "longer than"),
        ("/".join(["é" * 100] * 6), "longer than 1024 bytes"),
        ("é" * 200, "longer than 255 bytes"),
        ("safe\u202efdp.md", "invisible"),
        ("AGENTS.md", "owner's own files"),
        ("agents.MD", "owner's own files"),
        ("agents/helper/AGENTS.md", "owner's own files"),
        ("MEMORY.md", "private conversations"),
        ("memory.MD", "private conversations"),
        (".env", "secrets"),
        ("sub/prod.env", "secrets"),
        ("dir", "is a folder"),
        ("dir/file.md/x", "is a file"),
        ("odd[*]", "is a folder"),
    ],
)
async def test_a_path_that_may_not_be_written_is_refused(path: str, reason: str) -> None:
    documents = MemoryDocuments().put("_workspace", "dir/file.md", "x").put("_workspace", "odd[*]/y", "x")
    documents.put("_bootstrap", "AGENTS.md", "be good").put("_bootstrap", "agents/helper/AGENTS.md", "be good")
    with pytest.raises(ToolError, match=reason):
        await write(documents, path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a\x00b", "NUL"),
        ("half \ud800", "half a character"),
        ("x" * (MAX_WRITTEN + 1), "too much"),
        (b"raw", "string"),
        (None, "string"),
    ],
)
async def test_content_that_is_no_text_is_refused(content: object, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        await write(MemoryDocuments(), "a.md", content)


async def test_two_spellings_of_a_name_are_one_file() -> None:
    result = await write(MemoryDocuments().put("_workspace", "caf\u00e9.md", "x"), "cafe\u0301.md", "y")
    assert [(write.path, write.expect_version) for write in result.writes if isinstance(write, Put)] == [("caf\u00e9.md", 1)]


async def test_an_edit_replaces_the_one_place() -> None:
    documents = holding("one\ntwo\nthree\n")
    assert documents.commit((await edit(documents, "two", "2")).writes).text("a.md") == "one\n2\nthree\n"


async def test_an_edit_of_several_places_needs_to_be_asked_for() -> None:
    documents = holding("x\ny\nx\n")
    with pytest.raises(ToolError, match=r"at lines 1, 3\. Give more"):
        await edit(documents, "x", "z")
    assert documents.commit((await edit(documents, "x", "z", all=True)).writes).text("a.md") == "z\ny\nz\n"


async def test_overlapping_places_are_several() -> None:
    with pytest.raises(ToolError, match="several times"):
        await edit(holding("aaa"), "aa", "b")


async def test_an_edit_that_differs_in_blanks_is_shown_the_line() -> None:
    with pytest.raises(ToolError, match=r"in blanks alone, from line 2 of a\.md on, which reads:\n\tif x:\n\t\treturn"):
        await edit(holding("def f():\n\tif x:\n\t\treturn\n"), "    if x:\n        return", "pass")


async def test_an_edit_of_text_that_is_not_there_is_shown_the_nearest_line() -> None:
    with pytest.raises(ToolError, match=r"The nearest is line 2 of a\.md:\ncolour = blue"):
        await edit(holding("size = 1\ncolour = blue\n"), "color = blue", "x")


async def test_an_edit_of_text_that_resembles_nothing_says_so() -> None:
    with pytest.raises(ToolError, match=r"old is not in a\.md\. Read the file again"):
        await edit(holding("size = 1\n"), "zzzzzzzzzz", "x")


@pytest.mark.parametrize(("old", "new", "reason"), [("", "x", "old is empty"), ("one", "one", "the same")])
async def test_an_edit_that_says_nothing_is_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        await edit(holding("one"), old, new)


async def test_windows_line_ends_are_kept() -> None:
    documents = holding("one\r\ntwo\r\nthree\r\n")
    assert documents.commit((await edit(documents, "one\ntwo", "1\n2")).writes).text("a.md") == "1\r\n2\r\nthree\r\n"


async def test_an_edit_of_a_file_that_is_not_there_says_what_to_do() -> None:
    with pytest.raises(ToolError, match=r"no file a\.md\. Use write"):
        await edit(MemoryDocuments(), "x", "y")


@pytest.mark.parametrize("content", [b"\x00\x01", b"\xff\xfe"])
async def test_an_edit_of_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(ToolError, match="text"):
        await edit(holding(content), "x", "y")


async def test_an_edited_file_keeps_the_label_of_what_is_left_of_it() -> None:
    given = await edit(holding("from the web", WEB), "web", "net")
    assert [write.label.sources for write in given.writes if isinstance(write, Put) and write.label] == [("web",)]


async def test_an_edit_that_goes_astray_is_shown_where() -> None:
    with pytest.raises(
        ToolError, match=r"line 2 of a\.md; they part at line 3, which reads:\n    return 2\n\nwhere you have:\n    return 1"
    ):
        await edit(holding("x = 0\ndef f():\n    return 2\n"), "def f():\n    return 1\n", "pass")


async def test_an_edit_beyond_the_end_says_where_the_file_ends() -> None:
    with pytest.raises(ToolError, match=r"line 2 of a\.md, but the file ends after line 2"):
        await edit(holding("one more\nlast line"), "last line\nand another", "x")


async def test_lines_put_into_a_windows_file_end_as_its_own() -> None:
    documents = holding("one\r\ntwo\r\n")
    assert documents.commit((await edit(documents, "one", "1\n1.5")).writes).text("a.md") == "1\r\n1.5\r\ntwo\r\n"


async def test_lines_put_into_a_file_with_few_windows_ends_end_plainly() -> None:
    documents = holding("one\ntwo\nthree\r\nfour\n")
    assert documents.commit((await edit(documents, "one", "1\n1.5")).writes).text("a.md") == "1\n1.5\ntwo\nthree\r\nfour\n"


async def test_an_edit_that_would_fill_the_memory_is_refused_before_it_is_made() -> None:
    with pytest.raises(ToolError, match="would have 900,000,000,000 characters"):
        await edit(holding("a" * 900_000), "a", "b" * 1_000_000, all=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\x89PNG\r\n\x1a\n\x00", "image looks at it"), (b"\x00\x01", "exec can examine it"), ("é".encode("utf-16"), "iconv")],
)
async def test_what_is_no_text_is_told_what_to_use_instead(content: bytes, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        await edit(holding(content), "x", "y")


async def test_an_edit_that_differs_in_kinds_of_quotes_is_shown_them() -> None:
    with pytest.raises(ToolError, match=r"in quotes, dashes or accents alone, from line 1 of a\.md on, which reads:\n“one”"):
        await edit(holding("“one”\n"), '"one"', "x")
