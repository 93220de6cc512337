"""Finding and reading notes, within what the person may see."""

from collections.abc import Callable

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Found, Passage, Reach, Search
from ostiary.contracts.store import Documents, DocumentVersion
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.paths import COLLECTION, SESSIONS, place_of
from ostiary.core.memory.reach import may_read, reach, session_reach
from ostiary.core.memory.rules import MemoryRules
from ostiary.core.memory.text import visible

MOST_RESULTS = 20
_PRIVATE = Label(trust=Trust.SYSTEM, private=True)
_UNKNOWN = Label(trust=Trust.UNTRUSTED, private=True)
_SHOWN_SOURCES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """`text` is for the model, `passages` for people; paths are relative to the agent's folder. `label` joins those of what
    was found."""

    text: str
    passages: tuple[Passage, ...]
    label: Label
    notices: tuple[str, ...] = ()


class Recall:
    def __init__(
        self,
        *,
        documents: Documents,
        search: Search,
        rules: Callable[[], MemoryRules],
        is_private: Callable[[SessionKey], bool],
    ) -> None:
        self._documents = documents
        self._search = search
        self._rules = rules
        self._is_private = is_private

    async def find(self, query: str, principal: Principal, session: SessionKey, *, limit: int = 0) -> Recalled:
        """Raises BadInput (an empty query), StoreError."""
        rules, is_private = self._rules(), self._is_private(session)
        limit = min(limit or rules.limit, MOST_RESULTS)
        if not query.strip():
            raise BadInput("What shall be looked for? The query is empty.")
        asked = [each(principal, session, is_private_place=is_private, rules=rules) for each in (reach, session_reach)]
        found = [await self._search.query(query, reach=each, limit=limit) for each in asked if each.collections]
        if not found:
            return Recalled(text="Memory is not searched in groups: others read along here.", passages=(), label=_PRIVATE)
        passages = sorted((each for one in found for each in one.passages), key=lambda each: -each.score)[:limit]
        notices = tuple(dict.fromkeys(notice for one in found for notice in one.notices))
        folder = folder_of(session.agent)
        text = _shown(passages, folder, notices, cites=rules.cites(is_private))
        return Recalled(text=text, passages=tuple(passages), label=label_of(passages), notices=notices)

    async def everything(self, query: str, *, agent: str = "main", limit: int = 6, sessions: bool = False) -> Found:
        """The owner's own search, from the terminal or the page. Raises as `find`."""
        folder = folder_of(agent)
        if sessions:
            return await self._search.query(query, reach=Reach(collections=(SESSIONS,)), limit=limit)
        others = () if folder else ("agents/**",)
        return await self._search.query(
            query, reach=Reach(collections=(COLLECTION,), include=(f"{folder}**",), exclude=others), limit=limit
        )

    async def open(self, path: str, principal: Principal, session: SessionKey) -> tuple[DocumentVersion, bytes] | None:
        """None if there is no such note, or none for this person here: they look the same. Raises StoreError."""
        rules, is_private = self._rules(), self._is_private(session)
        if not may_read(path, principal, session, is_private_place=is_private, rules=rules):
            return None
        return await self._documents.get(COLLECTION, folder_of(session.agent) + path)


def label_of(passages: "list[Passage] | tuple[Passage, ...]") -> Label:
    """Memory is private, and text of unknown origin is untrusted."""
    label = _PRIVATE
    for passage in passages:
        label = label.join(passage.label or _UNKNOWN)
    return label


def _shown(passages: list[Passage], folder: str, notices: tuple[str, ...], *, cites: bool) -> str:
    if not passages:
        return "\n".join(("Nothing in memory matches.", *(f"[{notice}]" for notice in notices)))
    parts = [_passage(passage, folder) for passage in passages]
    if cites:
        first = passages[0]
        parts.append(f'[Cite what you use, like "Source: {_named(first, folder)}#L{first.start}-L{first.end}".]')
    parts.extend(f"[{notice}]" for notice in notices)
    return "\n\n".join(parts)


def _passage(passage: Passage, folder: str) -> str:
    """The lines stand behind `>`, so that none of them can pass for a result of its own."""
    lines = "\n".join(f"> {line}" for line in visible(passage.snippet).split("\n"))
    return f"{_named(passage, folder)}:{passage.start}-{passage.end}{_marker(passage, folder)}\n{lines}"


def _named(passage: Passage, folder: str) -> str:
    name = visible(passage.path.removeprefix(folder) if passage.collection == COLLECTION else passage.path)
    return " ".join(name.split())


def _marker(passage: Passage, folder: str) -> str:
    label = passage.label or _UNKNOWN
    marks = []
    if passage.collection == SESSIONS:
        marks.append("said in a conversation")
    elif place_of(passage.path.removeprefix(folder)) == "unconfirmed":
        marks.append("unconfirmed")
    if label.trust in (Trust.CONTACT, Trust.UNTRUSTED):
        whom = ", ".join(" ".join(visible(source).split())[:60] for source in label.sources[:_SHOWN_SOURCES])
        marks.append(f"from {whom or 'unknown'}")
    return f" ({', '.join(marks)})" if marks else ""
