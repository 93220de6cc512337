import pytest
from tests.conformance.tools.documents import MemoryDocuments
from tests.conformance.tools.tools import context, folder_of

from ostiary.adapters.tools.files import Files
from ostiary.adapters.tools.image import MAX_BYTES, LookAt
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import EgressRefused, ModelMisconfigured, ModelUnavailable, ToolError
from ostiary.contracts.pictures import picture_type_of
from ostiary.contracts.tool import ToolContext, ToolResult

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
JPEG = b"\xff\xd8\xff\xe0" + b"0" * 20
OWN = Label(trust=Trust.OWNER)


class Eye:
    """An image model and a web that are only pretended."""

    def __init__(self, content: bytes = JPEG, error: Exception | None = None) -> None:
        self.asked: list[tuple[bytes, str, str]] = []
        self.fetched: list[str] = []
        self.content = content
        self.error = error

    async def describe(self, content: bytes, media_type: str, question: str) -> str:
        self.asked.append((content, media_type, question))
        if self.error is not None:
            raise self.error
        return "A cat."

    async def fetch(self, url: str, most: int, context: ToolContext) -> bytes:
        self.fetched.append(url)
        if "refused" in url:
            raise EgressRefused("the address is private")
        return self.content


async def look(eye: Eye, **arguments: object) -> ToolResult:
    documents = MemoryDocuments().put("_workspace", "cat.png", PNG, label=OWN).put("_workspace", "notes.md", "no picture")
    documents.put("_workspace", "huge.png", PNG + b"0" * MAX_BYTES)
    return await LookAt(Files(documents, folder_of), eye.describe, eye.fetch).call(arguments, context())


async def test_a_picture_of_the_workspace_is_described_with_its_own_label() -> None:
    eye = Eye()
    result = await look(eye, path="cat.png", question="Which animal?")
    assert eye.asked == [(PNG, "image/png", "Which animal?")]
    assert result.text == "A cat."
    assert result.label is not None
    assert (result.label.trust, result.label.private) == (Trust.OWNER, True)


async def test_a_picture_of_the_web_is_untrusted() -> None:
    result = await look(Eye(), url="https://pics.example/cat")
    assert result.label is not None
    assert (result.label.trust, result.label.sources) == (Trust.UNTRUSTED, ("web:pics.example",))
    assert result.details["media_type"] == "image/jpeg"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": "cat.png", "url": "https://a.example"},
        {"path": "notes.md"},
        {"path": "huge.png"},
        {"path": "nowhere.png"},
        {"path": "../cat.png"},
        {"path": "/etc/passwd"},
        {"path": "."},
        {"url": "file:///etc/passwd"},
        {"url": "data:image/png;base64,AAAA"},
        {"url": "https://a.example/\nx"},
        {"url": "https://["},
        {"path": "cat.png", "question": "x" * 3000},
        {"path": 5},
    ],
)
async def test_what_is_no_picture_is_not_shown_to_the_model(arguments: dict[str, object]) -> None:
    eye = Eye()
    with pytest.raises(ToolError):
        await look(eye, **arguments)
    assert (eye.asked, eye.fetched) == ([], [])


async def test_an_address_that_is_refused_says_so() -> None:
    with pytest.raises(ToolError, match="Refused: the address is private"):
        await look(Eye(), url="http://refused.example/x")


async def test_a_page_that_is_no_picture_is_not_shown_to_the_model() -> None:
    eye = Eye(content=b"<html>")
    with pytest.raises(ToolError, match="no PNG"):
        await look(eye, url="https://a.example/cat.png")
    assert eye.asked == []


@pytest.mark.parametrize("error", [ModelMisconfigured("no image model is set", hint="Set one."), ModelUnavailable("down")])
async def test_a_model_that_fails_is_said_to(error: Exception) -> None:
    with pytest.raises(ToolError, match="The image model could not be asked"):
        await look(Eye(error=error), path="cat.png")


@pytest.mark.parametrize(
    ("content", "wanted"),
    [(b"GIF89a..", "image/gif"), (b"RIFF0000WEBPVP8 ", "image/webp"), (b"RIFF0000WAVE", ""), (b"", ""), (b"<svg", "")],
)
def test_the_kind_is_told_by_the_bytes(content: bytes, wanted: str) -> None:
    assert picture_type_of(content) == wanted
