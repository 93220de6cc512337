"""Content of documents that goes for ever. What remains is that there was a version, and its digest."""

from ostiary.adapters.store.limits import StoreLimits
from ostiary.adapters.store.paths import check_collection, check_path
from ostiary.adapters.store.sqlite import blobs
from ostiary.adapters.store.sqlite.documents import head_of
from ostiary.adapters.store.sqlite.writer import Transaction, Unit
from ostiary.contracts.errors import BadInput
from ostiary.contracts.store import EraseBlob, EraseVersions


def erase_versions(write: EraseVersions, _: StoreLimits) -> tuple[Unit, int]:
    """Raises BadInput for a document or a version that is not there; what is erased already stays so."""
    check_collection(write.collection)
    check_path(write.path)
    wanted = frozenset(write.versions)

    def run(transaction: Transaction) -> int:
        head = head_of(transaction, write.collection, write.path)
        rows = transaction.rows("SELECT id, version, digest, erased FROM versions WHERE document = ?", (head.id,))
        missing = sorted(wanted - {row[1] for row in rows})
        if not rows or missing:
            which = f"version {missing[0]} of {write.path!r}" if rows else f"document {write.path!r}"
            raise BadInput(f"There is no {which} in {write.collection!r} to erase")
        chosen = [row for row in rows if row[2] and not row[3] and (not wanted or row[1] in wanted)]
        for place, version, digest, _ in chosen:
            transaction.run("UPDATE versions SET erased = 1 WHERE id = ?", (place,))
            blobs.let_go(transaction, digest)
            if version == head.version:
                transaction.run("UPDATE documents SET living = 0, size = 0 WHERE id = ?", (head.id,))
        if chosen:
            # Also where the content stays for another's sake: an erasure leaves nothing behind in the log.
            transaction.note_erasure(write.collection, write.path)
        return len(chosen)

    return run, 0


def erase_blob(write: EraseBlob, _: StoreLimits) -> tuple[Unit, int]:
    """Nothing happens to a blob that is not there, or that a document version holds."""

    def run(transaction: Transaction) -> int:
        return int(blobs.unpin(transaction, write.digest))

    return run, 0
