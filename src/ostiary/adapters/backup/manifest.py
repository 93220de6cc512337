"""What a backup says of itself: what it holds, each with its size and digest, and which pieces it is made of."""

import json
from typing import Any, Literal

from ostiary.adapters.backup.sealing import ID_SIZE, Damaged
from ostiary.contracts.errors import StoreRefused
from ostiary.contracts.records import dataclass

FORMAT = 1
PIECE_PAGES = 16
PIECE_BYTES = 65_024
LIST_LENGTH = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file or a database, named as it lies in the state directory. `digest` is the SHA-256 of all its bytes (of a database:
    of its pages). `lists` name pieces that are lists of up to LIST_LENGTH names of the pieces with the content."""

    name: str
    kind: Literal["file", "database"]
    size: int
    digest: str
    lists: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`stored` counts the bytes that this backup added; the rest was there already."""

    id: str
    made_at: float
    release: str
    is_incremental: bool
    parts: tuple[Part, ...]
    stored: int = 0

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


def encode(manifest: Manifest) -> bytes:
    parts = [
        {
            "name": part.name,
            "kind": part.kind,
            "size": part.size,
            "digest": part.digest,
            "lists": [name.hex() for name in part.lists],
        }
        for part in manifest.parts
    ]
    told = {
        "format": FORMAT,
        "id": manifest.id,
        "madeAt": manifest.made_at,
        "release": manifest.release,
        "incremental": manifest.is_incremental,
        "stored": manifest.stored,
        "parts": parts,
    }
    return json.dumps(told).encode()


def decode(content: bytes) -> Manifest:
    """Raises StoreRefused for one of a later format, Damaged."""
    try:
        told: dict[str, Any] = json.loads(content)
        if told["format"] > FORMAT:
            raise StoreRefused("the backup was made by a newer release", hint="Install that release to restore it.")
        parts = tuple(
            Part(
                name=part["name"],
                kind=part["kind"],
                size=part["size"],
                digest=part["digest"],
                lists=tuple(bytes.fromhex(name) for name in part["lists"]),
            )
            for part in told["parts"]
        )
        return Manifest(
            id=told["id"],
            made_at=told["madeAt"],
            release=told["release"],
            is_incremental=told["incremental"],
            stored=told["stored"],
            parts=parts,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"the list of its contents makes no sense ({error})") from error


def join_names(names: list[bytes]) -> bytes:
    return b"".join(names)


def split_names(content: bytes) -> list[bytes]:
    """Raises Damaged."""
    if len(content) % ID_SIZE:
        raise Damaged("a list of its pieces is cut")
    return [content[place : place + ID_SIZE] for place in range(0, len(content), ID_SIZE)]
