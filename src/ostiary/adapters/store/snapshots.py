"""The codec of snapshots: the same JSON as the journal's, for any dataclass built of contract types."""

from typing import TypeVar

from ostiary.adapters.store.codec import _build, _plain, encode

T = TypeVar("T")


class SnapshotCodec:
    """Implements core.sessions.snapshot.Codec."""

    def encode(self, value: object) -> bytes:
        """Raises BadInput for what JSON cannot hold."""
        return encode(value)

    def decode(self, cls: type[T], packed: bytes) -> T:
        """Raises StoreRefused for bytes that are damaged or do not fit the class."""
        return _build(cls, _plain(packed, "snapshot"))
