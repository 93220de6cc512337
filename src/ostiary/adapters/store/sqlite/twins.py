"""Paths that people's disks cannot hold side by side: twins but for case or Unicode form, and a file where a folder is.

Checked at the end of a unit, so that one which moves a document from the one name to the other may do so in any order.
"""

from functools import lru_cache

from ostiary.adapters.store.paths import fold, folders_of
from ostiary.adapters.store.sqlite.writer import Transaction
from ostiary.contracts.errors import BadInput


def check(transaction: Transaction) -> None:
    """Raises BadInput naming what is there already. Looks at what came to life in this unit, and at living documents alone."""
    for collection, path in transaction.created:
        folded = fold(path)
        names = (folded, *folders_of(folded))
        inside = (f"{folded}/", f"{folded}0")
        each = (collection, *names, path, collection, *inside)
        found = transaction.row(_sql(len(names)), each * 2)
        if found is not None and _lives(transaction, collection, path):
            raise BadInput(_reason(path, folded, found[0]), hint="Choose another name, or move the other document away first.")


def _lives(transaction: Transaction, collection: str, path: str) -> bool:
    """Whether it is still there at the end of the unit that brought it to life."""
    row = transaction.row("SELECT living FROM documents WHERE collection = ? AND path = ?", (collection, path))
    return row is not None and bool(row[0])


@lru_cache(maxsize=64)
def _sql(names: int) -> str:
    marks = ", ".join("?" * names)
    looks = [
        f"SELECT path FROM documents WHERE collection = ? AND {column} IN ({marks}) AND living = 1 AND path <> ?"  # noqa: S608
        f" UNION ALL SELECT path FROM documents WHERE collection = ? AND {column} >= ? AND {column} < ? AND living = 1"
        for column in ("path", "folded")
    ]
    return f"{' UNION ALL '.join(looks)} LIMIT 1"


def _reason(path: str, folded: str, there: str) -> str:
    other = fold(there)
    if other == folded:
        return f"{path!r} is there already as {there!r}, and many disks cannot hold both"
    if other.startswith(f"{folded}/"):
        return f"{path!r} cannot be a document: it is the folder of {there!r}"
    return f"{path!r} cannot be written: {there!r} is a document, not a folder"
