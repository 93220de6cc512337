import hashlib
import multiprocessing
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from ostiary.adapters.gateway_db import GatewayDb, connect_gateway_db, open_gateway_db
from ostiary.adapters.gateway_db import answers as answering
from ostiary.adapters.gateway_db.schema import MIGRATIONS, migrate
from ostiary.contracts.errors import BadInput, Busy, StoreRefused

KEY = bytes(range(32))
NOW = 1_800_000_000.0
DAY = 24 * 3600.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gateway.db"


@pytest.fixture
def db(path: Path) -> Iterator[GatewayDb]:
    with connect_gateway_db(path, KEY) as opened:
        yield opened


def hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def add(db: GatewayDb, id: str = "phone", *, kind: Any = "operator", now: float = NOW, expires_at: float = 0.0) -> bool:
    return db.devices.add(
        id=id, kind=kind, public_key=b"key", display_name="A phone", platform="test", scopes=("chat", "read"),
        hash=hashed(id), now=now, expires_at=expires_at,
    )  # fmt: skip


def ask(db: GatewayDb, device: str, *, address: str = "192.0.2.1", vouched: bool = False, now: float = NOW, **more: Any) -> Any:
    fields = {"scopes": ("read",), "kind": "operator", **more}
    return db.pairings.ask(
        id=f"pair_{device}_{len(fields['scopes'])}", device=device, public_key=b"key", display_name="A phone", platform="test",
        code=f"code-{device}-{len(fields['scopes'])}", address=address, now=now, expires_at=now + 3600, is_vouched=vouched,
        **fields,
    )  # fmt: skip


def test_all_files_are_private_and_hold_no_readable_word(path: Path, db: GatewayDb) -> None:
    add(db)
    files = list(path.parent.iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert not any(word in file.read_bytes() for file in files for word in (b"A phone", b"SQLite format", b"operator"))


def test_another_key_opens_nothing(path: Path) -> None:
    with connect_gateway_db(path, KEY) as db:
        add(db)
    with pytest.raises(StoreRefused), connect_gateway_db(path, bytes(32)):
        pass


def test_a_file_from_a_newer_release_is_refused(path: Path, db: GatewayDb) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreRefused, match="newer release"):
        migrate(connection, path)


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    connection = apsw.Connection(":memory:")
    with pytest.raises(apsw.SQLError):
        migrate(connection, path, (*MIGRATIONS, "CREATE TABLE half (a); NONSENSE"))
    assert connection.execute("SELECT count(*) FROM sqlite_master").get == 0


def test_a_device_is_found_by_its_secret_until_it_is_revoked(db: GatewayDb) -> None:
    add(db)
    found = db.devices.by_secret(hashed("phone"), NOW)
    assert found is not None
    assert (found[0].id, found[0].scopes, found[1]) == ("phone", ("chat", "read"), hashed("phone"))
    assert db.devices.revoke("phone", NOW)
    assert not db.devices.revoke("phone", NOW)
    assert db.devices.by_secret(hashed("phone"), NOW) is None
    assert db.devices.all(NOW) == []
    kept = db.devices.get("phone")
    assert kept is not None
    assert kept.revoked_at == NOW


def test_a_known_device_is_not_added_again(db: GatewayDb) -> None:
    assert add(db)
    db.devices.revoke("phone", NOW)
    assert not add(db)
    assert db.devices.by_secret(hashed("phone"), NOW) is None


def test_a_token_is_issued_once_per_approval(db: GatewayDb) -> None:
    request = ask(db, "phone")
    assert not db.devices.issue("phone", hashed("early"), NOW)
    assert db.pairings.approve(request.id, ("read",), NOW)
    assert db.devices.issue("phone", hashed("first"), NOW)
    assert not db.devices.issue("phone", hashed("second"), NOW)
    assert db.devices.by_secret(hashed("second"), NOW) is None


