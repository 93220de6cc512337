"""What must hold between documents, their versions and the contents: each broken rule is a sentence."""

from collections.abc import Iterator

import apsw

_OF = "'version ' || v.version || ' of ' || d.path || ' in ' || d.collection"
_KEPT = "v.digest <> '' AND v.erased = 0"
_USES = "(SELECT digest, count(*) AS uses FROM versions v WHERE v.digest <> '' AND v.erased = 0 GROUP BY digest)"

# Each gives rows of one word, which goes into the sentence.
_RULES = (
    (
        f"SELECT {_OF} FROM versions v JOIN documents d ON d.id = v.document"  # noqa: S608
        f" WHERE {_KEPT} AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.digest = v.digest)",
        "The content of {} is missing although nobody erased it.",
    ),
    (
        f"SELECT {_OF} FROM versions v JOIN documents d ON d.id = v.document JOIN blobs b ON b.digest = v.digest"  # noqa: S608
        f" JOIN held h ON h.blob = b.id WHERE {_KEPT} AND h.size <> v.size",
        "The size of {} is not that of its content.",
    ),
    (
        "SELECT d.path || ' in ' || d.collection FROM documents d JOIN (SELECT document, count(*) AS count,"
        " min(version) AS first, max(version) AS last FROM versions GROUP BY document) v ON v.document = d.id"
        " WHERE v.first <> 1 OR v.count <> v.last OR v.last <> d.newest",
        "The versions of {} do not run from 1 to the newest without a gap.",
    ),
    (
        "SELECT d.path || ' in ' || d.collection FROM documents d LEFT JOIN versions v ON v.id = d.head"
        " WHERE v.document IS NOT d.id OR v.version IS NOT d.newest OR d.living <> (v.digest <> '' AND v.erased = 0)",
        "The newest version of {} is not the one it says.",
    ),
    (
        "SELECT substr(b.digest, 1, 12) || '…' FROM blobs b LEFT JOIN held h ON h.blob = b.id"  # noqa: S608
        f" LEFT JOIN {_USES} u ON u.digest = b.digest WHERE h.blob IS NULL OR h.uses <> coalesce(u.uses, 0)",
        "It is not known rightly how many versions need the content {}.",
    ),
    (
        "SELECT value || ' instead of ' || held FROM (SELECT value, (SELECT coalesce(sum(size), 0) FROM held WHERE is_split = 0)"
        " + (SELECT coalesce(sum(length(content)), 0) FROM pieces) AS held FROM counters WHERE name = 'stored')"
        " WHERE value <> held",
        "The bytes of all contents are counted as {}.",
    ),
)


def problems(connection: apsw.Connection) -> Iterator[str]:
    """Raises apsw.Error for what cannot be read."""
    for sql, sentence in _RULES:
        for (word,) in connection.execute(sql):
            yield sentence.format(word)
