"""The vault and the memory: durable writes, search at size, a new note found, a whole index, a live tree, evidence found."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from bench.processes import Broken
from bench.rows import Row
from bench.stage import Stage
from bench.stats import median

if TYPE_CHECKING:
    from ostiary.contracts.search import Search
    from ostiary.contracts.store import Put, Store
    from ostiary.contracts.workspace import Workspace, WorkspaceLease

_MEMORY = "_memory"
_WRITERS = 16
_DOCUMENT = 4_096
_WARM = 10
_FILES = 1_000
_FILE_BYTES = 50_000
_CHANGED = 3
_KEY = bytes(range(32))


def vault(stage: Stage) -> Iterator[Row]:
    yield from _puts(stage)
    yield from _searching(stage)
    yield from _live_tree(stage)
    yield from _recall(stage)


def _folder(stage: Stage) -> Path:
    return Path(tempfile.mkdtemp(prefix="vault-", dir=stage.work))


def _puts(stage: Stage) -> Iterator[Row]:
    """One commit per document: a writer sends its next one when the last is on the disk."""
    from ostiary.adapters.store.sqlite import open_store
    from ostiary.assembly.machine import SystemClock
    from ostiary.contracts.store import Put

    each = 60 if stage.quick else 400

    async def run() -> float:
        async with open_store(_folder(stage) / "store.db", _KEY, clock=SystemClock()) as store:

            async def write(writer: int) -> None:
                for number in range(each):
                    path = f"{writer:02d}/{number:04d}.txt"
                    await store.commit(
                        [Put(collection="bench", path=path, content=os.urandom(_DOCUMENT), at=0.0, author="bench")]
                    )

            began = time.perf_counter()
            async with anyio.create_task_group() as group:
                for writer in range(_WRITERS):
                    group.start_soon(write, writer)
            wall = time.perf_counter() - began
            if sum(use.documents for use in await store.documents.collections()) != _WRITERS * each:
                raise Broken("not every document is there")
            return _WRITERS * each / wall

    rates = []
    for number in range(stage.rounds):
        stage.say(f"durable puts {number + 1}/{stage.rounds}")
        rates.append(anyio.run(run))
    yield Row(
        "put_rate", f"put of 4 KB, durable, {_WRITERS} writers", "puts/s", tuple(rates), f"{each} documents each, one commit each"
    )


def _searching(stage: Stage) -> Iterator[Row]:
    """A quick run has smaller indexes: its rows say so and are held against no bar."""
    small, large = (300, 1_500) if stage.quick else (1_000, 10_000)
    yield from _at_size(stage, small, named="" if stage.quick else "search_10k")
    yield from _at_size(stage, large, named="" if stage.quick else "search_100k", whole="" if stage.quick else "index_10k")


def _at_size(stage: Stage, count: int, *, named: str, whole: str | None = None) -> Iterator[Row]:
    stage.say(f"search over {count} notes")
    ran = anyio.run(_searched, stage, count)
    seconds, chunks, answers, fresh = ran.indexing, ran.chunks, ran.answers, ran.fresh
    size = f"{chunks:,} chunks"
    if whole is not None:
        note = f"{size}, vectors included, from documents that are stored already; CPU {ran.indexing_cpu:.1f} s"
        yield Row(whole or "index_quick", f"index {count:,} notes, embedded vectors", "s", (seconds,), note)
    note = f"{len(answers)} questions of the evaluation, index in memory; CPU {1000 * ran.answer_cpu:.1f} ms each"
    yield Row(named or f"search_{count}", f"search, {size}, encrypted, p50", "ms", (1000 * median(answers),), note)
    if whole is None:
        note = f"{len(fresh)} notes one by one, from before the commit until a query gives it, {size}"
        yield Row("fresh_note", "new note searchable", "ms", (1000 * median(fresh),), note)


@dataclass(frozen=True, slots=True)
class _Searched:
    """Seconds: to index, of each query, until each new note was found; and of CPU, which a busy machine changes less."""

    chunks: int
    indexing: float
    indexing_cpu: float
    answers: list[float]
    answer_cpu: float
    fresh: list[float]


async def _searched(stage: Stage, count: int) -> _Searched:
    """Raises Broken."""
    from bench.corpus import many_notes
    from ostiary.adapters.search import Embedded, open_search
    from ostiary.adapters.store.sqlite import open_store
    from ostiary.assembly.machine import SystemClock

    clock = SystemClock()
    folder = _folder(stage)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(folder / "store.db", _KEY, clock=clock))
        puts = [_note(path, text) for path, text in many_notes(count)]
        for start in range(0, count, 500):
            await store.commit(puts[start : start + 500])
        embedder = Embedded(clock=clock)
        # The weights are read by the first use in a process; that is not indexing.
        await embedder.embed(["warm"], "query")
        opening = open_search(folder / "search.db", _KEY, store=store, embedder=embedder, clock=clock)
        search = await stack.enter_async_context(opening)
        # The first look makes an empty index; the one that is built beside it takes its place when it is whole.
        await search.status()
        began, cpu = time.perf_counter(), time.process_time()
        await search.reindex()
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        status = await search.status()
        if status.documents != count or status.waiting:
            raise Broken(f"{status.documents} of {count} notes are in the index")
        answers, each = await _answered(search, 40 if stage.quick else 200)
        fresh = await _found(store, search, 5 if stage.quick else 30)
        return _Searched(status.chunks, seconds, cpu, answers, each, fresh)


def _note(path: str, text: str) -> "Put":
    from ostiary.contracts.store import Put

    return Put(collection=_MEMORY, path=path, content=text.encode(), at=time.time(), author="bench")


async def _answered(search: "Search", count: int) -> tuple[list[float], float]:
    """Seconds of each query, and of CPU on the average; the first few are not counted."""
    from bench.corpus import natural_questions
    from ostiary.contracts.search import Reach

    taken = []
    cpu = 0.0
    for number, question in enumerate(natural_questions(_WARM + count)):
        if number == _WARM:
            cpu = time.process_time()
        began = time.perf_counter()
        found = await search.query(question, reach=Reach(collections=(_MEMORY,)))
        taken.append(time.perf_counter() - began)
        if found.mode != "hybrid" or found.notices or not found.passages:
            raise Broken(f"{question}: {found.mode}, {found.notices}, {len(found.passages)} passages")
    return taken[_WARM:], (time.process_time() - cpu) / count


async def _found(store: "Store", search: "Search", count: int) -> list[float]:
    from ostiary.contracts.search import Reach

    taken = []
    for number in range(count):
        path, word = f"new/{number}.md", f"quokka{number}zebu"
        note = _note(path, f"# News\n\nThe {word} was seen in the garden behind the house this morning.\n")
        began = time.perf_counter()
        await store.commit([note])
        answer = await search.query(f"where was the {word} seen", reach=Reach(collections=(_MEMORY,)))
        taken.append(time.perf_counter() - began)
        if path not in {passage.path for passage in answer.passages}:
            raise Broken(f"{path} was not found by the first query after its commit")
    return taken


def _live_tree(stage: Stage) -> Iterator[Row]:
    stage.say("live tree")
    count = 200 if stage.quick else _FILES
    up, captured = anyio.run(_leased, stage, count, 3 if stage.quick else 10)
    both = [one + other for one, other in zip(up, captured, strict=True)]
    megabytes = count * _FILE_BYTES // 1_000_000
    what = f"bring up to date + capture, {count:,} files {megabytes} MB, {_CHANGED} changed, live tree"
    note = f"up to date {1000 * median(up):.1f} ms, capture {1000 * median(captured):.1f} ms, medians of {len(both)}"
    yield Row("live_tree_quick" if stage.quick else "live_tree", what, "ms", (1000 * median(both),), note)


async def _leased(stage: Stage, count: int, rounds: int) -> tuple[list[float], list[float]]:
    """Each round three documents change in the store before the lease, and three other files in the tree before the capture;
    their writing is not counted."""
    from ostiary.adapters.store.sqlite import open_store
    from ostiary.adapters.tools.diffs import unified
    from ostiary.adapters.workspace import DocumentWorkspace
    from ostiary.assembly.machine import SystemClock
    from ostiary.contracts.identity import SessionKey
    from ostiary.core.agent.bootstrap import folder_of

    session = SessionKey("main", "main")
    folder = _folder(stage)
    up: list[float] = []
    captured: list[float] = []
    async with open_store(folder / "store.db", _KEY, clock=SystemClock()) as store:
        for start in range(0, count, 50):
            await store.commit([_file(number) for number in range(start, start + 50)])
        workspace = DocumentWorkspace(
            store.documents,
            folder / "workspaces",
            folder_of=folder_of,
            diff=lambda before, after, path, limit: unified(before, after, path, limit=limit),
            commit=store.commit,
        )
        async with workspace.lease(session, access="rw"):
            pass
        for number in range(rounds):
            await store.commit([_file(_CHANGED * number + step) for step in range(_CHANGED)])
            began = time.perf_counter()
            async with workspace.lease(session, access="rw") as lease:
                up.append(time.perf_counter() - began)
                changed = [_file(count - 1 - _CHANGED * number - step) for step in range(_CHANGED)]
                captured.append(await _captured(store, workspace, lease, changed))
    return up, captured


def _file(number: int) -> "Put":
    from ostiary.contracts.content import Label, Trust
    from ostiary.contracts.store import Put

    path, content, label = f"tree/{number // 50:02d}/file-{number:04d}.bin", os.urandom(_FILE_BYTES), Label(trust=Trust.OWNER)
    return Put(collection="_workspace", path=path, content=content, at=time.time(), author="bench", label=label)


async def _captured(store: "Store", workspace: "Workspace", lease: "WorkspaceLease", changed: "list[Put]") -> float:
    from ostiary.contracts.content import Label, Trust

    for each in changed:
        (Path(lease.directory) / each.path).write_bytes(each.content)
    began = time.perf_counter()
    capture = await workspace.capture(lease, author="bench", turn="turn", at=time.time(), label=Label(trust=Trust.OWNER))
    seconds = time.perf_counter() - began
    if {change.path for change in capture.changes} != {each.path for each in changed}:
        raise Broken(f"the capture brought {[change.path for change in capture.changes]}")
    await store.commit(capture.writes)
    return seconds


def _recall(stage: Stage) -> Iterator[Row]:
    """The set that search is tuned on; the bar is for a public one that is measured from outside."""
    from evals.memory.questions import STYLES, sets
    from evals.memory.recall import Found, recall
    from evals.memory.run import OURS, measure

    stage.say("evidence recall")
    names = sets()[:2] if stage.quick else sets()

    async def run() -> dict[str, list[tuple[str, Found]]]:
        answers = await measure(names, merged=False)
        return {way: [(question.style, flags) for question, flags in rows] for way, rows in answers.items()}

    answers = anyio.run(run)
    part = f", {len(names)} sets of {len(sets())}" if stage.quick else ""
    for style in STYLES:
        by_way = {way: recall(flags for each, flags in rows if each == style) for way, rows in answers.items()}
        ours = by_way.pop(OURS)
        note = "; ".join(f"{way} {each.any:.3f}/{each.all:.3f}" for way, each in by_way.items())
        what = f"evidence found, {ours.questions} {style} questions{part}"
        yield Row(f"recall_any_{style}", f"{what}: any", "", (ours.any,), note)
        yield Row(f"recall_all_{style}", f"{what}: all", "", (ours.all,))