def test_approving_a_known_device_again_ends_its_old_token(db: GatewayDb) -> None:
    add(db)
    before = db.devices.newest_revocation()
    assert db.pairings.approve(ask(db, "phone").id, ("read",), NOW)
    assert db.devices.by_secret(hashed("phone"), NOW) is None
    assert [device for _, device, _ in db.devices.revocations(before)] == ["phone"]


def test_a_revoked_device_is_not_approved_again(db: GatewayDb) -> None:
    add(db)
    db.devices.revoke("phone", NOW)
    assert not db.pairings.approve(ask(db, "phone").id, ("admin",), NOW)


@pytest.mark.parametrize("change", ["rotate", "set_scopes", "revoke"])
def test_every_change_that_ends_sockets_is_announced(db: GatewayDb, change: str) -> None:
    add(db)
    jobs = {
        "rotate": lambda: db.devices.rotate("phone", hashed("new"), NOW),
        "set_scopes": lambda: db.devices.set_scopes("phone", ("read",), NOW),
        "revoke": lambda: db.devices.revoke("phone", NOW),
    }
    assert jobs[change]()
    assert [(device, kind) for _, device, kind in db.devices.revocations(0)] == [("phone", "operator")]


def test_what_is_not_there_is_neither_rotated_nor_changed(db: GatewayDb) -> None:
    assert not db.devices.rotate("nobody", hashed("x"), NOW)
    assert not db.devices.set_scopes("nobody", ("admin",), NOW)
    assert not db.pairings.approve("nobody", ("admin",), NOW)
    assert not db.pairings.reject("nobody")


