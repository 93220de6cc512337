"""Reading a backup: its manifest, the content of its parts, whether all of it is whole, and a state directory made of it."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ostiary.adapters.backup import pages
from ostiary.adapters.backup.folder import Folder, held, is_folder, open_folder
from ostiary.adapters.backup.making import Progress, manifest_aad
from ostiary.adapters.backup.manifest import LIST_LENGTH, PIECE_PAGES, Manifest, Part, decode, split_names
from ostiary.adapters.backup.sealing import Damaged, Seal
from ostiary.adapters.backup.shelf import Shelf
from ostiary.adapters.backup.single import open_file
from ostiary.contracts.errors import BadInput, StoreRefused

_HINT = "Restore another backup; `ostiary backup verify` says which are whole."
_MOST = 20


@contextmanager
def open_shelf(path: Path) -> Iterator[Shelf]:
    """A folder or a single file. Raises StoreRefused, Busy."""
    if is_folder(path):
        with held(path, alone=False):
            yield open_folder(path)
        return
    if path.is_dir():
        raise StoreRefused(f"{path} holds no backups", hint="Name the folder or the file of a backup.")
    with open_file(path) as file:
        yield file


def manifest_of(shelf: Shelf, seal: Seal, id: str) -> Manifest:
    """Raises Damaged, StoreRefused."""
    try:
        found = decode(seal.open(shelf.manifest(id), manifest_aad(id)))
    except Damaged as error:
        raise Damaged(f"the backup {id} is damaged: the list of its contents: {error}", hint=_HINT) from error
    if found.id != id:
        raise Damaged(f"the backup {id} is damaged: it is another one, {found.id}", hint=_HINT)
    return found


def find(shelf: Shelf, wanted: str) -> str:
    """The id that begins with `wanted`, the newest if it is empty. Raises BadInput."""
    ids = list(shelf.manifests())
    found = [id for id in ids if id.startswith(wanted)] if wanted else ids[-1:]
    if len(found) != 1:
        what = f"no backup {wanted!r}" if not found else f"more than one backup that begins with {wanted!r}"
        raise BadInput(f"there is {what}", hint="See `ostiary backup list`.")
    return found[0]


class Pieces:
    """The content of one part, piece by piece. Raises Damaged, saying which part of what is lost."""

    def __init__(self, shelf: Shelf, seal: Seal, backup: str, part: Part) -> None:
        self._shelf = shelf
        self._seal = seal
        self._backup = backup
        self._part = part
        self._list = -1
        self._names: list[bytes] = []
        self._piece = -1
        self._content = b""

    def names(self) -> Iterator[bytes]:
        for number in range(len(self._part.lists)):
            yield from self._names_of(number)

    def all(self) -> Iterator[bytes]:
        place = 0
        for name in self.names():
            content = self._open(name, place)
            place += len(content)
            yield content

    def page(self, number: int) -> bytes:
        """One page of a database."""
        piece, place = divmod(number, PIECE_PAGES)
        if piece != self._piece:
            names = self._names_of(piece // LIST_LENGTH)
            self._content = self._open(names[piece % LIST_LENGTH], number * pages.KEPT)
            self._piece = piece
        return self._content[place * pages.KEPT : (place + 1) * pages.KEPT]

    def _names_of(self, number: int) -> list[bytes]:
        if number != self._list:
            self._names = split_names(self._open(self._part.lists[number], number * LIST_LENGTH * PIECE_PAGES * pages.KEPT))
            self._list = number
        return self._names

    def _open(self, name: bytes, place: int) -> bytes:
        try:
            return self._seal.open_named(self._shelf.get(name), name)
        except Damaged as error:
            where = f"{self._part.name}, near byte {place:,} of {self._part.size:,}"
            raise Damaged(f"the backup {self._backup} is damaged: {where}: {error}", hint=_HINT) from error


def check_all(shelf: Shelf, seal: Seal, ids: Sequence[str], progress: Progress) -> list[str]:
    """As `check`, over several backups; what they share is read once."""
    whole: set[bytes] = set()
    problems: list[str] = []
    for id in ids:
        try:
            manifest = manifest_of(shelf, seal, id)
        except StoreRefused as error:
            problems.append(f"{error}.")
            continue
        problems += check(shelf, seal, manifest, progress, whole)
    return problems


def check(shelf: Shelf, seal: Seal, manifest: Manifest, progress: Progress, whole: set[bytes] | None = None) -> list[str]:
    """What is wrong with a backup, in sentences: every piece is read and compared with what it must hold. Pieces in `whole`
    were found so by an earlier check, and are not read again."""
    known = set() if whole is None else whole
    problems: list[str] = []
    for part in manifest.parts:
        try:
            _check_part(Pieces(shelf, seal, manifest.id, part), shelf, seal, manifest.id, part, progress, known)
        except Damaged as error:
            problems.append(f"{error}.")
        if len(problems) >= _MOST:
            break
    return problems


def _check_part(pieces: Pieces, shelf: Shelf, seal: Seal, id: str, part: Part, progress: Progress, whole: set[bytes]) -> None:
    names = list(pieces.names())
    if whole.issuperset(names):
        # The list of names is itself named by its content: what it says was checked.
        progress(part.name, part.size, part.size)
        return
    digest = hashlib.sha256()
    done = 0
    for content in pieces.all():
        digest.update(content)
        done += len(content)
        progress(part.name, done, part.size)
    if done != part.size or digest.hexdigest() != part.digest:
        raise Damaged(f"the backup {id} is damaged: {part.name} has not the content it had")
    whole.update(names)


def restore(shelf: Shelf, seal: Seal, manifest: Manifest, home: Path, key_of: Callable[[str], bytes], progress: Progress) -> None:
    """Fill the folder `home` with what the backup holds; each database under the key that `key_of` gives for its name.

    Raises Damaged, StoreUnavailable; what was written until then is of no use."""
    for part in manifest.parts:
        target = home / _safe(part.name)
        _ensure_private(target.parent)
        pieces = Pieces(shelf, seal, manifest.id, part)
        if part.kind == "file" or not part.size:
            _write(target, pieces, part)
        else:
            _rebuild(target, pieces, part, key_of(part.name), progress)
        progress(part.name, part.size, part.size)


def _ensure_private(folder: Path) -> None:
    """Each folder on the way: `parents=True` alone would give the upper ones the usual mode."""
    if not folder.parent.exists():
        _ensure_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _rebuild(target: Path, pieces: Pieces, part: Part, key: bytes, progress: Progress) -> None:
    count = part.size // pages.KEPT

    def read(number: int) -> bytes:
        if number % 256 == 0:
            progress(part.name, number * pages.KEPT, part.size)
        return pieces.page(number)

    pages.rebuild(target, key, read, count)


def _write(target: Path, pieces: Pieces, part: Part) -> None:
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    digest = hashlib.sha256()
    with os.fdopen(handle, "wb") as file:
        for content in pieces.all():
            digest.update(content)
            file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != part.digest:
        raise Damaged(f"{part.name} has not the content it had", hint=_HINT)


def _safe(name: str) -> Path:
    """A name is a path below the state directory. The manifest is authenticated; this holds even if its key was stolen."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or any(part in ("..", ".") or "\0" in part for part in parts):
        raise StoreRefused(f"the backup names a file {name!r} that does not belong into a state directory")
    return Path(*parts)


def live_names(folder: Folder, seal: Seal) -> set[bytes]:
    """Every piece that some backup of the folder needs. Raises Damaged: with a backup that cannot be read nobody can tell."""
    live: set[bytes] = set()
    for id in folder.manifests():
        for part in manifest_of(folder, seal, id).parts:
            live.update(part.lists)
            live.update(Pieces(folder, seal, id, part).names())
    return live
