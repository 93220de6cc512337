"""What pages and socket methods may change: sessions, models and their keys, the configuration. Each checks nothing but its
own matter: who may come here at all was decided by scope, before."""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from ostiary.adapters.credentials import Credential, CredentialStore, Secret
from ostiary.assembly.config import edit
from ostiary.assembly.config.change import change, set_key
from ostiary.assembly.config.explain import explain, shown
from ostiary.assembly.config.json_schema import export
from ostiary.assembly.config.literals import literal_secrets, set_key_privately
from ostiary.assembly.config.load import Loaded
from ostiary.assembly.config.problems import parse_path
from ostiary.assembly.config.secret import MASK
from ostiary.assembly.newest import Newest
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import Busy, Conflict, StoreError
from ostiary.contracts.events import Noted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.model import ModelRef
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Search
from ostiary.contracts.store import Audit, DeleteSession, SessionRecord
from ostiary.core.routing.lanes import Lanes
from ostiary.core.routing.supervisor import Supervisor
from ostiary.core.sessions.pen import Sessions
from ostiary.gateway.methods.services import Activity, Writing
from ostiary.gateway.protocol.config import ConfigSchema, ConfigView
from ostiary.gateway.protocol.models import Kind, Profile

log = logging.getLogger("ostiary.sessions")

SESSIONS = "_sessions"

Apply = Callable[[Loaded], int]
"""Put a loaded configuration in force; gives its generation."""


