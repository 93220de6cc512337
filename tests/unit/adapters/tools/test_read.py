import pytest
from tests.conformance.tools.documents import MemoryDocuments
from tests.conformance.tools.tools import context, folder_of

from ostiary.adapters.tools.files import Files
from ostiary.adapters.tools.read import Read
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.tool import ToolResult


async def read(documents: MemoryDocuments, agent: str = "main", max_bytes: int = 8192, **arguments: object) -> ToolResult:
    tool = Read(Files(documents, folder_of), max_bytes=max_bytes)
    return await tool.call(arguments, context(session=SessionKey(agent, "main")))


def notes(content: str | bytes, label: Label | None = None) -> MemoryDocuments:
    return MemoryDocuments().put("_workspace", "notes/plan.md", content, label=label)


async def test_a_small_file_is_given_exactly_as_it_is() -> None:
    assert (await read(notes("one\r\n\n  two\n"), path="notes/plan.md")).text == "one\r\n\n  two"


@pytest.mark.parametrize("path", ["notes/plan.md", "./notes/plan.md", "notes//plan.md", "notes/./plan.md"])
async def test_ways_of_writing_a_path_mean_the_same_file(path: str) -> None:
    assert (await read(notes("x"), path=path)).text == "x"


async def test_a_part_is_given_with_where_to_read_on() -> None:
    result = await read(notes("a\nb\nc\nd\n"), path="notes/plan.md", offset=2, limit=2)
    assert result.text == "b\nc\n[lines 2-3 of 4; read on with offset=4]"


async def test_the_last_part_says_nothing_of_reading_on() -> None:
    assert (await read(notes("a\nb\nc"), path="notes/plan.md", offset=3)).text == "c\n[lines 3-3 of 3]"


async def test_reading_on_as_told_gives_the_whole_file_without_gap_or_overlap() -> None:
    lines = [f"{number} " + "é" * (number % 90) for number in range(400)]
    documents = notes("\n".join(lines))
    seen: list[str] = []
    while len(seen) < len(lines):
        result = await read(documents, path="notes/plan.md", offset=len(seen) + 1, max_bytes=2000)
        seen += result.text.split("\n")[:-1]
        assert len(result.text.encode()) <= 2000
    assert seen == lines


async def test_a_line_too_long_for_any_result_is_cut_and_said_to_be() -> None:
    result = await read(notes("é" * 9000 + "\nnext"), path="notes/plan.md")
    assert "[line 1 of 2, cut after 4,016 of its 9,000 characters; grep shows parts; read on with offset=2]" in result.text
    assert len(result.text.encode()) <= 8192


async def test_an_empty_file_is_said_to_be_empty() -> None:
    assert (await read(notes(""), path="notes/plan.md")).text == "[the file is empty]"


async def test_the_result_carries_the_stored_label_and_is_private() -> None:
    stored = Label(trust=Trust.CONTACT, sources=("mail:1",))
    result = await read(notes("x", stored), path="notes/plan.md")
    assert result.label == Label(trust=Trust.CONTACT, sources=("mail:1",), private=True)


async def test_a_document_of_unknown_origin_is_untrusted() -> None:
    label = (await read(notes("x"), path="notes/plan.md")).label
    assert label == Label(trust=Trust.UNTRUSTED, private=True)


async def test_people_see_which_version_was_read() -> None:
    documents = notes("old").put("_workspace", "notes/plan.md", "new\nline")
    details = (await read(documents, path="notes/plan.md")).details
    assert details == {"path": "notes/plan.md", "version": 2, "bytes": 8, "lines": 2}


async def test_a_workspace_file_cannot_cover_up_a_bootstrap_file() -> None:
    documents = MemoryDocuments().put("_bootstrap", "SOUL.md", "kind").put("_workspace", "SOUL.md", "evil")
    assert (await read(documents, path="SOUL.md")).text == "kind"


async def test_an_agent_reads_its_own_folder_and_no_other_agents() -> None:
    documents = MemoryDocuments().put("_workspace", "agents/work/a.md", "mine").put("_workspace", "a.md", "main's")
    assert (await read(documents, "work", path="a.md")).text == "mine"
    with pytest.raises(ToolError, match="leaves the workspace"):
        await read(documents, "work", path="../../a.md")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("plan.md", "There is no file plan.md. Did you mean notes/plan.md?"),
        ("gone.md", "There is no file gone.md. Use ls or find"),
        ("notes", "notes is a folder; use ls."),
        ("", ". is a folder; use ls."),
        (".", ". is a folder; use ls."),
        ("/etc/passwd", "Paths are relative"),
        ("~/x", "Paths are relative"),
        ("C:\\x", "Paths are relative"),
        ("notes\\plan.md", "Paths are relative"),
        ("../x", "leaves the workspace"),
        ("notes/../../x", "leaves the workspace"),
        ("a\x00b", "control characters"),
        ("a\nb", "control characters"),
        ("\ud800", "control characters"),
        ("x" * 4096, "4096 characters long"),
        ("x" * 300, "longer than 255"),
    ],
)
async def test_a_path_that_leads_nowhere_or_elsewhere_is_refused_with_the_reason(path: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        await read(notes("x"), path=path)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", [b"\x89PNG\x00", b"\xff\xfe\xfd"])
async def test_what_is_not_text_is_not_shown(content: bytes) -> None:
    with pytest.raises(ToolError, match="is not"):
        await read(notes(content), path="notes/plan.md")


async def test_a_line_behind_the_end_is_refused_with_the_length() -> None:
    with pytest.raises(ToolError, match="has 1 lines; there is no line 2"):
        await read(notes("x"), path="notes/plan.md", offset=2)


async def test_the_last_lines_are_read_by_counting_from_the_end() -> None:
    assert (await read(notes("a\nb\nc\n"), path="notes/plan.md", offset=-2)).text == "b\nc\n[lines 2-3 of 3]"
    assert (await read(notes("a\nb\nc\n"), path="notes/plan.md", offset=-9)).text == "a\nb\nc"


async def test_a_byte_order_mark_is_not_shown() -> None:
    assert (await read(notes("\ufeffa\n"), path="notes/plan.md")).text == "a"


async def test_a_long_file_is_read_beside_the_others() -> None:
    long = await read(notes("x\n" * 3_000_000), path="notes/plan.md", offset=-1)
    assert long.text == "x\n[lines 3000000-3000000 of 3000000]"


async def test_a_path_as_commands_write_it_is_read() -> None:
    assert (await read(notes("a\n"), path="/workspace/notes/plan.md")).text == "a"
    with pytest.raises(ToolError, match="relative"):
        await read(notes("a\n"), path="/workspaces/notes/plan.md")
    with pytest.raises(ToolError, match="leaves"):
        await read(notes("a\n"), path="/workspace/../etc/hosts")
