"""What changed in the configuration and the credential store, by whichever process: noted by comparing with what was last seen.

Names of keys and credentials are noted, never their values."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping

import anyio
import anyio.to_thread

from ostiary.adapters.credentials import CredentialStore
from ostiary.assembly.audit import SPACE
from ostiary.assembly.config.explain import leaves, shown
from ostiary.assembly.config.load import Loaded
from ostiary.assembly.config.paths import FILE
from ostiary.assembly.config.problems import dotted
from ostiary.assembly.newest import Newest
from ostiary.assembly.rules import Rules
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.store import Audit, SetValue, Store

_EVERY_SECONDS = 60.0
_MOST_NAMED = 40

_Tell = Callable[[Mapping[str, str], Mapping[str, str]], Iterable[Audit]]


class Watch:
    """Compares at the start, with every configuration that comes into force, and once a minute."""

    def __init__(self, *, store: Store, newest: Newest, credentials: CredentialStore, clock: Clock) -> None:
        self._store = store
        self._newest = newest
        self._credentials = credentials
        self._clock = clock
        self._stamp: object = None
        self._generation = -1
        self._wake = anyio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        self._newest.follow(self._follow)
        while True:
            try:
                await self.look()
            except OstiaryError:
                # The store says so itself; the next look sees the same difference.
                self._stamp, self._generation = None, -1
            with anyio.move_on_after(_EVERY_SECONDS):
                await self._wake.wait()
            self._wake = anyio.Event()

    async def look(self) -> None:
        """Raises StoreError."""
        loaded = self._newest.live.current
        if loaded.generation != self._generation:
            await self._compare("config", _settings(loaded), self._note_settings)
            self._generation = loaded.generation
        stamp = self._credentials.stamp()
        if stamp != self._stamp:
            listed = await anyio.to_thread.run_sync(self._credentials.list)
            await self._compare("credentials", {each.name: str(each.updated) for each in listed}, self._note_credentials)
            self._stamp = stamp

    def _follow(self, rules: Rules) -> None:
        self._wake.set()

    async def _compare(self, what: str, now: Mapping[str, str], tell: _Tell) -> None:
        body = await self._store.value(SPACE, what)
        before: dict[str, str] | None = json.loads(body) if body is not None else None
        if before == now:
            return
        told = tell(before, now) if before is not None else ()
        await self._store.commit([*told, SetValue(space=SPACE, key=what, value=json.dumps(dict(now)).encode())])

    def _note_settings(self, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Audit]:
        keys = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
        detail: dict[str, object] = {"keys": keys[:_MOST_NAMED], "generation": self._newest.live.current.generation}
        yield self._note("config.changed", FILE, "applied", detail)

    def _note_credentials(self, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Audit]:
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                outcome = "removed" if name not in now else "added" if name not in before else "replaced"
                yield self._note("credential.changed", name, outcome, {})

    def _note(self, kind: str, subject: str, outcome: str, detail: Mapping[str, object]) -> Audit:
        return Audit(at=self._clock.now(), kind=kind, actor="owner", subject=subject, outcome=outcome, detail=detail)


def _settings(loaded: Loaded) -> dict[str, str]:
    """Each key with a short mark of its value: enough to tell that it changed, too little to tell it."""
    return {dotted(path): _mark(value) for path, value in leaves(shown(loaded))}


def _mark(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]
