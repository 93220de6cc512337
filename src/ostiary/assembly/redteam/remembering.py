"""A house whose memory has lost one of its layers, for as long as a proof takes; see `loosened`."""

# mypy: disable-error-code="attr-defined, method-assign, assignment"

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from ostiary.adapters.tools import memory as memory_tools
from ostiary.adapters.tools import vault as vault_tools
from ostiary.assembly import prompting
from ostiary.assembly.redteam.ground import THE_OWNER, Ground
from ostiary.assembly.redteam.swapping import every, swapped
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.search import Reach
from ostiary.contracts.store import Put
from ostiary.core.agent import bootstrap
from ostiary.core.memory import confirming, diary, recall, writing
from ostiary.core.memory.paths import COLLECTION, SESSIONS

_OWNERS = Label(trust=Trust.OWNER, private=True)


def _quarantine(ground: Ground) -> AbstractContextManager[None]:
    return swapped(writing, "needs_confirmation", lambda area, principal, label: False)


def _vouching(ground: Ground) -> AbstractContextManager[None]:
    return swapped(bootstrap, "_VOUCHED", frozenset(Trust))


def _labels(ground: Ground) -> AbstractContextManager[None]:
    """What is found and read counts as the owner's own word."""
    return every(
        swapped(recall, "label_of", lambda passages: _OWNERS),
        swapped(memory_tools, "label_of", lambda *versions: _OWNERS),
    )


def _reach(ground: Ground) -> AbstractContextManager[None]:
    everything = Reach(collections=(COLLECTION,))
    return every(
        swapped(recall, "reach", lambda *given, **named: everything),
        swapped(recall, "session_reach", lambda *given, **named: Reach(collections=(SESSIONS,))),
        swapped(recall, "may_read", lambda *given, **named: True),
        swapped(recall, "folder_of", lambda agent: ""),
    )


def _places(ground: Ground) -> AbstractContextManager[None]:
    """Nobody looks whether others read along."""
    return every(
        swapped(ground.house.memory.recall, "_is_private", lambda session: True),
        swapped(prompting, "is_private_place", lambda session: True),
    )


def _ids(ground: Ground) -> AbstractContextManager[None]:
    """A waiting note is known by its place alone, whatever stands there."""
    made: Callable[..., confirming.Waiting] = confirming._waiting
    return swapped(confirming, "_waiting", lambda *given: replace(found := made(*given), id=f"L{found.start}"))


def _quoting(ground: Ground) -> AbstractContextManager[None]:
    """Notes are written and shown as they came."""

    def shown(passage: Any, folder: str) -> str:
        return f"{passage.path}:{passage.start}-{passage.end}\n{passage.snippet}"

    def plain(text: str, **_: str) -> str:
        return f"- {text}"

    return every(swapped(recall, "_passage", shown), swapped(writing, "rendered", plain))


def _diary(ground: Ground) -> AbstractContextManager[None]:
    """Every summary counts as the house's own."""
    return swapped(diary, "_place_for", lambda started, label, day: (f"memory/{day}.md", False))


def _secrets(ground: Ground) -> AbstractContextManager[None]:
    return swapped(ground.house.memory.writing, "_has_secret", lambda text: False)


def _capture(ground: Ground) -> AbstractContextManager[None]:
    """What a command leaves behind counts as the owner's."""
    processes = ground.house.host.tools["exec"]._processes
    return swapped(processes, "_workspace", _Laundering(processes._workspace))


def _visibility(ground: Ground) -> AbstractContextManager[None]:
    tools = [ground.house.host.tools[name] for name in ("sessions_list", "sessions_history")]
    return every(*(swapped(tool, "_may_see", lambda principal, here, other: True) for tool in tools))


def _shelf(ground: Ground) -> AbstractContextManager[None]:
    """The documents of the vault with memory and the owner's files among them."""

    async def all_of_them(shelf: Any) -> tuple[str, ...]:
        return tuple(use.collection for use in await shelf.documents.collections())

    return swapped(vault_tools._Shelf, "collections", all_of_them)


def _owners_word(ground: Ground) -> AbstractContextManager[None]:
    """Whoever confirms or forgets is taken for the owner."""
    memory = ground.house.memory

    def as_owner(act: Any) -> Any:
        return lambda *given, **named: act(*given, **{**named, "by": THE_OWNER})

    return every(
        swapped(memory.confirming, "confirm", as_owner(memory.confirming.confirm)),
        swapped(memory.forgetter, "forget", as_owner(memory.forgetter.forget)),
    )


class _Laundering:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def capture(self, lease: Any, **named: Any) -> Any:
        capture = await self._inner.capture(lease, **named)
        writes = (replace(write, label=_OWNERS) if isinstance(write, Put) else write for write in capture.writes)
        return replace(capture, writes=tuple(writes))


MEMORY: Mapping[str, Callable[[Ground], AbstractContextManager[None]]] = {
    "quarantine": _quarantine,
    "vouching": _vouching,
    "memory labels": _labels,
    "memory reach": _reach,
    "memory places": _places,
    "note ids": _ids,
    "quoting": _quoting,
    "diary": _diary,
    "memory secrets": _secrets,
    "capture": _capture,
    "visibility": _visibility,
    "shelf": _shelf,
    "owner's word": _owners_word,
}
