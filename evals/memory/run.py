"""`python -m evals.memory.run [--set NAME | --held-out] [--merged] [--misses] [--json FILE]`: evidence recall of memory search.

Each set is stored and indexed in a throwaway house, as notes of `_memory`, and asked through the public search."""

import argparse
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path

import anyio

from evals.memory.baselines import baselines
from evals.memory.questions import HELD_OUT, KINDS, STYLES, Line, Question, notes, questions, sets
from evals.memory.recall import Found, Hit, Recall, found, recall
from ostiary.adapters.search import Embedded, open_search
from ostiary.adapters.store.sqlite import open_store
from ostiary.assembly.machine import SystemClock
from ostiary.contracts.search import Embedder, Reach, Search
from ostiary.contracts.store import Put

LIMIT = 6
OURS = "ostiary"
_COLLECTION = "_memory"
_BATCH = 200
Answers = dict[str, list[tuple[Question, Found]]]
Round = tuple[dict[str, str], list[Question]]


@asynccontextmanager
async def indexed(texts: Mapping[str, str], embedder: Embedder | None, clock: SystemClock) -> AsyncIterator[Search]:
    """A search over these notes, in an encrypted store and index that are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="memory-eval-") as folder:
        key = bytes(range(32))
        async with open_store(Path(folder) / "store.db", key, clock=clock) as store:
            puts = [
                Put(collection=_COLLECTION, path=path, content=text.encode(), at=clock.now(), author="owner")
                for path, text in texts.items()
            ]
            for start in range(0, len(puts), _BATCH):
                await store.commit(puts[start : start + _BATCH])
            async with open_search(Path(folder) / "search.db", key, store=store, embedder=embedder, clock=clock) as search:
                # The first look makes an empty index; the one that is built beside it takes its place when it is whole.
                await search.status()
                await search.reindex()
                yield search


async def ask(search: Search, question: str) -> list[Hit]:
    """Raises ValueError if the answer says that it is not the best one: what it finds would mean nothing."""
    answer = await search.query(question, reach=Reach(collections=(_COLLECTION,)), limit=LIMIT)
    if answer.notices:
        raise ValueError(f"{question}: {' '.join(answer.notices)}")
    return [Hit(each.path, each.start, each.end, len(each.text)) for each in answer.passages]


async def evaluate(
    texts: Mapping[str, str], asked: Sequence[Question], embedder: Embedder, *, compare: bool, query_embedder: Embedder | None
) -> Answers:
    """What each way of searching found of each question's evidence."""
    clock = SystemClock()
    answers: Answers = {OURS: []}
    async with indexed(texts, query_embedder, clock) as search:
        for question in asked:
            answers[OURS].append((question, found(question, await ask(search, question.text))))
    if compare:
        vectors = await embedder.embed([question.text for question in asked], "query")
        for name, answer in (await baselines(texts, embedder, LIMIT)).items():
            pairs = zip(asked, vectors, strict=True)
            answers[name] = [(question, found(question, answer(question.text, vector))) for question, vector in pairs]
    return answers


async def measure(names: Sequence[str], *, merged: bool, compare: bool = True, words_only: bool = False) -> Answers:
    """Over each set by itself, or over one index that holds them all."""
    by_set = {name: [question for question in questions() if question.set == name] for name in names}
    return await _measured(_rounds(by_set, merged=merged), compare=compare, words_only=words_only)


async def measure_held_out(*, compare: bool = True, words_only: bool = False) -> Answers:
    """Over one index of everything, the other sets as well: a house in which most of what is kept is beside the point."""
    texts = {f"{name}/{path}": text for name in sets(HELD_OUT) for path, text in notes(name, HELD_OUT).items()}
    texts |= {f"others/{name}/{path}": text for name in sets() for path, text in notes(name).items()}
    return await _measured([(texts, [_moved(each) for each in questions(HELD_OUT)])], compare=compare, words_only=words_only)


async def _measured(rounds: Sequence[Round], *, compare: bool, words_only: bool) -> Answers:
    embedder = Embedded(clock=SystemClock())
    total: Answers = {}
    for texts, asked in rounds:
        query_embedder = None if words_only else embedder
        part = await evaluate(texts, asked, embedder, compare=compare, query_embedder=query_embedder)
        for way, rows in part.items():
            total.setdefault(way, []).extend(rows)
    return total


def _rounds(by_set: Mapping[str, list[Question]], *, merged: bool) -> list[Round]:
    if not merged:
        return [(notes(name), asked) for name, asked in by_set.items()]
    texts = {f"{name}/{path}": text for name in by_set for path, text in notes(name).items()}
    return [(texts, [_moved(question) for asked in by_set.values() for question in asked])]


def _moved(question: Question) -> Question:
    evidence = tuple(Line(f"{question.set}/{at.path}", at.line) for at in question.evidence)
    return replace(question, evidence=evidence)


def table(answers: Answers) -> str:
    """One row per way of searching, by style and kind; then ours by set."""
    lines = [_row("any / all / first", ["all questions", *STYLES, *KINDS])]
    for way, rows in answers.items():
        styles = [[flags for question, flags in rows if question.style == style] for style in STYLES]
        kinds = [[flags for question, flags in rows if question.kind == kind] for kind in KINDS]
        lines.append(_row(way, [_shown([flags for _, flags in rows]), *map(_shown, styles), *map(_shown, kinds)]))
    lines.append("")
    for name in sorted({question.set for question, _ in answers[OURS]}):
        of_set = [flags for question, flags in answers[OURS] if question.set == name]
        lines.append(_row(name, [f"{_shown(of_set)}  of {len(of_set)}"]))
    return "\n".join(lines)


def _row(head: str, cells: Sequence[str]) -> str:
    return f"{head:<22}" + "".join(f"{cell:<23}" for cell in cells).rstrip()


def _shown(rows: list[Found]) -> str:
    if not rows:
        return "-"
    each = recall(rows)
    return f"{each.any:.3f} / {each.all:.3f} / {each.first:.3f}"


def misses(answers: Answers) -> str:
    """The questions of which some evidence was not found."""
    missed = [(question, was.any) for question, was in answers[OURS] if not was.all]
    return "\n".join(
        f"{'part' if some else 'none'} {question.set} {question.kind}: {question.text} "
        + ", ".join(f"{at.path}:{at.line}" for at in question.evidence)
        for question, some in missed
    )


def as_data(answers: Answers) -> dict[str, dict[str, float]]:
    every: dict[str, Recall] = {way: recall(flags for _, flags in rows) for way, rows in answers.items()}
    return {way: asdict(each) for way, each in every.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evals.memory.run", description="Evidence recall of memory search.")
    parser.add_argument("--set", action="append", choices=sets(), help="only this set; may be given again")
    parser.add_argument("--held-out", action="store_true", help="the questions that no weight was chosen on")
    parser.add_argument("--merged", action="store_true", help="all notes in one index")
    parser.add_argument("--words", action="store_true", help="without vectors")
    parser.add_argument("--no-baselines", action="store_true", help="ours alone, which is quicker")
    parser.add_argument("--misses", action="store_true", help="also list what was not found")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the totals here")
    given = parser.parse_args()

    async def run() -> Answers:
        compare = not given.no_baselines
        if given.held_out:
            return await measure_held_out(compare=compare, words_only=given.words)
        return await measure(given.set or sets(), merged=given.merged, compare=compare, words_only=given.words)

    answers = anyio.run(run)
    print(table(answers))
    if given.misses:
        print("\n" + misses(answers))
    if given.json is not None:
        given.json.write_text(json.dumps(as_data(answers), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
