from pathlib import Path

import pytest

from ostiary.adapters.search import open_search
from ostiary.adapters.store.sqlite import open_store
from ostiary.adapters.store.sqlite.connection import connect_writer
from ostiary.assembly.backup import Wish, create
from ostiary.assembly.config.load import load
from ostiary.assembly.config.paths import CREDENTIALS
from ostiary.assembly.keys import GATEWAY_DB, put_key, store_key
from ostiary.assembly.vault import SEARCH, STORE
from ostiary.assembly.verifying import Verified, verify_house
from ostiary.contracts.search import Reach
from ostiary.kit.clock import ManualClock
from tests.unit.assembly.houses import make_house, note, write


def quiet(part: str, done: int, total: int) -> None:
    return None


def verified(home: Path) -> Verified:
    return verify_house(home, store_key(home), load(home, {}).config, quiet)


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A house with an index of its documents."""
    home = tmp_path / "home"
    key = await make_house(home)
    clock = ManualClock()
    async with open_store(home / STORE, key, clock=clock) as store:
        await store.commit([note("plan.md", b"# Plan\nBuy an anvil.\n")])
        async with open_search(home / SEARCH, key, store=store, embedder=None, clock=clock) as search:
            found = await search.query("anvil", reach=Reach(collections=("notes",)), limit=3)
            assert found.passages
    return home


async def test_a_house_that_is_whole_has_no_problems_and_says_what_was_looked_at(home: Path) -> None:
    create(home, store_key(home), load(home, {}).config, {}, Wish(), quiet)
    found = verified(home)
    assert found.problems == ()
    assert (found.store.documents, found.indexed, found.backups) == (31, 31, 1)


async def test_what_is_not_indexed_yet_is_no_fault(home: Path) -> None:
    await write(home, "later.md", b"later")
    assert verified(home).problems == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM documents WHERE path = 'plan.md'", "notes:plan.md is not in the search index"),
        ("UPDATE documents SET version = 7 WHERE path = 'plan.md'", "holds version 7 of notes:plan.md, the newest is 1"),
        ("UPDATE documents SET path = 'x.md' WHERE path = 'plan.md'", "holds notes:x.md, which there is not"),
    ],
)
async def test_an_index_that_differs_from_the_documents_is_named_with_what_to_do(home: Path, change: str, said: str) -> None:
    connection = connect_writer(home / SEARCH, store_key(home))
    connection.execute(change)
    connection.close()
    problems = " ".join(verified(home).problems)
    assert said in problems
    assert "ostiary memory reindex" in problems


@pytest.mark.parametrize("name", [STORE, SEARCH, GATEWAY_DB, Path(CREDENTIALS)])
async def test_a_damaged_page_of_any_database_is_a_sentence_that_names_the_file(home: Path, name: Path) -> None:
    path = home / name
    content = bytearray(path.read_bytes())
    content[4200:4300] = bytes(100)
    path.write_bytes(content)
    assert any(str(name) in problem or "The file is damaged" in problem for problem in verified(home).problems)


async def test_a_damaged_backup_is_a_problem_of_the_house(home: Path) -> None:
    create(home, store_key(home), load(home, {}).config, {}, Wish(), quiet)
    damage(home / "backups" / "pieces")
    assert any("the backup" in problem for problem in verified(home).problems)


def damage(folder: Path) -> None:
    next(path for path in folder.rglob("*") if path.is_file()).write_bytes(b"")


async def test_a_second_copy_of_the_key_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_key(home, "passphrase", store_key(home), ask=lambda why, is_new: "four random words")
    assert any("more than one place" in problem for problem in verified(home).problems)
