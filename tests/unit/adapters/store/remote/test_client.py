import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ostiary.adapters.store.remote import Answering, RemoteVault, open_remote_vault
from ostiary.adapters.store.remote.link import place_of
from ostiary.adapters.store.remote.shapes import pack, unpack
from ostiary.assembly.machine import SystemClock
from ostiary.contracts.errors import BadInput, Conflict, EmbedderUnavailable, StoreRefused, StoreUnavailable
from ostiary.contracts.search import Reach
from ostiary.contracts.store import Extend, Put
from ostiary.gateway.asgi import App, Receive, Scope, Send
from tests.conformance.store.words import MAIN, setting
from tests.unit.adapters.store.remote.serving import TOKEN, Listener, door, listening, open_served, opened_store

NOW = 1_800_000_000.0


def extend(text: str) -> Extend:
    return Extend(collection="notes", path="a.md", content=text.encode(), at=NOW, author="anna")


class Watched:
    """Told of each file that this process opens while it is on."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.is_on = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_on and event in ("open", "os.open", "sqlite3.connect"):
            self.opened.append(str(arguments[0]))


WATCHED = Watched()
sys.addaudithook(WATCHED)


class Losing:
    """Serves, but drops the connection after the answer was made, as often as it is told to."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.listener: Listener | None = None
        self.losses = 0
        self.lost = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        events: list[Any] = []

        async def keep(event: Any) -> None:
            events.append(event)

        await self._app(scope, receive, keep)
        if self.lost < self.losses:
            self.lost += 1
            assert self.listener is not None
            self.listener.drop_all()
            return
        for event in events:
            await send(event)


@pytest.fixture
async def losing(tmp_path: Path) -> AsyncIterator[tuple[RemoteVault, Losing]]:
    clock = SystemClock()
    async with opened_store(tmp_path, clock) as (store, search):
        app = Losing(door(store, search))
        async with listening(app, tmp_path / "vault.sock") as listener:
            app.listener = listener
            async with open_remote_vault(listener.url, lambda: TOKEN, clock=clock) as vault:
                yield vault, app


async def test_a_commit_whose_answer_was_lost_is_not_done_twice(losing: tuple[RemoteVault, Losing]) -> None:
    vault, app = losing
    app.losses = 2
    with anyio.fail_after(10):
        assert await vault.store.commit([extend("once "), setting("x")]) == (1, 1)
    found = await vault.store.documents.get("notes", "a.md")
    assert (app.lost, found and found[1]) == (2, b"once ")
    assert len(await vault.store.read(MAIN)) == 1


async def test_the_next_commit_after_a_lost_answer_is_a_commit_of_its_own(losing: tuple[RemoteVault, Losing]) -> None:
    vault, app = losing
    app.losses = 1
    with anyio.fail_after(10):
        given = [await vault.store.commit([extend(word)]) for word in ("a", "b", "c")]
    assert given == [(1,), (2,), (3,)]


async def test_a_refusal_whose_answer_was_lost_is_a_refusal_again(losing: tuple[RemoteVault, Losing]) -> None:
    vault, app = losing
    app.losses = 1
    with anyio.fail_after(10), pytest.raises(Conflict):
        await vault.store.commit([setting("x")], expect={str(MAIN): 5})


async def test_a_question_whose_answer_was_lost_is_asked_again(losing: tuple[RemoteVault, Losing]) -> None:
    vault, app = losing
    await vault.store.commit([setting("x")])
    app.losses = 1
    with anyio.fail_after(10):
        assert len(await vault.store.read(MAIN)) == 1


async def test_a_bare_cancellation_does_not_tear_a_commit(losing: tuple[RemoteVault, Losing]) -> None:
    vault, _ = losing
    given: list[tuple[int, ...]] = []

    async def caller() -> None:
        given.append(await vault.store.commit([extend("kept")]))
        await anyio.sleep_forever()

    task = asyncio.ensure_future(caller())
    await asyncio.sleep(0)
    task.cancel()
    with anyio.fail_after(10), pytest.raises(asyncio.CancelledError):
        await task
    assert given == [(1,)]
    assert len(await vault.store.documents.history("notes", "a.md")) == 1


@pytest.fixture
async def leaving(tmp_path: Path) -> AsyncIterator[tuple[RemoteVault, Listener]]:
    clock = SystemClock()
    async with (
        opened_store(tmp_path, clock) as (store, search),
        listening(door(store, search), tmp_path / "vault.sock") as listener,
        open_remote_vault(listener.url, lambda: TOKEN, clock=clock) as vault,
    ):
        yield vault, listener


