from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from textual.widgets import DataTable, Input, Static, Tree

from ostiary.cli.vault_access import Access, NewFile
from ostiary.cli.vault_browser import Browser, Confirm
from tests.unit.cli.vault_places import own_store

SIZE = (80, 24)


@pytest.fixture
async def access(tmp_path: Path) -> AsyncIterator[Access]:
    async with own_store(tmp_path) as opened:
        await opened.put("_workspace", NewFile(path="notes/plan.md", content=b"# Plan\n\nBuy seeds.\n"))
        await opened.put("_workspace", NewFile(path="notes/plan.md", content=b"# Plan\n\nBuy seeds\x1b[2J and soil.\n"))
        await opened.put("_memory", NewFile(path="MEMORY.md", content=b"- Ana has the key.\n"))
        yield opened


async def until(pilot: Any, shown: Any) -> None:
    with anyio.fail_after(20):
        while not shown():
            await pilot.pause()


def text(app: Browser, name: str) -> str:
    return str(app.query_one(name, Static).content)


async def test_a_document_is_reached_through_the_tree_and_shown_without_what_steers_a_terminal(access: Access) -> None:
    app = Browser(access, "_workspace")
    async with app.run_test(size=SIZE) as pilot:
        tree = app.query_one(Tree)
        await until(pilot, lambda: any(node.children for node in tree.root.children))
        folder = next(node for node in tree.root.children if node.children).children[0]
        tree.move_cursor(folder)
        await pilot.press("enter")
        await until(pilot, lambda: folder.children)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.place is not None)
        assert app.place == ("_workspace", "notes/plan.md")
        assert text(app, "#content") == "# Plan\n\nBuy seeds[2J and soil.\n"
        assert "version 2" in text(app, "#where")


async def test_versions_are_listed_newest_first_and_one_is_restored_after_a_yes(access: Access) -> None:
    app = Browser(access)
    async with app.run_test(size=SIZE) as pilot:
        await app.open("_workspace", "notes/plan.md")
        await pilot.press("v")
        await until(pilot, lambda: app.view == "versions" and app.query_one("#versions", DataTable).row_count == 2)
        await pilot.press("down", "r")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: "version 3" in text(app, "#where"))
        assert text(app, "#content") == "# Plan\n\nBuy seeds.\n"
    assert [each.version for each in await access.history("_workspace", "notes/plan.md")] == [1, 2, 3]


async def test_anything_but_y_restores_nothing(access: Access) -> None:
    app = Browser(access)
    async with app.run_test(size=SIZE) as pilot:
        await app.open("_workspace", "notes/plan.md")
        await pilot.press("v")
        await until(pilot, lambda: app.query_one("#versions", DataTable).row_count == 2)
        await pilot.press("down", "r")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, Confirm))
    assert len(await access.history("_workspace", "notes/plan.md")) == 2


async def test_a_diff_shows_what_the_newest_version_changed(access: Access) -> None:
    app = Browser(access)
    async with app.run_test(size=SIZE) as pilot:
        await app.open("_workspace", "notes/plan.md")
        await pilot.press("d")
        await until(pilot, lambda: "version 1 → 2" in text(app, "#where"))
        assert "-Buy seeds.\n" in text(app, "#content")


async def test_what_is_found_opens_with_enter(access: Access) -> None:
    app = Browser(access)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash")
        await until(pilot, lambda: app.focused is app.query_one("#find", Input))
        await pilot.press(*"who has the key", "enter")
        await until(pilot, lambda: app.view == "results" and app.query_one("#results", DataTable).row_count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: app.place == ("_memory", "MEMORY.md"))
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is app.query_one(Tree))


async def test_what_went_away_is_said_and_the_screen_stays(access: Access) -> None:
    app = Browser(access)
    async with app.run_test(size=SIZE) as pilot:
        await app.open("_workspace", "notes/plan.md")
        await access.delete("_workspace", "notes/plan.md")
        await pilot.press("v")
        await until(pilot, lambda: app.query_one("#versions", DataTable).row_count == 3)
        await pilot.press("enter")
        await pilot.pause()
        assert app.view in ("text", "versions")
        assert app.is_running


async def test_everything_fits_on_a_small_terminal(access: Access) -> None:
    app = Browser(access)
    async with app.run_test(size=SIZE) as pilot:
        await app.open("_workspace", "notes/plan.md")
        await pilot.pause()
        for name in ("#tree", "#find", "#where", "#text"):
            region = app.query_one(name).region
            assert region.right <= 80
            assert region.bottom <= 24
            assert region.width >= 20
