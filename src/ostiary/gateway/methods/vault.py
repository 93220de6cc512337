"""The vault's documents: browsing, reading, changing, comparing, bringing back, searching. Only the owner changes them."""

from collections.abc import Awaitable
from typing import TypeVar

from ostiary.contracts.errors import Conflict
from ostiary.contracts.identity import Principal
from ostiary.gateway.methods.memory import words_for
from ostiary.gateway.methods.services import Call, Services, VaultDesk
from ostiary.gateway.protocol.errors import MethodError, from_error
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Nothing
from ostiary.gateway.protocol.vault import (
    CollectionList,
    CompareVersions,
    DeleteDocument,
    Difference,
    Document,
    DocumentHistory,
    DocumentList,
    GetDocument,
    Hits,
    ListDocuments,
    MoveDocument,
    OfDocument,
    PreviewRestore,
    PutDocument,
    Restored,
    RestoreDocuments,
    SearchSessions,
    SearchVault,
    SessionHits,
    Written,
)

T = TypeVar("T")


async def list_collections(call: Call[Nothing]) -> CollectionList:
    """The collections there are, and how large they are."""
    return await _desk(call.services).collections()


async def list_documents(call: Call[ListDocuments]) -> DocumentList:
    """The documents of a folder, or all that match, now or as they were at a moment."""
    return await _desk(call.services).list(call.params)


async def get_document(call: Call[GetDocument]) -> Document:
    """One document: its text, and who wrote it when."""
    shown = words_for(call)
    found = await _desk(call.services).get(call.params)
    if found.text:
        found.text = shown(found.text)
    return found


async def put_document(call: Call[PutDocument]) -> Written:
    """Write a text as a new version, unless somebody was faster."""
    asked, desk = call.params, _desk(call.services)
    return await _written(desk, asked.collection, asked.path, desk.put(asked, _owner(call.caller.principal)))


async def list_versions(call: Call[OfDocument]) -> DocumentHistory:
    """Every version of a document: who wrote it, when, in which turn."""
    return await _desk(call.services).history(call.params)


async def compare_versions(call: Call[CompareVersions]) -> Difference:
    """What changed between two versions of a document."""
    shown = words_for(call)
    found = await _desk(call.services).diff(call.params)
    found.diff = shown(found.diff)
    return found


async def preview_restore(call: Call[PreviewRestore]) -> Restored:
    """What bringing documents back would change. Nothing is changed."""
    return await _desk(call.services).plan_restore(call.params)


async def restore_documents(call: Call[RestoreDocuments]) -> Restored:
    """Bring a document back to a version, or documents to a moment or to before a turn; each as a new version."""
    asked, desk = call.params, _desk(call.services)
    return await _written(desk, asked.collection, asked.path, desk.restore(asked, _owner(call.caller.principal)))


async def delete_document(call: Call[DeleteDocument]) -> Written:
    """Delete a document. Its versions stay."""
    asked, desk = call.params, _desk(call.services)
    return await _written(desk, asked.collection, asked.path, desk.delete(asked, _owner(call.caller.principal)))


async def move_document(call: Call[MoveDocument]) -> Written:
    """Give a document another path."""
    asked, desk = call.params, _desk(call.services)
    return await _written(desk, asked.collection, asked.path, desk.move(asked, _owner(call.caller.principal)))


async def search_vault(call: Call[SearchVault]) -> Hits:
    """Find passages in documents by words and by meaning."""
    shown = words_for(call)
    found = await _desk(call.services).search(call.params)
    for hit in found.hits:
        hit.snippet = shown(hit.snippet)
    return found


async def search_sessions(call: Call[SearchSessions]) -> SessionHits:
    """Find what was said, in every conversation."""
    shown = words_for(call)
    found = await _desk(call.services).search_sessions(call.params)
    for hit in found.hits:
        hit.snippet = shown(hit.snippet)
    return found


def _owner(by: Principal) -> Principal:
    if not by.is_owner:
        raise MethodError("FORBIDDEN", "Only the owner changes documents here.", details={"scope": "admin"})
    return by


async def _written(desk: VaultDesk, collection: str, path: str, act: Awaitable[T]) -> T:
    """A conflict tells what is there now, so that a person can decide."""
    try:
        return await act
    except Conflict as error:
        now = await desk.newest(collection, path) if path else None
        details = None
        if now is not None:
            details = {"version": now.version if now.digest else 0, "author": now.author, "at": now.at}
        raise MethodError("CONFLICT", from_error(error).message, hint=error.hint, details=details) from None


def _desk(services: Services) -> VaultDesk:
    assert services.vault is not None
    return services.vault


METHODS = (
    Method("vault.collections", Nothing, CollectionList, "read", list_collections, needs="vault"),
    Method("vault.list", ListDocuments, DocumentList, "read", list_documents, needs="vault"),
    Method("vault.get", GetDocument, Document, "read", get_document, needs="vault"),
    Method("vault.put", PutDocument, Written, "admin", put_document, has_effect=True, needs="vault"),
    Method("vault.history", OfDocument, DocumentHistory, "read", list_versions, needs="vault"),
    Method("vault.diff", CompareVersions, Difference, "read", compare_versions, needs="vault"),
    Method("vault.restore.preview", PreviewRestore, Restored, "read", preview_restore, needs="vault"),
    Method("vault.restore", RestoreDocuments, Restored, "admin", restore_documents, has_effect=True, needs="vault"),
    Method("vault.delete", DeleteDocument, Written, "admin", delete_document, has_effect=True, needs="vault"),
    Method("vault.move", MoveDocument, Written, "admin", move_document, has_effect=True, needs="vault"),
    Method("vault.search", SearchVault, Hits, "read", search_vault, needs="vault"),
    Method("sessions.search", SearchSessions, SessionHits, "read", search_sessions, needs="vault"),
)
