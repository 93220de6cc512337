"""Whose key answers next: order, stickiness, cooldowns. No I/O but a small state that is loaded once and saved on change."""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal, Protocol

import msgspec

from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput, ModelBilling, ModelError, ModelRateLimited, OstiaryError
from ostiary.contracts.records import dataclass

_log = logging.getLogger(__name__)

ProfileKind = Literal["oauth", "token", "api_key"]
_RANK: Mapping[str, int] = {"oauth": 0, "token": 1, "api_key": 2}
_STICKY_SESSIONS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One way to authenticate. `secret()` lends the key for one call and may raise ModelError; it is never kept.

    `expires` is when a token ends in UTC seconds, None when it does not.
    """

    id: str
    provider: str
    kind: ProfileKind
    secret: Callable[[], str]
    expires: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CooldownRules:
    """Seconds. A profile that has not failed for `forgive_after` starts again at the first step."""

    steps: tuple[float, ...] = (60.0, 300.0, 1500.0, 3600.0)
    billing: float = 5 * 3600.0
    billing_limit: float = 24 * 3600.0
    forgive_after: float = 24 * 3600.0
    billing_by_provider: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is remembered of a profile. `proof` is a digest of the key that failed: another key starts clean."""

    last_used: float = 0.0
    failures: int = 0
    billing_failures: int = 0
    last_failure: float = 0.0
    blocked_until: float = 0.0
    reason: str = ""
    proof: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A profile in line. `wait` is 0 when it may be used now, else seconds until then, and `reason` the failure's kind."""

    profile: Profile
    wait: float = 0.0
    reason: str = ""


class ProfileState(Protocol):
    """Where standings survive a restart. `load` answers b"" when there is nothing yet."""

    def load(self) -> bytes: ...

    def save(self, state: bytes) -> None: ...


class Forgetful:
    """A state that survives nothing."""

    def load(self) -> bytes:
        return b""

    def save(self, state: bytes) -> None:
        return None


