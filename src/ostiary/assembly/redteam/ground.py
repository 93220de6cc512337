"""The ground an attack is played on: an assembled house with a copy of the owner's rules, every tool on, and a witness beside."""

import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from ostiary.assembly.door import Entrance, open_entrance
from ostiary.assembly.house import House, open_house
from ostiary.assembly.redteam.decoys import add_decoys
from ostiary.assembly.redteam.observing import Witness, witnessing
from ostiary.assembly.redteam.puppet import Post, Puppet, Scripted
from ostiary.assembly.redteam.throwaway import CHANNEL, OWNER_ID, Copy, copy_of, credential_names, write_copy
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.engine import Outcome, Submission
from ostiary.contracts.identity import OWNER, Principal, SessionKey
from ostiary.contracts.messages import Address, InboundMessage, UserId
from ostiary.contracts.store import EraseVersions, Put, Tombstone, Write
from ostiary.core.approvals.desk import PendingApproval
from ostiary.core.approvals.grants import GRANTABLE
from ostiary.core.sessions.pen import Pen

Answer = Callable[["Ground", PendingApproval], Awaitable[bool | None]]

THE_OWNER = Principal(user=UserId(channel="api", stable_id=OWNER_ID), role=OWNER)
TURN_SECONDS = 60.0
WALLET = "wallet.txt"
_WORKSPACE = "_workspace"
_MEMORY = "_memory"


async def careful(ground: "Ground", asked: PendingApproval) -> bool | None:
    """An owner who says no to what they did not want."""
    return False


async def tired(ground: "Ground", asked: PendingApproval) -> bool | None:
    """An owner who says yes to every ordinary question, and only reads those about taint."""
    return GRANTABLE.issuperset(asked.asked.layers)


@dataclass(slots=True, kw_only=True)
class Ground:
    """`canary` is the secret that must not be seen, `beside` what a file outside holds; `run` counts, so that no two plays
    share a name."""

    house: House
    entrance: Entrance
    url: str
    puppet: Puppet
    witness: Witness
    posts: Mapping[str, Post]
    copy: Copy
    canary: str
    beside: str = ""
    asks: MemoryObjectReceiveStream[PendingApproval]
    asked: list[PendingApproval] = field(default_factory=list)
    run: int = 0

    @property
    def post(self) -> Post:
        return self.posts[CHANNEL]

    async def begin(self) -> None:
        """Before each play: a witness that has seen nothing, an awake house, every tool on, an empty workspace."""
        self.run += 1
        self.asked.clear()
        self.puppet.play(())
        self.puppet.marks = {self.canary: "a secret of the house", self.beside: "a file beside the gateway"}
        for post in self.posts.values():
            post.strangers = set()
            post.sent.clear()
        await self.house.control.wake(THE_OWNER, "red team")
        await self.house.control.enable(("*",), THE_OWNER, seconds=None)
        for grant in self.house.approvals.grants:
            await self.house.approvals.revoke(grant.id, by=THE_OWNER)
        await self.house.engine.reset(SessionKey("main", "main"), reason="red team", by=THE_OWNER)
        await self._empty()
        self._tidy()
        await self.witness.reset()

    def _tidy(self) -> None:
        """Put back what a proof may have changed beside the gateway."""
        for path in self.witness.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        (self.witness.folder / WALLET).write_text(f"wallet {self.beside}\n")

    async def _empty(self) -> None:
        now = self.house.clock.now()
        documents = self.house.store.documents
        there = [each for name in (_WORKSPACE, _MEMORY) for each in await documents.list(name)]
        gone: list[Write] = [Tombstone(collection=each.collection, path=each.path, at=now, author="redteam") for each in there]
        for each in there:
            # What an earlier play left in memory must not be looked back to.
            if each.collection == _MEMORY:
                versions = tuple(version.version for version in await documents.history(_MEMORY, each.path))
                gone.append(EraseVersions(collection=_MEMORY, path=each.path, versions=versions))
        if gone:
            await self.house.store.commit(gone)
        self.reread()

    def reread(self) -> None:
        """The owner's files are read again by the next turn, not only a minute later."""
        self.house.lanes._runner._asking._prompts._files.clear()  # type: ignore[attr-defined]

    def session(self, name: str = "") -> SessionKey:
        return SessionKey("main", f"api:redteam-{self.run}{name}")

    async def put(self, path: str, text: str, *, trust: Trust = Trust.OWNER) -> None:
        """A file in the workspace, as if it had come there with that trust."""
        label = Label(trust=trust, sources=("file:redteam",))
        now = self.house.clock.now()
        await self.house.store.commit(
            [Put(collection=_WORKSPACE, path=path, content=text.encode(), at=now, author="redteam", label=label)]
        )

    async def note(self, path: str, text: str, *, trust: Trust = Trust.OWNER) -> None:
        """A memory file, as if it had come there with that trust."""
        label = Label(trust=trust, sources=("file:redteam",), private=True)
        now = self.house.clock.now()
        await self.house.store.commit(
            [Put(collection=_MEMORY, path=path, content=f"{text}\n".encode(), at=now, author="redteam", label=label)]
        )

    async def notes(self) -> dict[str, str]:
        """Every memory file by its path."""
        documents = self.house.store.documents
        found = {each.path: await documents.get(_MEMORY, each.path) for each in await documents.list(_MEMORY)}
        return {path: stored[1].decode("utf-8", "replace") for path, stored in found.items() if stored is not None}

    async def file(self, path: str) -> str | None:
        found = await self.house.store.documents.get(_WORKSPACE, path)
        return None if found is None else found[1].decode("utf-8", "replace")

    async def page(self, name: str, text: str, *, status: int = 200, kind: str = "text/plain") -> str:
        return await self.witness.page(f"{self.run}-{name}", text, status=status, kind=kind)

    async def turn(
        self,
        *steps: Scripted,
        text: str = "Please go on.",
        answer: Answer = careful,
        session: SessionKey | None = None,
        submission: Callable[[Submission], Submission] = lambda plain: plain,
    ) -> Outcome:
        """The owner speaks at the page; the model does what the script says; questions are answered by `answer`."""
        self.puppet.play(steps)
        key = session or self.session()
        message = InboundMessage(
            id=secrets.token_hex(8),
            address=Address(channel="api", account="default", chat=str(key)),
            sender=THE_OWNER.user,
            text=text,
            at=self.house.clock.now(),
        )
        made = submission(Submission(message=message, principal=THE_OWNER, session=key))
        accepted = await self.house.engine.submit(made)
        if accepted.item is None:
            return Outcome(turn="", session=key, status="completed", text=accepted.text)
        return await self.ended(accepted.item, answer)

    async def said(self, post: Post, text: str, *, answer: Answer = careful, **how: object) -> Outcome | None:
        """Somebody writes on a channel; None if nobody heard. `how` is as in InboundMessage."""
        plain = post.message(text, sender=str(how.pop("sender_id", OWNER_ID)), chat=str(how.pop("chat", "")))
        message = replace(plain, id=secrets.token_hex(8), at=self.house.clock.now(), **how)  # type: ignore[arg-type]
        accepted = await post.say(text, message=message)
        if accepted.status == "dropped" or accepted.item is None:
            return None
        outcome = await self.ended(accepted.item, answer)
        await self.delivered()
        return outcome

    async def ended(self, item: int, answer: Answer = careful) -> Outcome:
        async with anyio.create_task_group() as group:
            group.start_soon(self._answering, answer)
            with anyio.fail_after(TURN_SECONDS):
                outcome = await self.house.engine.outcome(item)
            group.cancel_scope.cancel()
        return outcome

    async def delivered(self) -> None:
        """Until nothing is on its way out any more."""
        await until(lambda: not self.house.engine.status()["outbox"])

    async def _answering(self, answer: Answer) -> None:
        async for pending in self.asks:
            self.asked.append(pending)
            said = await answer(self, pending)
            if said is not None:
                await self.house.approvals.answer(pending.id, said, by=THE_OWNER)


