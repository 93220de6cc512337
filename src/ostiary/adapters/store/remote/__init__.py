"""The store in another process: the same contracts over a unix socket or HTTP, for the process that keeps the vault and for its
clients."""

from ostiary.adapters.store.remote.answering import Answering
from ostiary.adapters.store.remote.client import RemoteStore, RemoteVault, open_remote_vault
from ostiary.adapters.store.remote.search import RemoteEmbedder, RemoteSearch

__all__ = ["Answering", "RemoteEmbedder", "RemoteSearch", "RemoteStore", "RemoteVault", "open_remote_vault"]