async def test_while_the_vault_is_away_every_call_says_so_at_once_and_afterwards_it_goes_on(
    leaving: tuple[RemoteVault, Listener],
) -> None:
    vault, listener = leaving
    await vault.store.commit([setting("a")])
    listener.stop()
    calls = (
        lambda: vault.store.read(MAIN),
        lambda: vault.store.commit([setting("b")]),
        lambda: vault.store.documents.get("notes", "a"),
        lambda: vault.search.query("a", reach=Reach(collections=("notes",))),
        lambda: vault.store.audit().head(),
    )
    with anyio.fail_after(5):
        for call in calls:
            with pytest.raises(StoreUnavailable, match="does not answer") as away:
                await call()
            assert "ostiary vault serve" in away.value.hint
    assert vault.store.is_down
    await listener.start()
    assert await vault.store.commit([setting("c")]) == (2,)
    assert not vault.store.is_down


async def test_nothing_is_written_or_read_here_while_the_vault_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaving: tuple[RemoteVault, Listener]
) -> None:
    """The client's own folder stays empty, and no file is opened by the calls."""
    vault, listener = leaving
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.chdir(own)
    await vault.store.commit([setting("a")])
    listener.stop()
    monkeypatch.setattr(WATCHED, "is_on", True)
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await vault.store.documents.get("n", "a")
        with pytest.raises(StoreUnavailable):
            await vault.store.commit([Put(collection="n", path="a", content=b"x", at=NOW, author="a")])
    monkeypatch.setattr(WATCHED, "is_on", False)
    assert (WATCHED.opened, list(own.iterdir())) == ([], [])


async def test_another_token_is_refused(tmp_path: Path) -> None:
    clock = SystemClock()
    async with opened_store(tmp_path, clock) as (store, search), listening(door(store, search), tmp_path / "s") as listener:
        with pytest.raises(StoreRefused, match="token"):
            async with open_remote_vault(listener.url, lambda: "wrong", clock=clock):
                pass


async def test_nobody_at_the_address_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="does not answer"):
        async with open_remote_vault(f"unix:{tmp_path}/none", lambda: "", clock=SystemClock()):
            pass


async def test_something_else_at_the_address_is_no_vault(tmp_path: Path) -> None:
    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async with listening(page, tmp_path / "s") as listener:
        with pytest.raises(StoreRefused, match="is no vault"):
            async with open_remote_vault(listener.url, lambda: "", clock=SystemClock()):
                pass


@pytest.mark.parametrize(
    "url", ["", "vault.sock", "unix:relative", "ftp://x", "http://", "http://a/b", "http://u@h", "http://h:x"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadInput):
        place_of(url)


async def test_search_answers_as_over_there(tmp_path: Path) -> None:
    async with open_served(tmp_path, SystemClock()) as vault:
        await vault.store.commit([Put(collection="notes", path="g.md", content=b"Tulips behind the shed.\n", at=NOW, author="a")])
        found = await vault.search.query("tulips", reach=Reach(collections=("notes",)))
        assert [(each.path, each.start) for each in found.passages] == [("g.md", 1)]
        assert (await vault.search.status()).documents == 1
        await vault.search.forget("notes", "g.md")
        assert vault.embedder is None


async def test_a_call_that_is_none_of_the_contracts_is_refused(tmp_path: Path) -> None:
    async with opened_store(tmp_path, SystemClock()) as (store, search):
        answering = Answering(store, search, None)
        bodies = [
            b"", b"\xc1", pack([]), pack({"call": "store.commit", "with": {}}), pack({"call": "store.__class__", "with": {}}),
            pack({"call": "store._writing", "with": {}}), pack({"call": "store.value", "with": {"space": "a", "other": 1}}),
            pack({"call": "commit", "with": {"slot": "a", "number": 1, "writes": [["No", {}]], "fence": None, "expect": None}}),
        ]  # fmt: skip
        answers = [unpack(await answering.answer(body)) for body in bodies]
    assert [answer.get("error") for answer in answers] == ["BadInput"] * len(bodies)


async def test_a_vault_without_an_embedder_says_so(tmp_path: Path) -> None:
    async with opened_store(tmp_path, SystemClock()) as (store, search):
        answer = unpack(
            await Answering(store, search, None).answer(pack({"call": "embed", "with": {"texts": ["a"], "kind": "query"}}))
        )
    assert answer["error"] == EmbedderUnavailable.__name__


@pytest.mark.parametrize("size", [0, 1, 300_000, 5_000_000])
async def test_documents_of_any_size_cross_unharmed(tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    async with open_served(tmp_path, SystemClock()) as vault:
        await vault.store.commit([Put(collection="n", path="a", content=content, at=NOW, author="a")])
        found = await vault.store.documents.get("n", "a")
    assert found is not None
    assert found[1] == content


async def test_more_callers_than_connections_wait_for_each_other(tmp_path: Path) -> None:
    async with open_served(tmp_path, SystemClock()) as vault, anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(vault.store.commit, [extend(f"{number}\n")])
    async with opened_store(tmp_path, SystemClock()) as (store, _):
        found = await store.documents.get("notes", "a.md")
    assert found is not None
    assert (found[0].version, len(set(found[1].split()))) == (100, 100)
