"""How much a store may hold. There is always a limit: no value means "unlimited"."""

from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass

_MB = 1_000_000
# A row of SQLite holds no more, and a document of this size is still read into memory whole.
_LARGEST_DOCUMENT = 1000 * _MB


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLimits:
    """`document_bytes` bounds one document or blob, `quota_bytes` the bytes of all of them, each content counted once."""

    document_bytes: int = 100 * _MB
    quota_bytes: int = 20_000 * _MB

    def __post_init__(self) -> None:
        if not 0 < self.document_bytes <= _LARGEST_DOCUMENT:
            raise BadInput(f"A document may have 1 to {_LARGEST_DOCUMENT} bytes, not {self.document_bytes}")
        if self.quota_bytes < self.document_bytes:
            raise BadInput(f"A quota of {self.quota_bytes} bytes does not hold one document of {self.document_bytes}")


DEFAULT_LIMITS = StoreLimits()


def check_size(size: int, what: str, limits: StoreLimits) -> None:
    """Raises BadInput for a document or blob that is larger than one may be."""
    if size > limits.document_bytes:
        raise BadInput(
            f"{what} has {size} bytes, and a document may have at most {limits.document_bytes}",
            hint="Split it, or raise vault.documentMaxBytes.",
        )
