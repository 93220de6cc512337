"""One suite over both places a backup can lie in: a folder and a single file."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ostiary.adapters.backup.folder import Folder, held, make_folder, open_folder
from ostiary.adapters.backup.header import Header, purpose, unlock
from ostiary.adapters.backup.making import Database, Order, Plain, made_at, make, new_id
from ostiary.adapters.backup.manifest import Manifest
from ostiary.adapters.backup.pruning import prune, sweep
from ostiary.adapters.backup.reading import check, check_all, find, manifest_of, open_shelf, restore
from ostiary.adapters.backup.sealing import Damaged, Seal
from ostiary.adapters.backup.single import new_file
from ostiary.adapters.keys.wrapping import Cost, wrap_by_passphrase, wrap_by_recovery_key
from ostiary.adapters.store.sqlite.connection import connect_reader, connect_writer
from ostiary.contracts.errors import BadInput, Busy, StoreRefused

KEY = bytes(range(32))
DATABASE_KEY = bytes([3]) * 32
SEAL = Seal(KEY)
RECOVERY = b"r" * 20
HEADER = Header(house=SEAL.house, keys=(wrap_by_recovery_key(KEY, RECOVERY, purpose=purpose(SEAL.house)),))
DAY = 86_400.0


def quiet(part: str, done: int, total: int) -> None:
    return None


class House:
    """A database and a file to back up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "a.db"
        self.path.touch()
        self.config = b"{ port: 1 }"
        self.change("CREATE TABLE t (id INTEGER PRIMARY KEY, content BLOB)")
        connection = connect_writer(self.path, DATABASE_KEY)
        with connection:
            connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, random.Random(n).randbytes(4000)) for n in range(200)])
        connection.close()

    def change(self, sql: str, *values: object) -> None:
        connection = connect_writer(self.path, DATABASE_KEY)
        connection.execute(sql, values)
        connection.close()

    def order(self, *, is_incremental: bool = False, now: float = 1.8e9) -> Order:
        return Order(
            databases=(Database(name="bots/main/a.db", path=self.path, key=DATABASE_KEY),),
            files=(Plain(name="config", read=lambda copies: self.config),),
            scratch=self.folder,
            release="1.0",
            now=now,
            is_incremental=is_incremental,
        )

    def rows(self, path: Path | None = None, key: bytes = DATABASE_KEY) -> list[object]:
        connection = connect_reader(path or self.path, key)
        try:
            return connection.execute("SELECT * FROM t ORDER BY id").fetchall()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("house"))


@pytest.fixture
def house(tmp_path: Path) -> House:
    (tmp_path / "house").mkdir()
    return House(tmp_path / "house")


def to_folder(house: House, place: Path, *, is_incremental: bool = False, now: float = 1.8e9) -> Manifest:
    with held(place, alone=True):
        folder = make_folder(place, HEADER)
        folder.begin()
        return make(house.order(is_incremental=is_incremental, now=now), folder, SEAL, quiet)


def to_file(house: House, place: Path) -> Manifest:
    with new_file(place, HEADER) as file:
        return make(house.order(), file, SEAL, quiet)


PLACES: dict[str, Callable[[House, Path], Manifest]] = {"folder": to_folder, "house.backup": to_file}


@pytest.mark.parametrize("name", PLACES)
def test_what_went_in_comes_out_elsewhere_by_the_recovery_key_alone(built: House, tmp_path: Path, name: str) -> None:
    made = PLACES[name](built, tmp_path / name)
    with open_shelf(tmp_path / name) as shelf:
        seal = Seal(unlock(shelf.header, [RECOVERY]))
        manifest = manifest_of(shelf, seal, find(shelf, ""))
        assert check(shelf, seal, manifest, quiet) == []
        (tmp_path / "other").mkdir()
        restore(shelf, seal, manifest, tmp_path / "other", lambda part: bytes(32), quiet)
    assert manifest == made
    assert built.rows(tmp_path / "other" / "bots/main/a.db", bytes(32)) == built.rows()
    assert (tmp_path / "other" / "config").read_bytes() == built.config
    assert (tmp_path / "other" / "bots").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", PLACES)
def test_a_wrong_recovery_key_and_a_wrong_passphrase_open_nothing(built: House, tmp_path: Path, name: str) -> None:
    PLACES[name](built, tmp_path / name)
    with open_shelf(tmp_path / name) as shelf, pytest.raises(StoreRefused, match="not the recovery key"):
        unlock(shelf.header, [b"x" * 20, "a passphrase"])


