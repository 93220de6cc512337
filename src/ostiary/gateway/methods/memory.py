"""What is remembered: reading it, adding to it, confirming, forgetting. Only the owner changes it here."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal
from ostiary.gateway.methods.services import Call, MemoryDesk, Services
from ostiary.gateway.protocol.errors import MethodError, from_error
from ostiary.gateway.protocol.memory import (
    ConfirmMemory,
    ForgetMemory,
    ForgetPreview,
    Hits,
    ListMemory,
    MemoryForgotten,
    MemoryKept,
    MemoryList,
    MemoryOrigins,
    MemorySettled,
    MemoryStatus,
    PreviewForget,
    SearchMemory,
    WhyMemory,
    WriteMemory,
)
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Nothing

_PATIENCE = 300.0


@runtime_checkable
class Redacting(Protocol):
    """A desk that can take out of a text the secrets that the house knows or can tell."""

    def redacted(self, text: str) -> str: ...


def words_for(call: Call[Any]) -> Callable[[str], str]:
    """How this caller is shown texts: whole to who may change them, else without secrets. Raises MethodError where nobody can
    tell a secret."""
    if "admin" in call.caller.scopes:
        return str
    desk: object = call.services.memory
    if not isinstance(desk, Redacting):
        raise MethodError("FORBIDDEN", "Texts are shown here only to who may change them.", details={"scope": "admin"})
    return desk.redacted


async def list_memory(call: Call[ListMemory]) -> MemoryList:
    """What is remembered, entry by entry, each with who wrote it, when, and on whose word."""
    shown = words_for(call)
    found = await _desk(call.services).list(call.params)
    for entry in found.entries:
        entry.text = shown(entry.text)
    return found


async def search_memory(call: Call[SearchMemory]) -> Hits:
    """Find what is remembered, by words and by meaning."""
    shown = words_for(call)
    found = await _desk(call.services).search(call.params)
    for hit in found.hits:
        hit.snippet = shown(hit.snippet)
    return found


async def write_memory(call: Call[WriteMemory]) -> MemoryKept:
    """Remember something, on the owner's word."""
    return await _desk(call.services).write(call.params, _owner(call.caller.principal))


async def why(call: Call[WhyMemory]) -> MemoryOrigins:
    """Where a remembered fact came from: who said it, when, and in which words."""
    shown = words_for(call)
    found = await _desk(call.services).why(call.params)
    for origin in found.origins:
        origin.entry.text, origin.words = shown(origin.entry.text), shown(origin.words)
    return found


async def preview_forget(call: Call[PreviewForget]) -> ForgetPreview:
    """What forgetting a text would erase. Nothing is erased."""
    return await _desk(call.services).plan_forget(call.params.text)


async def forget(call: Call[ForgetMemory]) -> MemoryForgotten:
    """Erase a text for ever: from notes, their versions, conversations and what was made of these."""
    return await _desk(call.services).forget(call.params, _owner(call.caller.principal))


async def confirm(call: Call[ConfirmMemory]) -> MemorySettled:
    """Vouch for notes that wait, or reject them."""
    try:
        return await _desk(call.services).confirm(call.params, _owner(call.caller.principal))
    except BadInput as error:
        raise MethodError("NOT_FOUND", from_error(error).message, hint=error.hint) from None


async def status(call: Call[Nothing]) -> MemoryStatus:
    """How much is remembered, and how the index stands."""
    return await _desk(call.services).status()


def _owner(by: Principal) -> Principal:
    if not by.is_owner:
        raise MethodError("FORBIDDEN", "Only the owner changes what is remembered here.", details={"scope": "admin"})
    return by


def _desk(services: Services) -> MemoryDesk:
    assert services.memory is not None
    return services.memory


METHODS = (
    Method("memory.list", ListMemory, MemoryList, "read", list_memory, needs="memory"),
    Method("memory.search", SearchMemory, Hits, "read", search_memory, needs="memory"),
    Method("memory.write", WriteMemory, MemoryKept, "admin", write_memory, has_effect=True, needs="memory"),
    Method("memory.why", WhyMemory, MemoryOrigins, "read", why, needs="memory"),
    Method("memory.forget.preview", PreviewForget, ForgetPreview, "admin", preview_forget, needs="memory", seconds=_PATIENCE),
    Method("memory.forget", ForgetMemory, MemoryForgotten, "admin", forget, has_effect=True, needs="memory", seconds=_PATIENCE),
    Method("memory.confirm", ConfirmMemory, MemorySettled, "admin", confirm, has_effect=True, needs="memory"),
    Method("memory.status", Nothing, MemoryStatus, "read", status, needs="memory"),
)
