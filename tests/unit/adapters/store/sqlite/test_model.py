"""Any sequence of document writes, beside a model of a few lines that does the same in memory."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.adapters.store.sqlite import open_store
from ostiary.adapters.store.sqlite.verify import verify
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.store import EraseVersions, Extend, Move, Put, Restore, Tombstone, Write
from ostiary.kit.clock import ManualClock
from tests.unit.adapters.store.conftest import KEY

ERASED = object()
History = list[bytes | object | None]
Model = dict[str, History]

_WHO = {"at": 1.0, "author": "owner"}
_PATHS = st.sampled_from(["a.md", "b.md", "A.md", "a.md/c", "d/e"])
_CONTENTS = st.sampled_from([b"", b"one", b"two", b"x" * 1_100_000])
_VERSIONS = st.integers(1, 4)


def _build(kind: type, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Write]:
    return st.builds(lambda **given: kind(collection="notes", **given), **fields)


_WRITES: st.SearchStrategy[Write] = st.one_of(
    _build(Put, path=_PATHS, content=_CONTENTS, **{name: st.just(value) for name, value in _WHO.items()}),
    _build(Extend, path=_PATHS, content=_CONTENTS, **{name: st.just(value) for name, value in _WHO.items()}),
    _build(Move, path=_PATHS, to=_PATHS, **{name: st.just(value) for name, value in _WHO.items()}),
    _build(Restore, path=_PATHS, version=_VERSIONS, **{name: st.just(value) for name, value in _WHO.items()}),
    _build(Tombstone, path=_PATHS, **{name: st.just(value) for name, value in _WHO.items()}),
    _build(EraseVersions, path=_PATHS, versions=st.lists(_VERSIONS, max_size=2, unique=True).map(tuple)),
)


def living(model: Model) -> dict[str, bytes]:
    return {path: history[-1] for path, history in model.items() if isinstance(history[-1], bytes)}


def applied(model: Model, writes: list[Write]) -> Model | None:
    """The model after the unit, None if the unit is to be refused."""
    after = {path: list(history) for path, history in model.items()}
    if not all(one_applied(after, write) for write in writes):
        return None
    born = living(after).keys() - living(model).keys()
    return after if all(fits(path, living(after)) for path in born) else None


def fits(path: str, others: dict[str, bytes]) -> bool:
    folded = path.lower()
    rest = [other.lower() for other in others if other != path]
    return not any(other == folded or other.startswith(f"{folded}/") or folded.startswith(f"{other}/") for other in rest)


def one_applied(model: Model, write: Write) -> bool:
    alive = living(model)
    match write:
        case Put(path=path, content=content):
            model.setdefault(path, []).append(content)
        case Extend(path=path, content=content):
            model.setdefault(path, []).append(alive.get(path, b"") + content)
        case Move(path=path, to=to):
            model.setdefault(to, [] if path in alive and to not in alive else [None])
            model.setdefault(path, [None]).append(None)
            model[to].append(alive.get(path))
            return path in alive and to not in alive
        case Restore(path=path, version=version):
            old = dict(enumerate(model.get(path, []), 1)).get(version)
            model.setdefault(path, []).append(old)
            return isinstance(old, bytes)
        case Tombstone(path=path):
            model.setdefault(path, []).append(None)
            return path in alive
        case EraseVersions(path=path, versions=versions):
            history = model.get(path, [])
            for place, content in enumerate(history):
                if isinstance(content, bytes) and (not versions or place + 1 in versions):
                    history[place] = ERASED
            return bool(history) and all(version <= len(history) for version in versions)
    return True


async def run(path: Path, units: list[list[Write]]) -> None:
    model: Model = {}
    async with open_store(path, KEY, clock=ManualClock()) as store:
        for unit in units:
            expected = applied(model, unit)
            try:
                await store.commit(unit)
            except (BadInput, Conflict):
                assert expected is None
            else:
                assert expected is not None
                model = expected
        listed = await store.documents.list("notes")
        assert [each.path for each in listed] == sorted(living(model))
        for name, history in model.items():
            for number, content in enumerate(history, 1):
                found = await store.documents.get("notes", name, version=number)
                kept = content if content is not None else b""
                assert (None if found is None else found[1]) == (None if content is ERASED else kept)
    assert verify(path, KEY).problems == ()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(_WRITES, min_size=1, max_size=3), max_size=8))
def test_whatever_is_written_the_store_says_what_a_simple_model_says(units: list[list[Write]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "store.db", units))