def test_a_passphrase_opens_it_too_where_one_was_set() -> None:
    by_phrase = wrap_by_passphrase(KEY, "four random words", purpose=purpose(SEAL.house), cost=Cost(n=16))
    header = Header(house=SEAL.house, keys=(*HEADER.keys, by_phrase))
    assert unlock(header, ["four random words"]) == unlock(header, [RECOVERY]) == KEY


def test_nothing_of_the_content_or_its_names_can_be_read_without_the_key(house: House, tmp_path: Path) -> None:
    house.config = b"the-words-of-the-owner" * 40
    to_folder(house, tmp_path / "f")
    to_file(house, tmp_path / "x.backup")
    everything = b"".join(path.read_bytes() for path in tmp_path.joinpath("f").rglob("*") if path.is_file())
    everything += (tmp_path / "x.backup").read_bytes()
    assert b"the-words" not in everything
    assert b"bots/main" not in everything


def test_an_incremental_backup_stores_only_what_changed_and_stands_on_its_own(house: House, tmp_path: Path) -> None:
    first = to_folder(house, tmp_path / "f")
    house.change("UPDATE t SET content = x'00' WHERE id = 100")
    second = to_folder(house, tmp_path / "f", is_incremental=True, now=1.8e9 + DAY)
    assert second.stored < first.stored / 3
    after = house.rows()
    folder = open_folder(tmp_path / "f")
    folder.remove(first.id)
    sweep(folder, SEAL)
    (tmp_path / "new").mkdir()
    restore(folder, SEAL, second, tmp_path / "new", lambda part: bytes(32), quiet)
    assert house.rows(tmp_path / "new" / "bots/main/a.db", bytes(32)) == after


def test_a_full_backup_mends_a_piece_that_was_damaged(house: House, tmp_path: Path) -> None:
    first = to_folder(house, tmp_path / "f")
    folder = open_folder(tmp_path / "f")
    path, _, _ = next(folder.pieces())
    path.write_bytes(b"")
    assert check(folder, SEAL, first, quiet)
    to_folder(house, tmp_path / "f", is_incremental=True)
    assert check(folder, SEAL, first, quiet)
    to_folder(house, tmp_path / "f")
    assert check(folder, SEAL, first, quiet) == []


def damaged(folder: Folder) -> list[str]:
    return check_all(folder, SEAL, folder.manifests(), quiet)


