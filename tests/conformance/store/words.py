"""Small values the suite speaks in."""

import hashlib

from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.events import SettingChanged
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, InboundMessage, OutboundMessage, UserId
from ostiary.contracts.store import Append, Enqueue, InboxItem, OutboxItem, Put, SessionRecord, Tombstone

NOW = 1_800_000_000.0
MAIN = SessionKey("main", "main")
OTHER = SessionKey("main", "other")
PLACE = Address(channel="memory", account="main", chat="c1")
USER = UserId(channel="memory", stable_id="u1")
OWNER = Principal(user=USER, role="owner")
LABEL = Label(trust=Trust.UNTRUSTED, sources=("web:example.org",), private=True)


def text(words: str) -> Text:
    return Text(text=words, label=LABEL)


def item(message: str = "m1", *, place: Address = PLACE, words: str = "hello", session: SessionKey = MAIN) -> InboxItem:
    return InboxItem(
        message=InboundMessage(id=message, address=place, sender=USER, text=words, at=NOW, sender_name="Ann"),
        session=session,
        principal=OWNER,
        reply_to=place,
        lane="main",
        mode="collect",
        accepted_at=NOW,
        ready_at=NOW + 1,
        instructions="be brief",
        directives={"think": "low"},
    )


def setting(value: str, *, session: SessionKey = MAIN, turn: str = "", at: float = NOW) -> Append:
    return Append(session=session, turn=turn, at=at, event=SettingChanged(name="model", value=value, by="owner"))


def reply(key: str = "t1:1:0", *, words: str = "hi", session: SessionKey = MAIN) -> Enqueue:
    message = OutboundMessage(key=key, address=PLACE, text=words, choices=("yes", "no"))
    return Enqueue(item=OutboxItem(message=message, session=str(session), turn=key.split(":")[0], next_at=NOW))


def record(session: SessionKey = MAIN, *, updated_at: float = NOW, ephemeral: bool = False, title: str = "") -> SessionRecord:
    return SessionRecord(
        key=session, created_at=NOW, updated_at=updated_at, title=title, origin=PLACE, ephemeral=ephemeral, parent="p"
    )


def put(path: str, content: bytes = b"one", *, expect: int | None = None, collection: str = "notes") -> Put:
    return Put(
        collection=collection, path=path, content=content, at=NOW, author="owner", turn="t1", label=LABEL, expect_version=expect
    )


def tombstone(path: str, *, expect: int | None = None) -> Tombstone:
    return Tombstone(collection="notes", path=path, at=NOW, author="owner", expect_version=expect)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
