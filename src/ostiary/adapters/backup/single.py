"""A backup in one file: head, pieces, manifest, and an end mark without which the file was cut."""

import os
import secrets
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ostiary.adapters.backup import header as heads
from ostiary.adapters.backup.header import Header
from ostiary.adapters.backup.sealing import ID_SIZE, Damaged
from ostiary.adapters.store.sqlite.key import sync_folder
from ostiary.contracts.errors import StoreRefused, StoreUnavailable

MAGIC = b"ostiary backup 1\n"
_END = b"end of ostiary backup\n"
_RECORD = struct.Struct(">I")
_MANIFEST = bytes(ID_SIZE)
_LARGEST = 256 * 1024 * 1024


class NewFile:
    """A `Shelf` that is being filled."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self._names: set[bytes] = set()
        self.header = header
        self.is_finished = False
        file.write(MAGIC)
        self._record(_MANIFEST, heads.encode(header))

    def has(self, name: bytes) -> bool:
        return name in self._names

    def get(self, name: bytes) -> bytes:
        raise Damaged("it is being written")

    def put(self, name: bytes, sealed: bytes) -> None:
        self._names.add(name)
        self._record(name, sealed)

    def manifests(self) -> tuple[str, ...]:
        return ()

    def manifest(self, id: str) -> bytes:
        raise Damaged("it is being written")

    def finish(self, id: str, sealed: bytes) -> None:
        self._record(_MANIFEST, id.encode() + b"\n" + sealed)
        self._file.write(_END)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.is_finished = True

    def _record(self, name: bytes, content: bytes) -> None:
        try:
            self._file.write(_RECORD.pack(len(content)) + name + content)
        except OSError as error:
            raise StoreUnavailable(f"the backup cannot be written: {error.strerror}", hint="Free some space.") from error


class File:
    """A `Shelf` that is read."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._places: dict[bytes, tuple[int, int]] = {}
        self._path = path
        self.header, self._id, self._manifest = self._scan()

    def has(self, name: bytes) -> bool:
        return name in self._places

    def get(self, name: bytes) -> bytes:
        if name not in self._places:
            raise Damaged("it is missing")
        place, length = self._places[name]
        self._file.seek(place)
        return self._file.read(length)

    def put(self, name: bytes, sealed: bytes) -> None:
        raise StoreRefused(f"{self._path} is finished", hint="Name another file with --to.")

    def manifests(self) -> tuple[str, ...]:
        return (self._id,)

    def manifest(self, id: str) -> bytes:
        return self._manifest

    def finish(self, id: str, sealed: bytes) -> None:
        raise StoreRefused(f"{self._path} is finished", hint="Name another file with --to.")

    def _scan(self) -> tuple[Header, str, bytes]:
        """Raises Damaged. Pieces are skipped: reading their lengths is enough to find them again."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        if self._file.read(len(MAGIC)) != MAGIC:
            raise StoreRefused(f"{self._path} is no backup of ours", hint="Name the file or the folder of a backup.")
        name, place, length = self._next(size)
        if name != _MANIFEST:
            raise self._cut(size)
        header = heads.decode(self._file.read(length), self._path)
        while True:
            self._file.seek(place + length)
            name, place, length = self._next(size)
            if name == _MANIFEST:
                break
            self._places[name] = (place, length)
        id, _, manifest = self._file.read(length).partition(b"\n")
        if self._file.read(len(_END) + 1) != _END:
            raise self._cut(size)
        return header, id.decode("ascii", "replace"), manifest

    def _next(self, size: int) -> tuple[bytes, int, int]:
        head = self._file.read(_RECORD.size + ID_SIZE)
        if len(head) < _RECORD.size + ID_SIZE:
            raise self._cut(size)
        (length,) = _RECORD.unpack(head[: _RECORD.size])
        place = self._file.tell()
        if length > _LARGEST or place + length > size:
            raise self._cut(size)
        return head[_RECORD.size :], place, length

    def _cut(self, size: int) -> Damaged:
        return Damaged(f"the backup {self._path} is cut or damaged near byte {min(self._file.tell(), size):,} of {size:,}")


@contextmanager
def new_file(path: Path, header: Header) -> Iterator[NewFile]:
    """In place once it is finished. Raises StoreRefused if the file is there already, StoreUnavailable."""
    if path.exists():
        raise StoreRefused(f"{path} exists already", hint="Name another file with --to.")
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb", buffering=1024 * 1024) as file:
                making = NewFile(file, header)
                yield making
            if making.is_finished:
                aside.rename(path)
                sync_folder(path.parent)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"the backup cannot be written to {path}: {error.strerror}", hint="Free some space.") from error


@contextmanager
def open_file(path: Path) -> Iterator[File]:
    """Raises StoreRefused, Damaged."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise StoreRefused(f"the backup {path} cannot be read: {error.strerror}") from error
    with file:
        yield File(file, path)