def test_every_damaged_piece_of_a_folder_is_noticed_and_named(built: House, tmp_path: Path) -> None:
    to_folder(built, tmp_path / "f")
    folder = open_folder(tmp_path / "f")
    for path, _, size in list(folder.pieces()):
        whole = path.read_bytes()
        path.write_bytes(whole[: size // 2])
        assert "bots/main/a.db" in damaged(folder)[0] or "config" in damaged(folder)[0]
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert len(damaged(folder)) == 1
        path.write_bytes(whole)
    assert damaged(folder) == []


def test_two_pieces_that_were_exchanged_are_noticed(built: House, tmp_path: Path) -> None:
    to_folder(built, tmp_path / "f")
    folder = open_folder(tmp_path / "f")
    (one, _, _), (other, _, _) = list(folder.pieces())[:2]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert damaged(folder)


def test_a_manifest_that_was_changed_or_renamed_is_noticed(built: House, tmp_path: Path) -> None:
    made = to_folder(built, tmp_path / "f")
    folder = open_folder(tmp_path / "f")
    path = tmp_path / "f" / "backups" / made.id
    other = path.rename(path.with_name(new_id(1.9e9)))
    assert "the list of its contents" in damaged(folder)[0]
    other.rename(path)
    path.write_bytes(path.read_bytes()[:-3])
    assert "the list of its contents" in damaged(folder)[0]


def problems_of(path: Path) -> str:
    try:
        with open_shelf(path) as shelf:
            seal = Seal(unlock(shelf.header, [RECOVERY]))
            return "".join(check_all(shelf, seal, list(shelf.manifests()), quiet))
    except StoreRefused as error:
        return str(error)


def test_a_single_file_cut_anywhere_is_refused_with_a_sentence(built: House, tmp_path: Path) -> None:
    to_file(built, tmp_path / "x.backup")
    whole = (tmp_path / "x.backup").read_bytes()
    lengths = [0, 1, 16, 17, 40, 300, *range(400, len(whole), len(whole) // 40), len(whole) - 1]
    for length in lengths:
        (tmp_path / "cut.backup").write_bytes(whole[:length])
        assert problems_of(tmp_path / "cut.backup"), length


def test_a_single_file_with_a_flipped_bit_anywhere_is_refused_with_a_sentence(built: House, tmp_path: Path) -> None:
    to_file(built, tmp_path / "x.backup")
    whole = (tmp_path / "x.backup").read_bytes()
    places = [*range(0, 120, 3), *range(120, len(whole), len(whole) // 150), *range(len(whole) - 300, len(whole), 7)]
    unnoticed = []
    for place in places:
        (tmp_path / "flipped.backup").write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        unnoticed += [place] if not problems_of(tmp_path / "flipped.backup") else []
    assert unnoticed == []


def test_expired_backups_go_with_what_only_they_needed_and_the_newest_stays(house: House, tmp_path: Path) -> None:
    first = to_folder(house, tmp_path / "f", now=1.8e9)
    house.change("UPDATE t SET content = zeroblob(10)")
    second = to_folder(house, tmp_path / "f", is_incremental=True, now=1.8e9 + DAY)
    folder = open_folder(tmp_path / "f")
    pruned = prune(folder, SEAL, older_than=1.8e9 + DAY / 2)
    assert pruned.backups == (first.id,)
    assert pruned.freed > first.stored / 2
    assert damaged(folder) == []
    assert prune(folder, SEAL, older_than=2e9).backups == ()
    assert folder.manifests() == [second.id]


def test_nothing_is_swept_while_a_backup_cannot_be_read(house: House, tmp_path: Path) -> None:
    made = to_folder(house, tmp_path / "f")
    folder = open_folder(tmp_path / "f")
    (tmp_path / "f" / "backups" / made.id).write_bytes(b"")
    before = len(list(folder.pieces()))
    with pytest.raises(Damaged):
        sweep(folder, SEAL)
    assert len(list(folder.pieces())) == before


def test_two_writers_do_not_share_a_folder_and_readers_wait_for_them(tmp_path: Path) -> None:
    make_folder(tmp_path / "f", HEADER)
    with held(tmp_path / "f", alone=True), pytest.raises(Busy), open_shelf(tmp_path / "f"):
        pass
    with open_shelf(tmp_path / "f"), pytest.raises(Busy), held(tmp_path / "f", alone=True):
        pass


def test_a_folder_with_other_things_or_of_another_house_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    with pytest.raises(StoreRefused, match="other things"):
        make_folder(tmp_path / "mine", HEADER)
    make_folder(tmp_path / "f", HEADER)
    with pytest.raises(StoreRefused, match="another house"):
        make_folder(tmp_path / "f", Header(house="0" * 16, keys=HEADER.keys))


def test_a_single_file_is_never_written_over(built: House, tmp_path: Path) -> None:
    to_file(built, tmp_path / "x.backup")
    with pytest.raises(StoreRefused, match="exists already"):
        to_file(built, tmp_path / "x.backup")


def test_a_backup_that_fails_half_way_leaves_no_file(built: House, tmp_path: Path) -> None:
    def fail(part: str, done: int, total: int) -> None:
        raise StoreRefused(f"enough of {part}")

    with pytest.raises(StoreRefused, match="enough"), new_file(tmp_path / "x.backup", HEADER) as file:
        make(built.order(), file, SEAL, fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a/../../out", ""])
def test_a_name_that_leaves_the_state_directory_is_refused(built: House, tmp_path: Path, name: str) -> None:
    evil = Order(
        databases=(),
        files=(Plain(name=name, read=lambda copies: b"x"),),
        scratch=tmp_path,
        release="",
        now=1.0,
        is_incremental=False,
    )
    folder = make_folder(tmp_path / "f", HEADER)
    made = make(evil, folder, SEAL, quiet)
    (tmp_path / "new").mkdir()
    with pytest.raises(StoreRefused, match="does not belong"):
        restore(folder, SEAL, made, tmp_path / "new", lambda part: bytes(32), quiet)


def test_a_backup_is_found_by_the_beginning_of_its_id(built: House, tmp_path: Path) -> None:
    first = to_folder(built, tmp_path / "f", now=1.8e9)
    second = to_folder(built, tmp_path / "f", is_incremental=True, now=1.8e9 + DAY)
    folder = open_folder(tmp_path / "f")
    assert find(folder, "") == second.id
    assert find(folder, first.id[:9]) == first.id
    assert made_at(first.id) == 1.8e9
    with pytest.raises(BadInput, match="more than one"):
        find(folder, "20")
    with pytest.raises(BadInput, match="no backup"):
        find(folder, "1999")


def test_what_is_made_later_stands_later_also_within_a_second() -> None:
    ids = [new_id(1_800_000_000 + number / 1000) for number in range(0, 2500, 7)]
    assert ids == sorted(ids)
    assert {round(made_at(each)) for each in ids} == {1_800_000_000, 1_800_000_001, 1_800_000_002}
