"""A whole store checked from outside: what is wrong with it comes as sentences, whatever was done to the file."""

import os
import random
import re
import shutil
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import open_store
from ostiary.adapters.store.sqlite.connection import connect_writer, fetch
from ostiary.adapters.store.sqlite.migrations import MIGRATIONS, migrate
from ostiary.adapters.store.sqlite.verify import Report, verify
from ostiary.contracts.audit import AuditHead
from ostiary.contracts.store import Audit, EraseVersions, Extend, Move, Put, PutBlob, Restore
from ostiary.kit.clock import ManualClock
from tests.conformance.store.words import MAIN, NOW, OTHER, put, setting, sha256, tombstone
from tests.unit.adapters.store.conftest import KEY

LARGE = random.Random(1).randbytes(1_500_000)


async def filled(path: Path) -> None:
    async with open_store(path, KEY, clock=ManualClock()) as store:
        await store.commit([setting("a"), setting("b"), setting("c", session=OTHER)])
        await store.commit([Audit(at=NOW, kind="login", actor="owner", subject=str(n), outcome="ok") for n in range(3)])
        await store.commit([put("a.md", b"one"), put("a.md", b"two"), put("b.md", b"one"), put("big.bin", LARGE)])
        await store.commit([PutBlob(digest=sha256(b"seen"), content=b"seen"), put("gone.md", b"gone"), tombstone("b.md")])
        await store.commit([Extend(collection="notes", path="big.bin", content=b"tail", at=NOW, author="owner")])
        await store.commit([Move(collection="notes", path="a.md", to="c.md", at=NOW, author="owner")])
        await store.commit([Restore(collection="notes", path="b.md", version=1, at=NOW, author="owner")])
        await store.commit([EraseVersions(collection="notes", path="gone.md"), EraseVersions(collection="notes", path="a.md")])
        await store.commit(
            [Put(collection="notes", path=f"many/{n}.md", content=os.urandom(3000), at=NOW, author="o") for n in range(60)]
        )


@pytest.fixture
async def whole(path: Path) -> Path:
    await filled(path)
    return path


def tamper(path: Path, sql: str) -> None:
    connection = connect_writer(path, KEY)
    fetch(connection, f"PRAGMA foreign_keys = off; {sql}")
    connection.close()


def is_sentence(text: str) -> bool:
    return bool(re.match(r"\S.*\.$", text)) and "Traceback" not in text


async def test_a_store_that_went_through_everything_is_whole(whole: Path) -> None:
    stages: list[tuple[str, int, int]] = []
    report = verify(whole, KEY, progress=lambda *told: stages.append(told))
    assert report.problems == ()
    assert report.is_whole
    assert (report.documents, report.versions, report.sessions, report.events, report.audit_entries) == (63, 70, 2, 3, 3)
    assert report.blobs == 65
    assert report.bytes == 3 + 3 + len(LARGE) + (len(LARGE) + 4) % (1 << 18) + 4 + 60 * 3000
    assert list(dict.fromkeys(stage for stage, _, _ in stages)) == [
        "pages",
        "foreign keys",
        "contents",
        "documents",
        "journals",
        "audit log",
    ]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE blobs SET content = CAST('oNe' AS BLOB) WHERE content = CAST('one' AS BLOB)", "is not what was written"),
        ("UPDATE pieces SET content = zeroblob(length(content)) WHERE id = 2", "is not what was written"),
        ("DELETE FROM blob_pieces WHERE place = 1", "is not what was written"),
        ("DELETE FROM held; DELETE FROM blobs WHERE content = CAST('two' AS BLOB)", "The content of version 1 of c.md in notes"),
        ("UPDATE versions SET size = size + 1 WHERE version = 2 AND size > 0", "The size of version 2 of"),
        ("DELETE FROM versions WHERE version = 1 AND digest <> ''", "do not run from 1 to the newest"),
        ("UPDATE documents SET head = 1 WHERE path = 'c.md'", "The newest version of c.md in notes is not the one it says"),
        ("UPDATE documents SET living = 1 WHERE path = 'gone.md'", "The newest version of gone.md"),
        ("UPDATE held SET uses = uses + 1 WHERE uses > 1", "how many versions need"),
        ("UPDATE counters SET value = 7 WHERE name = 'stored'", "are counted as 7 instead of"),
        ("DELETE FROM documents WHERE path = 'many/7.md'", "belongs to a row of documents that is not there"),
        ("UPDATE payloads SET body = zeroblob(3) WHERE event = 2", f"payload of event 2 of {MAIN}"),
        ("DELETE FROM audit WHERE seq = 2", "Entry 2 of the audit log is missing"),
    ],
)
async def test_what_was_tampered_with_is_named(whole: Path, sql: str, words: str) -> None:
    tamper(whole, sql)
    report = verify(whole, KEY)
    assert any(words in problem for problem in report.problems), report.problems
    assert all(map(is_sentence, report.problems))