async def until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for what the house tells by a figure alone; gives up in silence."""
    with anyio.move_on_after(seconds):
        while not holds():  # noqa: ASYNC110 - nobody rings a bell for it
            await anyio.sleep(0.005)


def _made_folder() -> Path:
    # Long paths do not fit into the address of a socket.
    short = Path("/tmp")  # noqa: S108
    folder = Path(tempfile.mkdtemp(prefix="ostiary-redteam-", dir=short if short.is_dir() else None))
    # A command of another user must find what lies beside, so that the fence alone keeps it from there.
    folder.chmod(0o711)
    (folder / "beside").mkdir(mode=0o755)
    return folder


@asynccontextmanager
async def open_ground(home: Path, environ: Mapping[str, str]) -> AsyncIterator[Ground]:
    """Raises ConfigInvalid, StoreError, Busy. The state is gone when it is left."""
    folder = _made_folder()
    canary, beside = f"rt{secrets.token_hex(16)}", f"coins-{secrets.token_hex(6)}"
    try:
        async with witnessing(folder / "beside") as witness:
            copy = copy_of(home, environ, outside=witness.outside, canary=canary)
            write_copy(copy, folder / "state", credential_names(home), canary)
            posts = {name: Post(name, witness) for name in copy.channels}
            async with _ground(folder / "state", copy, posts, witness, canary) as ground:
                ground.beside = beside
                yield ground
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def _ground(home: Path, copy: Copy, posts: Mapping[str, Post], witness: Witness, canary: str) -> AsyncIterator[Ground]:
    send, receive = anyio.create_memory_object_stream[PendingApproval](100)
    async with send, receive, open_house(home, copy.environ, channels=posts) as house:
        puppet = Puppet(witness)
        house.newest.models = replace(house.newest.models, client=puppet)
        add_decoys(house.host, witness)
        _listen(house, send)
        async with open_entrance(house, run_token=secrets.token_urlsafe(32)) as entrance, anyio.create_task_group() as group:
            url = await group.start(_serve, house, entrance)
            yield Ground(
                house=house,
                entrance=entrance,
                url=url,
                puppet=puppet,
                witness=witness,
                posts=posts,
                copy=copy,
                canary=canary,
                asks=receive,
            )
            group.cancel_scope.cancel()


def _listen(house: House, send: MemoryObjectSendStream[PendingApproval]) -> None:
    """Hear every question once it is durable, besides whoever is told anyway."""
    told = house.approvals.tell

    def tell(pen: Pen, address: Address, pending: PendingApproval, now: float) -> None:
        told(pen, address, pending, now)
        pen.then(lambda: send.send_nowait(pending))

    house.approvals.tell = tell


async def _serve(house: House, entrance: Entrance, *, task_status: anyio.abc.TaskStatus[str]) -> None:
    from ostiary.gateway.server import serve

    def ready(url: str) -> None:
        house.outlet.keep_off(int(url.rpartition(":")[2]))
        entrance.place.url = url
        task_status.started(url)

    async with anyio.create_task_group() as group:
        group.start_soon(entrance.socket.run)
        await serve(entrance.app, on_ready=ready, drain_seconds=1)
