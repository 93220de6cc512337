import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostiary.cli import syncing
from ostiary.cli.progress import Progress
from ostiary.cli.syncing import Digests, Pair, Synced, sync_once
from ostiary.cli.vault_access import Access, NewFile
from ostiary.contracts.errors import BadInput
from tests.unit.cli.vault_places import own_store


@pytest.fixture
async def access(tmp_path: Path) -> AsyncIterator[Access]:
    home = tmp_path / "home"
    home.mkdir()
    async with own_store(home) as opened:
        yield opened


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    (tmp_path / "folder").mkdir()
    return Pair(root=tmp_path / "folder", collection="_workspace", prefix="site")


async def sync(access: Any, pair: Pair, **said: bool) -> Synced:
    return await sync_once(access, pair, date="2026-11-16", digests=Digests(), progress=Progress(), **said)


async def content(access: Access, path: str) -> bytes | None:
    found = await access.get("_workspace", path)
    return None if found is None else found[1]


async def test_each_side_gets_what_it_lacks(access: Access, pair: Pair) -> None:
    (pair.root / "src").mkdir()
    (pair.root / "src" / "run.sh").write_text("#!/bin/sh\n")
    (pair.root / "src" / "run.sh").chmod(0o755)
    await access.put("_workspace", NewFile(path="site/pages/a.md", content=b"a"))
    await access.put("_workspace", NewFile(path="elsewhere.md", content=b"not ours"))
    await sync(access, pair)
    found = await access.get("_workspace", "site/src/run.sh")
    assert found is not None
    assert found[0].executable
    assert (pair.root / "pages" / "a.md").read_bytes() == b"a"
    assert not (pair.root / "elsewhere.md").exists()
    assert (await sync(access, pair)).is_quiet


async def test_a_change_and_a_deletion_go_to_the_other_side(access: Access, pair: Pair) -> None:
    for name in ("a", "b", "c"):
        (pair.root / f"{name}.md").write_text(name)
    await sync(access, pair)
    (pair.root / "a.md").write_text("changed here")
    (pair.root / "b.md").unlink()
    await access.delete("_workspace", "site/c.md")
    await sync(access, pair)
    assert await content(access, "site/a.md") == b"changed here"
    assert await content(access, "site/b.md") is None
    assert not (pair.root / "c.md").exists()


async def test_where_both_changed_both_are_kept(access: Access, pair: Pair) -> None:
    (pair.root / "a.md").write_text("base")
    await sync(access, pair)
    (pair.root / "a.md").write_text("mine")
    await access.put("_workspace", NewFile(path="site/a.md", content=b"theirs"))
    done = await sync(access, pair)
    assert done.conflicts == ("a.md: both changed it; yours is kept as a.conflict-2026-11-16.md",)
    assert (pair.root / "a.md").read_text() == "theirs"
    assert (pair.root / "a.conflict-2026-11-16.md").read_text() == "mine"
    assert await content(access, "site/a.conflict-2026-11-16.md") == b"mine"
    assert (await sync(access, pair)).is_quiet


async def test_a_folder_that_is_suddenly_empty_deletes_nothing(access: Access, pair: Pair) -> None:
    (pair.root / "a.md").write_text("a")
    await sync(access, pair)
    (pair.root / "a.md").unlink()
    refused = await sync(access, pair)
    kept = await content(access, "site/a.md")
    await sync(access, pair, allow_deletions=True)
    assert "empty" in refused.refusal
    assert kept == b"a"
    assert await content(access, "site/a.md") is None


async def test_a_dry_run_changes_nothing(access: Access, pair: Pair) -> None:
    (pair.root / "a.md").write_text("a")
    done = await sync(access, pair, dry_run=True)
    assert done.to_collection == ("create a.md",)
    assert await content(access, "site/a.md") is None
    assert not (pair.root / ".ostiary-sync.json").exists()


async def test_the_files_of_version_control_go_neither_way(access: Access, pair: Pair) -> None:
    (pair.root / ".git").mkdir()
    (pair.root / ".git" / "config").write_text("mine")
    for name in (".git/hooks/pre-commit", ".GIT/config", "sub/.git/hooks/post-checkout", ".g\u200cit/config", "git~1/x"):
        await access.put("_workspace", NewFile(path=f"site/{name}", content=b"#!/bin/sh\nevil", executable=True))
    done = await sync(access, pair)
    assert len(done.left) == 5
    assert sorted(each.name for each in pair.root.rglob("*")) == [".git", ".ostiary-sync.json", "config"]
    assert (pair.root / ".git" / "config").read_text() == "mine"
    assert await content(access, "site/.git/config") is None


async def test_links_are_neither_read_nor_written_through(access: Access, pair: Pair, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (pair.root / "link").symlink_to(outside)
    (pair.root / "file").symlink_to(outside / "secret")
    await access.put("_workspace", NewFile(path="site/link/planted", content=b"x"))
    await access.put("_workspace", NewFile(path="site/file", content=b"x"))
    done = await sync(access, pair)
    assert len(done.problems) == 2
    assert [each.name for each in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"
    assert await content(access, "site/file") == b"x"


async def test_what_changes_while_a_sync_runs_is_left_for_the_next(access: Access, pair: Pair) -> None:
    (pair.root / "a.md").write_text("base")
    await sync(access, pair)
    await access.put("_workspace", NewFile(path="site/a.md", content=b"theirs"))

    class Meddler:
        """Saves the file in the editor at the worst moment."""

        def __getattr__(self, name: str) -> Any:
            return getattr(access, name)

        async def list(self, *args: Any, **given: Any) -> Any:
            found = await access.list(*args, **given)
            (pair.root / "a.md").write_text("mine, saved now")
            return found

    done = await sync(Meddler(), pair)
    kept = (pair.root / "a.md").read_text()
    after = await sync(access, pair)
    assert done.problems == ("a.md: it changed while this ran",)
    assert kept == "mine, saved now"
    assert len(after.conflicts) == 1


async def test_a_state_file_that_is_not_ours_is_refused(access: Access, pair: Pair) -> None:
    (pair.root / ".ostiary-sync.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(BadInput, match="cannot be read"):
        await sync(access, pair)


async def test_what_cannot_be_looked_at_any_more_is_not_taken_for_deleted(
    access: Access, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pair.root / "sub").mkdir()
    for name in ("link.md", "large.md", "sub/in.md", "gone.md", "stays.md"):
        (pair.root / name).write_text("kept")
    await sync(access, pair)
    (pair.root / "link.md").unlink()
    (pair.root / "link.md").symlink_to(pair.root / "large.md")
    (pair.root / "large.md").write_text("too large now")
    (pair.root / "sub" / "in.md").unlink()
    (pair.root / "sub").rmdir()
    (pair.root / "sub").symlink_to(pair.root)
    (pair.root / "gone.md").unlink()
    monkeypatch.setattr(syncing, "MOST_BYTES", 10)
    done = await sync(access, pair)
    assert (done.to_collection, done.to_folder, done.problems) == (("delete gone.md",), (), ())
    assert [await content(access, f"site/{name}") for name in ("link.md", "large.md", "sub/in.md")] == [b"kept"] * 3
    monkeypatch.setattr(syncing, "MOST_BYTES", 1000)
    (pair.root / "link.md").unlink()
    (pair.root / "link.md").write_text("a file again")
    assert (await sync(access, pair)).to_collection == ("update large.md", "update link.md")