async def test_a_cut_audit_log_shows_against_what_was_kept_outside(whole: Path) -> None:
    tamper(whole, "DELETE FROM audit WHERE seq > 1")
    assert verify(whole, KEY).is_whole
    report = verify(whole, KEY, heads=(AuditHead(seq=3, chain="", at=NOW),))
    assert any("audit log is missing" in problem for problem in report.problems)


async def test_many_problems_are_summed_up(whole: Path) -> None:
    tamper(whole, "UPDATE blobs SET content = zeroblob(1) WHERE length(content) = 3000")
    contents = [problem for problem in verify(whole, KEY).problems if "is not what was written" in problem]
    assert len(contents) == 20
    assert "There are 40 more problems with the contents." in verify(whole, KEY).problems


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.3, 0.6, 0.99])
async def test_a_file_cut_short_gives_sentences(whole: Path, share: float) -> None:
    os.truncate(whole, int(os.stat(whole).st_size * share))
    report = verify(whole, KEY)
    assert not report.is_whole
    assert all(map(is_sentence, report.problems))


async def test_one_flipped_bit_anywhere_gives_sentences(whole: Path, tmp_path: Path) -> None:
    size = os.stat(whole).st_size
    chance = random.Random(5)
    offsets = [0, 17, 30, 100, *(chance.randrange(4096, size) for _ in range(24))]
    silent = [offset for offset in offsets if not _problems_after_flipping(whole, tmp_path / "flipped.db", offset)]
    assert silent == []


def _problems_after_flipping(whole: Path, copy: Path, offset: int) -> list[str]:
    shutil.copyfile(whole, copy)
    with copy.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes((byte ^ 4,)))
    return [problem for problem in verify(copy, KEY).problems if is_sentence(problem)]


@pytest.mark.parametrize("key", [bytes(32), b"short"])
async def test_a_wrong_key_is_a_problem_in_words(whole: Path, key: bytes) -> None:
    (problem,) = verify(whole, key).problems
    assert "key" in problem


@pytest.mark.parametrize("content", [b"", b"hello", bytes(9000)])
def test_a_file_of_another_kind_is_a_problem_in_words(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    report = verify(path, KEY)
    assert len(report.problems) == 1
    assert is_sentence(report.problems[0])


def test_a_file_that_is_not_there_is_a_problem_in_words(path: Path) -> None:
    assert "cannot be opened" in verify(path, KEY).problems[0]
    assert not path.exists()


def test_a_file_of_an_older_release_is_a_problem_in_words(path: Path) -> None:
    path.touch()
    connection = connect_writer(path, KEY)
    migrate(connection, path, MIGRATIONS[:1])
    connection.close()
    assert "older release" in verify(path, KEY).problems[0]


async def test_a_store_in_use_can_be_verified(path: Path) -> None:
    await filled(path)
    async with open_store(path, KEY, clock=ManualClock()) as store:
        await store.commit([put("now.md", b"in the log")])
        assert verify(path, KEY).is_whole
        await store.commit([put("now.md", b"goes on")])


def test_a_report_without_problems_is_whole() -> None:
    assert Report(problems=()).is_whole
    assert not Report(problems=("x.",)).is_whole