class Profiles:
    """The profiles of every provider in the order to try them.

    `order` is the owner's, per provider; without it OAuth goes before tokens before keys, the least recently used first.
    A session keeps the profile that answered it, so that the provider's prompt cache stays warm.
    """

    def __init__(
        self,
        profiles: Sequence[Profile],
        clock: Clock,
        *,
        order: Mapping[str, Sequence[str]] | None = None,
        state: ProfileState | None = None,
        rules: CooldownRules | None = None,
    ) -> None:
        self._profiles = {profile.id: profile for profile in profiles}
        self._clock = clock
        self._order = order or {}
        self._state: ProfileState = state or Forgetful()
        self._rules = rules or CooldownRules()
        self._sticky: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._standings = _decode(self._state.load())

    def of(self, provider: str) -> tuple[Profile, ...]:
        """The provider's profiles as listed, whatever their standing."""
        return tuple(profile for profile in self._profiles.values() if profile.provider == provider)

    def every(self) -> tuple[Profile, ...]:
        return tuple(self._profiles.values())

    def find(self, profile_id: str) -> Profile:
        """Raises BadInput with the known ids."""
        found = self._profiles.get(profile_id)
        if found is None:
            known = ", ".join(self._profiles) or "none"
            raise BadInput(f"There is no auth profile {profile_id!r}", hint=f"Known profiles: {known}.")
        return found

    def standing(self, profile_id: str) -> Standing:
        return self._standings.get(profile_id, Standing())

    def candidates(self, provider: str, session: str = "", pinned: str = "") -> tuple[Candidate, ...]:
        """Usable profiles first, then the blocked ones by who is free soonest. A pinned profile stands alone."""
        if pinned and self.find(pinned).provider == provider:
            return (self._candidate(self.find(pinned)),)
        line = [self._candidate(profile) for profile in self._in_order(provider)]
        sticky = self._sticky.get((session, provider))
        ready = sorted((c for c in line if not c.wait), key=lambda c: c.profile.id != sticky)
        return (*ready, *sorted((c for c in line if c.wait), key=lambda c: c.wait))

    def without_key(self, provider: str) -> Candidate:
        """The nameless caller of a provider that asks for no key; it has a standing like any other."""
        return self._candidate(Profile(id=f"{provider}:keyless", provider=provider, kind="api_key", secret=str))

    def started(self, profile: Profile) -> None:
        """An attempt begins: the next session prefers another profile."""
        self._standings[profile.id] = replace(self.standing(profile.id), last_used=self._clock.now())

    def succeeded(self, profile: Profile, session: str = "") -> None:
        """Forgive what was, and keep the profile for the session."""
        before = self.standing(profile.id)
        self._standings[profile.id] = Standing(last_used=before.last_used)
        if session:
            self._sticky[session, profile.provider] = profile.id
            self._sticky.move_to_end((session, profile.provider))
            if len(self._sticky) > _STICKY_SESSIONS:
                self._sticky.popitem(last=False)
        # Written only when something was forgiven: a healthy turn costs no write.
        if before.failures or before.billing_failures:
            self._save()

    def failed(self, profile: Profile, error: ModelError) -> None:
        """Block the profile for as long as its failures ask."""
        now = self._clock.now()
        before = self.standing(profile.id)
        if now - before.last_failure > self._rules.forgive_after:
            before = Standing(last_used=before.last_used)
        billing = isinstance(error, ModelBilling)
        failures, unpaid = before.failures + (not billing), before.billing_failures + billing
        pause = self._billing_pause(profile.provider, unpaid) if billing else self._pause(failures, error)
        self._standings[profile.id] = Standing(
            last_used=before.last_used,
            failures=failures,
            billing_failures=unpaid,
            last_failure=now,
            blocked_until=now + pause,
            reason=error.kind,
            proof=_proof(profile),
        )
        self._save()

    def release(self, session: str) -> None:
        """The session was reset or compacted: its next turn may begin with any profile."""
        for key in [key for key in self._sticky if key[0] == session]:
            del self._sticky[key]

    def _in_order(self, provider: str) -> list[Profile]:
        if order := self._order.get(provider):
            named = (self._profiles.get(id_) for id_ in order)
            return [profile for profile in named if profile is not None and profile.provider == provider]
        return sorted(self.of(provider), key=lambda p: (_RANK[p.kind], self.standing(p.id).last_used))

    def _candidate(self, profile: Profile) -> Candidate:
        standing = self.standing(profile.id)
        wait = standing.blocked_until - self._clock.now()
        # A clock that was set back must not lock a profile out for longer than any rule would.
        longest = max(self._rules.billing_limit, *self._rules.steps)
        if wait <= 0 or wait > longest or standing.proof != _proof(profile):
            return Candidate(profile=profile)
        return Candidate(profile=profile, wait=wait, reason=standing.reason)

    def _pause(self, failures: int, error: ModelError) -> float:
        pause = self._rules.steps[min(failures, len(self._rules.steps)) - 1]
        asked = error.retry_after if isinstance(error, ModelRateLimited) else None
        return min(max(pause, asked or 0.0), self._rules.billing_limit)

    def _billing_pause(self, provider: str, failures: int) -> float:
        first = self._rules.billing_by_provider.get(provider, self._rules.billing)
        return min(first * 2.0 ** min(failures - 1, 16), self._rules.billing_limit)

    def _save(self) -> None:
        try:
            self._state.save(msgspec.json.encode(self._standings))
        except (OSError, OstiaryError) as error:
            # A cooldown that is not written costs one wasted attempt after a restart; a turn is worth more.
            _log.warning("auth profile state was not saved: %s", error)


def _proof(profile: Profile) -> str:
    try:
        secret = profile.secret()
    except OstiaryError:
        return ""
    return hashlib.sha256(b"ostiary profile\0" + secret.encode()).hexdigest()[:12]


def _decode(state: bytes) -> dict[str, Standing]:
    if not state:
        return {}
    try:
        return msgspec.json.decode(state, type=dict[str, Standing])
    except msgspec.DecodeError as error:
        _log.warning("auth profile state is unreadable and begins anew: %s", error)
        return {}
