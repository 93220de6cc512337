"""Finding and reading notes, within what the person may see."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Found, Passage, Reach, Search
from ostiary.contracts.store import Documents, DocumentVersion
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.paths import COLLECTION, SESSIONS, UNCONFIRMED, place_of
from ostiary.core.memory.reach import may_read, reach, session_reach
from ostiary.core.memory.rules import MemoryRules
from ostiary.core.memory.text import visible

MOST_RESULTS = 20
_PRIVATE = Label(trust=Trust.SYSTEM, private=True)
_UNKNOWN = Label(trust=Trust.UNTRUSTED, private=True)
_SHOWN_SOURCES = 4


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
        seen = reach(principal, session, is_private_place=is_private, rules=rules)
        if not seen.collections:
            return Recalled(text="Memory is not searched in groups: others read along here.", passages=(), label=_PRIVATE)
        folder = folder_of(session.agent)
        notes, notices = await self._notes(query, seen, folder, limit)
        said = session_reach(principal, session, is_private_place=is_private, rules=rules)
        if said.collections:
            heard = await self._search.query(query, reach=said, limit=limit)
            notices = tuple(dict.fromkeys((*notices, *heard.notices)))
            notes = _beside(notes, heard.passages, limit)
        notes = tuple(map(_narrowed, notes))
        text = _shown(notes, folder, notices, cites=rules.cites(is_private))
        return Recalled(text=text, passages=notes, label=label_of(notes), notices=notices)

    async def _notes(self, query: str, seen: Reach, folder: str, limit: int) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
        """What nobody vouches for is shown where it matches best, not as a filler: a conversation that reads it counts as one
        that has read text from outside. Where it matches less it is named."""
        found = await self._search.query(query, reach=seen, limit=limit)
        doubtful = [each for each in found.passages if _is_unconfirmed(each, folder)]
        if not doubtful:
            return found.passages, found.notices
        sure = [each.score for each in found.passages if each not in doubtful]
        best = max(sure, default=0.0)
        if all(each.score <= best for each in doubtful):
            confirmed = replace(seen, exclude=(*seen.exclude, f"{folder}{UNCONFIRMED}**"))
            paths = ", ".join(dict.fromkeys(_named(each, folder) for each in doubtful))
            found = await self._search.query(query, reach=confirmed, limit=limit)
            return found.passages, (*found.notices, f"Not confirmed by the owner and not shown: {paths}")
        shown = tuple(each for each in found.passages if each not in doubtful or each.score > best)
        return shown, found.notices

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


def _beside(notes: tuple[Passage, ...], said: tuple[Passage, ...], limit: int) -> tuple[Passage, ...]:
    """Scores of two searches cannot be compared: conversations get a third of the places, and those that notes leave."""
    room = max(limit // 3, limit - len(notes))
    heard = said[:room]
    return (*notes[: limit - len(heard)], *heard)


def _narrowed(passage: Passage) -> Passage:
    """The lines that are shown, not those around them: an answer is traced to its line by counting from the first."""
    before, found, _ = passage.text.partition(passage.snippet)
    if not found:
        return passage
    start = passage.start + before.count("\n")
    return replace(passage, start=start, end=start + found.count("\n"), text=found)


def _is_unconfirmed(passage: Passage, folder: str) -> bool:
    return passage.collection == COLLECTION and place_of(passage.path.removeprefix(folder)) == "unconfirmed"


def label_of(passages: Sequence[Passage]) -> Label:
    """Memory is private, and text of unknown origin is untrusted."""
    label = _PRIVATE
    for passage in passages:
        label = label.join(passage.label or _UNKNOWN)
    return label


def _shown(passages: Sequence[Passage], folder: str, notices: tuple[str, ...], *, cites: bool) -> str:
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
    elif _is_unconfirmed(passage, folder):
        marks.append("unconfirmed")
    if label.trust in (Trust.CONTACT, Trust.UNTRUSTED):
        whom = ", ".join(" ".join(visible(source).split())[:60] for source in label.sources[:_SHOWN_SOURCES])
        marks.append(f"from {whom or 'unknown'}")
    return f" ({', '.join(marks)})" if marks else ""
