"""The web app's files as the gateway serves them."""

import gzip
import json
import re
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from scripts import vendor_ui

from ostiary.gateway.errors import ApiError
from ostiary.gateway.ui import HERE, Ui, ui_pages

IMPORT = re.compile(r'^(?:import|export)\b[^;"]*?from\s*"(\.[^"]+)"|from"(\./[^"]+)"', re.MULTILINE)


class Answer:
    def __init__(self, sent: list[Any]) -> None:
        self.status: int = sent[0]["status"]
        self.headers: dict[str, str] = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        self.body: bytes = sent[1]["body"]


async def ask(ui: Ui, path: str, *, method: str = "GET", **headers: str) -> Answer:
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    async def send(event: Any) -> None:
        sent.append(event)

    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await ui({"type": "http", "method": method, "path": path, "headers": given}, receive, send)
    return Answer(sent)


async def test_the_page_names_its_files_by_the_digest_of_all_and_they_are_kept_for_good() -> None:
    ui = ui_pages()
    page = await ask(ui, "/")
    script = re.search(r'<script type="module" src="([^"]+)"', page.body.decode())
    assert page.headers["cache-control"] == "no-cache"
    assert script is not None
    answer = await ask(ui, "/" + script[1])
    assert answer.body == (HERE / "main.js").read_bytes()
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_what_the_browser_has_is_not_sent_again() -> None:
    ui = ui_pages()
    first = await ask(ui, "/")
    again = await ask(ui, "/", if_none_match=f'"other", W/{first.headers["etag"]}')
    assert (again.status, again.body) == (304, b"")


async def test_a_browser_that_can_gets_it_packed() -> None:
    ui = ui_pages()
    packed = await ask(ui, "/", accept_encoding="br, gzip")
    plain = await ask(ui, "/")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) == int(packed.headers["content-length"]) < len(plain.body)


async def test_head_tells_the_size_without_the_body() -> None:
    ui = ui_pages()
    head = await ask(ui, "/icon.svg", method="HEAD")
    assert head.body == b""
    assert int(head.headers["content-length"]) == len((HERE / "icon.svg").read_bytes())


async def test_every_page_forbids_what_it_does_not_need() -> None:
    answer = await ask(ui_pages(), "/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'; trusted-types ostiary" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


async def test_a_part_of_the_page_is_dead_when_it_is_opened_by_itself_and_the_worker_is_held_to_the_pages_policy() -> None:
    ui = ui_pages()
    page = await ask(ui, "/")
    part = await ask(ui, "/" + re.findall(r'src="([^"]+)main\.js"', page.body.decode())[0] + "main.js")
    assert part.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox"
    assert part.headers["x-content-type-options"] == "nosniff"
    assert part.headers["cross-origin-resource-policy"] == "same-origin"
    worker = await ask(ui, "/sw.js")
    assert worker.headers["content-security-policy"] == page.headers["content-security-policy"]


async def test_the_page_holds_no_inline_script_or_style() -> None:
    page = (await ask(ui_pages(), "/")).body.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=", page) == []
    assert re.findall(r"https?://", page) == []


async def test_under_a_base_path_only_that_is_served() -> None:
    ui = ui_pages("/assistant/")
    assert (await ask(ui, "/assistant/")).status == 200
    redirect = await ask(ui, "/assistant")
    assert (redirect.status, redirect.headers["location"]) == (308, "/assistant/")
    assert not ui.owns("/")
    assert not ui.owns("/assistants/")


async def test_switched_off_it_owns_nothing() -> None:
    assert not ui_pages(enabled=False).owns("/")


@pytest.mark.parametrize(
    "path",
    [
        *("/ui/", "/ui/0000000000000000/main.js", "/ui/../__init__.py", "/ui//main.js", "/ui/%2e%2e/__init__.py"),
        *("/__init__.py", "/v1/models", "/auth/session", "/ws", "/UI/main.js", "//"),
    ],
)
async def test_what_is_not_a_file_of_the_app_is_not_there(path: str) -> None:
    with pytest.raises(ApiError) as refused:
        await ask(ui_pages(), path)
    assert refused.value.status == 404


async def test_source_code_of_the_gateway_is_not_served() -> None:
    ui = ui_pages()
    page = (await ask(ui, "/")).body.decode()
    place = re.search(r'src="(ui/[0-9a-f]+/)main.js"', page)
    assert place is not None
    with pytest.raises(ApiError):
        await ask(ui, f"/{place[1]}__init__.py")


async def test_files_are_only_read() -> None:
    with pytest.raises(ApiError) as refused:
        await ask(ui_pages(), "/", method="POST")
    assert refused.value.status == 405


def test_the_page_asks_at_once_for_every_module_it_needs() -> None:
    page = (HERE / "index.html").read_text()
    named = set(re.findall(r'modulepreload" href="\{assets\}([^"]+)"', page))
    assert named == _needed("main.js") - {"main.js"}


def test_vendored_files_are_what_the_manifest_says() -> None:
    assert list(vendor_ui.differences()) == []


def test_every_vendored_package_brings_its_licence() -> None:
    rows = json.loads(vendor_ui.MANIFEST.read_text())["files"]
    assert {row["package"] for row in rows if row["member"] == "LICENSE"} == {row["package"] for row in rows}


def test_no_script_of_ours_writes_markup_or_evaluates_text() -> None:
    ours = [path for path in HERE.rglob("*.js") if "vendor" not in path.parts]
    assert len(ours) > 30
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function|setAttribute\(.style"
    )
    assert [str(path) for path in ours if forbidden.search(path.read_text())] == []


def _needed(name: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """The module and all that it imports, at any depth, except what it loads later."""
    found = {name}
    for match in IMPORT.finditer((HERE / name).read_text()):
        target = _joined(PurePosixPath(name).parent, match[1] or match[2])
        if target not in seen and target not in found:
            found |= _needed(target, frozenset({*seen, *found}))
    return found


def _joined(folder: PurePosixPath, relative: str) -> str:
    return Path("/", folder, relative).resolve().relative_to("/").as_posix()
