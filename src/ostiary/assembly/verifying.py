"""All of a house that can be checked: the store, the other databases, the index against the documents, the key, the backups."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary.adapters.store.sqlite.connection import connect_reader, fetch
from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.adapters.store.sqlite.verify import Progress, Report, verify
from ostiary.assembly.config.paths import CREDENTIALS
from ostiary.assembly.vault import SEARCH, STORE
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    import apsw

    from ostiary.assembly.config.schema import Config

_MOST = 20
_SESSIONS = "_sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """`problems` are sentences, none if all is whole. `backups` counts those that were read; None: there is no folder of them."""

    problems: tuple[str, ...]
    store: Report
    indexed: int
    backups: int | None = None


def verify_house(home: Path, key: bytes, config: "Config", progress: Progress, *, with_backups: bool = True) -> Verified:
    """Reads only, also beside a gateway that writes. Whatever has happened to the files is a sentence, not an exception."""
    from ostiary.assembly.audit import HEADS, read_checkpoints

    checkpoints = read_checkpoints(home / HEADS)
    heads = checkpoints.heads if checkpoints is not None else ()
    store = verify(home / STORE, key, progress=progress, heads=heads)
    problems = list(store.problems)
    if checkpoints is not None and checkpoints.problem:
        problems.append(checkpoints.problem)
    for path, its_key in _others(home, key).items():
        progress(path.name, 0, 1)
        problems += _pages(path, its_key)
    indexed, lost = (0, []) if store.problems else _index(home, key, progress)
    problems += lost
    problems += _key_places(home, config)
    backups: int | None = None
    if with_backups:
        backups, damaged = _backups(home, key, config, progress)
        problems += damaged
    return Verified(problems=tuple(problems), store=store, indexed=indexed, backups=backups)


def _others(home: Path, key: bytes) -> Mapping[Path, bytes]:
    from ostiary.assembly.credential_key import credentials_key
    from ostiary.assembly.keys import GATEWAY_DB

    found = {home / GATEWAY_DB: key}
    try:
        found[home / CREDENTIALS] = credentials_key(home, key)
    except OstiaryError:
        # Opened with a wrong key it is a problem with a sentence of its own.
        found[home / CREDENTIALS] = bytes(32)
    return {path: its_key for path, its_key in found.items() if path.exists() and path.stat().st_size}


def _pages(path: Path, key: bytes) -> Iterator[str]:
    try:
        connection = connect_reader(path, key)
        try:
            ((told,),) = fetch(connection, "PRAGMA integrity_check(1)")
        finally:
            connection.close()
    except Exception as error:  # noqa: BLE001 - whatever it is, the owner wants a sentence
        told_error = explain(error, path)
        yield f"{told_error}. {told_error.hint}".rstrip()
        return
    if told != "ok":
        yield f"{path} is damaged ({str(told).splitlines()[0]}). Restore the last backup."


def _index(home: Path, key: bytes, progress: Progress) -> tuple[int, list[str]]:
    """How many documents the index knows, and where it differs from them. It is read first: what is written meanwhile is
    newer in the store than in the index, never the other way round."""
    path = home / SEARCH
    if not path.exists() or not path.stat().st_size:
        return 0, []
    progress("search index", 0, 1)
    damaged = list(_pages(path, key))
    if damaged:
        again = "It is made again from the documents: ostiary memory reindex"
        return 0, [f"{sentence} {again}" for sentence in damaged]
    index = connect_reader(path, key)
    store = connect_reader(home / STORE, key)
    try:
        live = fetch(index, "SELECT id, documents_place FROM generations WHERE is_live = 1")
        if not live:
            return 0, []
        generation, place = live[0]
        rows = fetch(
            index,
            "SELECT collection, path, version FROM documents WHERE generation = ? AND collection <> ?",
            (generation, _SESSIONS),
        )
        known = {(collection, name): int(version) for collection, name, version in rows}
        differing = _differing(store, known, int(place))
        problems = list(islice(differing, _MOST))
        more = sum(1 for _ in differing)
    finally:
        index.close()
        store.close()
    if more:
        problems.append(f"There are {more} more differences between the index and the documents.")
    if problems:
        problems.append("The index is made again from the documents: ostiary memory reindex")
    progress("search index", 1, 1)
    return len(known), problems


def _differing(store: "apsw.Connection", known: dict[tuple[str, str], int], place: int) -> Iterator[str]:
    """`known` is emptied of what the store has."""
    left = dict(known)
    for collection, path, newest, head, living, erased in store.execute(
        "SELECT d.collection, d.path, d.newest, d.head, d.living, v.erased FROM documents d JOIN versions v ON v.id = d.head"
    ):
        indexed = left.pop((collection, path), None)
        if head > place:
            # Not read into the index yet, which is no fault.
            continue
        if living and not erased and indexed is None:
            yield f"{collection}:{path} is not in the search index."
        elif living and not erased and indexed is not None and indexed != newest:
            yield f"The search index holds version {indexed} of {collection}:{path}, the newest is {newest}."
        elif indexed is not None and not living:
            yield f"{collection}:{path} was deleted and is still in the search index."
    for collection, path in left:
        yield f"The search index holds {collection}:{path}, which there is not."


def _key_places(home: Path, config: "Config") -> Iterator[str]:
    from ostiary.assembly.keys import sources, wished_source

    present, wished = sources(home), wished_source(home, config)
    if len(present) > 1:
        yield f"The vault's key is kept in more than one place: {', '.join(present)}. Run: ostiary vault key move --to {wished}"
    elif present and present[0] != wished:
        move = f"Run: ostiary vault key move --to {wished}"
        yield f"vault.key.source is {wished}, but the key is kept elsewhere ({present[0]}). {move}"


def _backups(home: Path, key: bytes, config: "Config", progress: Progress) -> tuple[int | None, list[str]]:
    from ostiary.adapters.backup.folder import is_folder
    from ostiary.adapters.backup.reading import check_all, open_shelf
    from ostiary.assembly.backup import folder_of
    from ostiary.assembly.backup_key import own_backup_key

    place = folder_of(home, config)
    if not is_folder(place):
        return None, []
    try:
        own = own_backup_key(home, key)
        with open_shelf(place) as shelf:
            if own is None or own.seal.house != shelf.header.house:
                return None, [f"{place} holds the backups of another house."]
            ids = list(shelf.manifests())
            return len(ids), check_all(shelf, own.seal, ids, progress)
    except (OstiaryError, OSError) as error:
        return None, [f"The backups in {place} cannot be read: {error}."]
