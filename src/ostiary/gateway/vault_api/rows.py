"""How versions and passages are shown."""

from ostiary.contracts.search import Passage
from ostiary.contracts.store import DocumentVersion
from ostiary.gateway.showing import Redact


def row(version: DocumentVersion) -> dict[str, object]:
    """`digest` is empty where the version says "deleted"; `trust` where nobody said who vouches for it."""
    return {
        "path": version.path,
        "version": version.version,
        "digest": version.digest,
        "size": version.size,
        "at": version.at,
        "author": version.author,
        "turn": version.turn,
        "trust": "" if version.label is None else str(version.label.trust),
        "sources": [] if version.label is None else list(version.label.sources),
        "executable": version.executable,
        "erased": version.erased,
    }


def hit(passage: Passage, words: Redact) -> dict[str, object]:
    return {
        "collection": passage.collection,
        "path": passage.path,
        "start": passage.start,
        "end": passage.end,
        "score": passage.score,
        "snippet": words(passage.snippet),
        "text": words(passage.text),
        "why": list(passage.why),
        "version": passage.version,
        "at": passage.at,
        "trust": "" if passage.label is None else str(passage.label.trust),
    }