def test_devices_are_bounded_and_browsers_make_room(db: GatewayDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostiary.adapters.gateway_db.devices._MOST_DEVICES", 3)
    monkeypatch.setattr("ostiary.adapters.gateway_db.devices._MOST_BROWSERS", 3)
    for number in range(3):
        add(db, f"phone-{number}")
    with pytest.raises(Busy):
        add(db, "phone-3")
    for number in range(5):
        add(db, f"browser-{number}", kind="browser", now=NOW + number, expires_at=NOW + DAY)
    browsers = [device.id for device in db.devices.all(NOW) if device.kind == "browser"]
    assert browsers == ["browser-4", "browser-3", "browser-2"]
    assert [device for _, device, _ in db.devices.revocations(0)] == ["browser-0", "browser-1"]


def test_a_browser_session_slides_and_a_device_does_not_expire(db: GatewayDb) -> None:
    add(db)
    add(db, "browser", kind="browser", expires_at=NOW + 30 * DAY)
    db.devices.touch({"browser": NOW + DAY, "phone": NOW + DAY, "nobody": NOW}, 30 * DAY)
    assert db.devices.by_secret(hashed("browser"), NOW + 30.5 * DAY) is not None
    assert db.devices.by_secret(hashed("browser"), NOW + 31.5 * DAY) is None
    assert db.devices.by_secret(hashed("phone"), NOW + 1000 * DAY) is not None


def test_touching_does_not_wake_the_dead(db: GatewayDb) -> None:
    add(db, "browser", kind="browser", expires_at=NOW + DAY)
    db.devices.touch({"browser": NOW + 2 * DAY}, 30 * DAY)
    assert db.devices.by_secret(hashed("browser"), NOW + 2 * DAY) is None


def test_requests_of_strangers_are_bounded_per_address_and_in_all(db: GatewayDb) -> None:
    asked = [ask(db, f"phone-{number}", address=f"192.0.2.{number // 5}") for number in range(100)]
    assert sum(request is not None for request in asked) == 20
    assert ask(db, "mine", vouched=True) is not None
    assert ask(db, "later", now=NOW + 3601, address="192.0.2.1") is not None


def test_asking_again_gives_the_same_request_and_other_wishes_another(db: GatewayDb) -> None:
    first, again = ask(db, "phone"), ask(db, "phone", now=NOW + 10)
    other = ask(db, "phone", scopes=("admin", "read"))
    assert first == again
    assert (other.id != first.id, len(db.pairings.all(NOW))) == (True, 1)


def test_a_link_is_taken_once_and_in_time(db: GatewayDb) -> None:
    db.links.add(hashed("fresh"), NOW + 600)
    db.links.add(hashed("old"), NOW - 1)
    assert [db.links.take(hashed(code), NOW) for code in ("fresh", "fresh", "old", "never")] == [True, False, False, False]


def test_links_are_bounded(db: GatewayDb) -> None:
    for number in range(60):
        db.links.add(hashed(str(number)), NOW + number)
    assert not db.links.take(hashed("5"), NOW)
    assert db.links.take(hashed("59"), NOW)


def keep(db: GatewayDb, caller: str, key: str, result: bytes = b"{}", now: float = NOW) -> None:
    db.answers.keep(caller, key, digest="d", result=result, now=now, expires_at=now + DAY)


def test_an_answer_is_found_by_its_caller_for_a_day(db: GatewayDb) -> None:
    keep(db, "a", "key", b"first")
    keep(db, "a", "key", b"second")
    found = db.answers.find("a", "key", NOW + DAY - 1)
    assert found is not None
    assert (found.digest, found.result) == ("d", b"first")
    assert db.answers.find("b", "key", NOW) is None
    assert db.answers.find("a", "key", NOW + DAY) is None
    keep(db, "a", "key", b"third", now=NOW + DAY)
    renewed = db.answers.find("a", "key", NOW + DAY)
    assert renewed is not None
    assert renewed.result == b"third"


def test_a_giant_answer_is_not_kept(db: GatewayDb) -> None:
    with pytest.raises(BadInput):
        keep(db, "a", "key", b"x" * 300_000)


def test_a_busy_caller_pushes_out_its_own_answers_only(db: GatewayDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_OF_ONE_CALLER", 10)
    monkeypatch.setattr(answering, "_COUNT_EVERY", 1)
    keep(db, "quiet", "key")
    for number in range(30):
        keep(db, "busy", f"key-{number}", now=NOW + number)
    assert db.answers.find("quiet", "key", NOW) is not None
    assert db.answers.find("busy", "key-5", NOW) is None
    assert db.answers.find("busy", "key-29", NOW) is not None


def test_sweeping_forgets_what_has_expired_and_nothing_else(db: GatewayDb) -> None:
    add(db)
    add(db, "browser", kind="browser", expires_at=NOW + 10)
    ask(db, "asking")
    db.links.add(hashed("link"), NOW + 600)
    keep(db, "a", "key")
    db.sweep(NOW + 2 * DAY)
    assert [device.id for device in db.devices.all(NOW)] == ["phone"]
    assert (db.pairings.all(NOW), db.answers.find("a", "key", NOW), db.links.take(hashed("link"), NOW)) == ([], None, False)
    assert [device for _, device, _ in db.devices.revocations(0)] == ["browser"]


def test_numbers_of_revocations_never_start_again(db: GatewayDb) -> None:
    add(db)
    db.devices.revoke("phone", NOW)
    before = db.devices.newest_revocation()
    db.sweep(NOW + 2 * DAY)
    add(db, "other")
    db.devices.revoke("other", NOW + 3 * DAY)
    assert [device for _, device, _ in db.devices.revocations(before)] == ["other"]


async def test_the_loop_reads_what_the_thread_has_written(path: Path) -> None:
    async with open_gateway_db(path, KEY) as shared:
        assert await shared.write(add)
        assert shared.reads.devices.by_secret(hashed("phone"), NOW) is not None
        with pytest.raises(BadInput):
            await shared.write(lambda db: db.answers.keep("a", "k", digest="d", result=b"x" * 300_000, now=NOW, expires_at=NOW))


def _open_and_add(path: Path, number: int) -> None:
    with connect_gateway_db(path, KEY) as db:
        for each in range(10):
            add(db, f"phone-{number}-{each}")


def test_processes_open_and_write_the_same_file_at_once(path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_open_and_add, args=(path, number)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    with connect_gateway_db(path, KEY) as db:
        assert len(db.devices.all(NOW)) == 30
    assert [worker.exitcode for worker in workers] == [0] * 3