def deletion(session: SessionKey, *, by: str, at: float) -> tuple[DeleteSession, Audit]:
    """What takes a conversation away, with the line that says who did it."""
    return DeleteSession(key=session), Audit(at=at, kind="session.deleted", actor=by, subject=str(session), outcome="done")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsAtDesk:
    engine: Supervisor
    sessions: Sessions
    lanes: Lanes
    search: Search

    def activity(self) -> Mapping[str, Activity]:
        found: dict[str, Activity] = {}
        for seat in self.lanes.seats():
            waiting = ""
            if seat.parked:
                open_session = self.sessions.peek(seat.key)
                turn = open_session.turn if open_session is not None else None
                waiting = turn.suspended.waiting_for if turn is not None and turn.suspended is not None else "client_tool"
            found[str(seat.key)] = Activity(running=seat.job is not None, waiting_for=waiting, queued=len(seat.waiting))
        return found

    def writing(self, session: SessionKey) -> Writing | None:
        seat = self.lanes.seat_of(session)
        job = seat.job if seat is not None else None
        if job is None or not job.shown:
            return None
        step, attempt = job.writing
        return Writing(turn=job.turn, step=step, attempt=attempt, text=job.shown)

    async def save_record(self, record: SessionRecord) -> None:
        await self.engine.save_record(record)

    async def delete(self, session: SessionKey, *, by: Principal) -> None:
        await self.engine.stop(session, by=by, reason="the session was deleted")
        async with self.sessions.pen(session):
            await self.sessions.write(deletion(session, by=str(by.user), at=self.sessions.clock.now()))
            self.sessions.forget(session)
        try:
            await self.search.forget(SESSIONS, str(session))
        except (StoreError, Busy) as error:
            # It is deleted, and the store has noted it: the index follows as soon as it can.
            log.warning("the index forgets %s later: %s", session, error)

    async def note(self, session: SessionKey, text: str, *, by: Principal) -> int:
        label = Label(trust=Trust.OWNER if by.is_owner else Trust.CONTACT, sources=(str(by.user),))
        async with self.sessions.pen(session) as pen:
            pen.add(Noted(text=text, by=str(by.user), label=label))
            await pen.commit()
            return pen.session.seq

    async def label(self, session: SessionKey) -> Label:
        return (await self.sessions.get(session)).label


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsAtDesk:
    """Keys go to the credential store, never to the file; what uses them is rebuilt at once."""

    home: Path
    environ: Mapping[str, str]
    newest: Newest
    credentials: CredentialStore
    apply: Apply
    now: Callable[[], float]

    def alias(self, ref: ModelRef) -> str:
        return next((alias for alias, known in self.newest.models.catalogue.aliases.items() if known == ref), "")

    def is_usable(self, ref: ModelRef) -> bool:
        return self.newest.models.catalogue.can_call(ref.provider)

    def profiles(self) -> Sequence[Profile]:
        masked = {entry.name: entry.masked for entry in self.credentials.list()}
        standings = self.newest.models.profiles
        rows = []
        for profile in standings.every():
            standing, now = standings.standing(profile.id), self.now()
            state = "ready"
            if profile.expires is not None and profile.expires <= now:
                state = "expired"
            elif standing.blocked_until > now:
                state = f"resting: {standing.reason}"
            rows.append(
                Profile(
                    id=profile.id,
                    provider=profile.provider,
                    kind=profile.kind,
                    masked=masked.get(profile.id, MASK),
                    expires=profile.expires or 0.0,
                    standing=state,
                )
            )
        return rows

    async def set_profile(self, id: str, provider: str, kind: Kind, secret: str) -> None:
        credential = Credential(name=id, kind=kind, provider=provider, value=Secret(secret))
        await anyio.to_thread.run_sync(self.credentials.set, credential)
        self.apply(self.newest.live.current)

    async def delete_profile(self, id: str) -> bool:
        was_there = await anyio.to_thread.run_sync(self.credentials.delete, id)
        self.apply(self.newest.live.current)
        return was_there

    async def set_primary(self, ref: ModelRef) -> int:
        path = ("agents", "defaults", "model", "primary")
        return self.apply(await anyio.to_thread.run_sync(lambda: set_key(self.home, self.environ, path, str(ref))))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationAtDesk:
    """The file as it lies there. What is shown has its secrets masked; a mask that comes back keeps what was there."""

    home: Path
    environ: Mapping[str, str]
    newest: Newest
    credentials: CredentialStore
    apply_loaded: Apply

    def view(self) -> ConfigView:
        loaded = self.newest.live.current
        problem = self.newest.live.problem
        return ConfigView(
            hash=_hash(loaded.text),
            config=shown(loaded),
            text=_masked(loaded),
            sources=[str(source.path) for source in loaded.sources],
            problem=str(problem) if problem is not None else "",
            generation=loaded.generation,
            origins={each.path: each.origin for each in explain(loaded)},
        )

    def schema(self) -> ConfigSchema:
        exported = export()
        return ConfigSchema(schema=exported["schema"], ui_hints=exported["uiHints"], version=exported["version"])

    async def set(self, path: str, value: object, *, hash: str) -> int:
        def write() -> Loaded:
            return set_key_privately(self.home, self.environ, parse_path(path), value, self.credentials)[0]

        self._check(hash)
        return self.apply_loaded(await anyio.to_thread.run_sync(write))

    async def unset(self, path: str, *, hash: str) -> int:
        self._check(hash)
        key = parse_path(path)
        write = lambda: change(self.home, self.environ, lambda text: edit.unset(text, key))  # noqa: E731
        return self.apply_loaded(await anyio.to_thread.run_sync(write))

    async def apply(self, text: str, *, hash: str) -> int:
        self._check(hash)
        whole = _unmasked(text, self.newest.live.current)
        return self.apply_loaded(await anyio.to_thread.run_sync(lambda: change(self.home, self.environ, lambda before: whole)))

    def _check(self, given: str) -> None:
        if given != _hash(self.newest.live.current.text):
            raise Conflict("the configuration was changed meanwhile", hint="Read it again, then change it.")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _masked(loaded: Loaded) -> str:
    text = loaded.text or "{\n}\n"
    for path, _ in literal_secrets(loaded.config):
        if edit.source_at(text, path) is not None:
            text = edit.set_value(text, path, MASK)
    return text


def _unmasked(text: str, loaded: Loaded) -> str:
    for path, secret in literal_secrets(loaded.config):
        if (edit.source_at(text, path) or "").strip("\"'") == MASK:
            text = edit.set_value(text, path, secret.reveal())
    return text


def renumbered(loaded: Loaded, generation: int) -> Loaded:
    return replace(loaded, generation=generation)
