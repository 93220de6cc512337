"""One ModelClient over many: the profiles of a model, then the models of the choice, until one answers.

Moves on for what another key or model may cure (auth, rate, billing, unavailable), and for nothing else.
"""

import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Protocol

from ostiary.adapters.models.profiles import Candidate, Profile, Profiles
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import (
    BadInput,
    ModelBilling,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelUnauthorized,
    ModelUnavailable,
    StoreError,
    ThinkingUnsupported,
)
from ostiary.contracts.model import Answered, ModelEvent, ModelRef, ModelRequest, Restarted, ThinkingLevel
from ostiary.contracts.records import dataclass

_CURABLE = (ModelUnauthorized, ModelRateLimited, ModelBilling, ModelUnavailable)
_OF_THE_ACCOUNT = frozenset({ModelUnauthorized.kind, ModelBilling.kind})
_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh")
_WORDS = {
    "auth": "refused the key",
    "rate_limit": "is rate limited",
    "billing": "is out of credit",
    "unavailable": "is unavailable",
}
_HINTS = {
    "auth": "Check the key: ostiary models status --check.",
    "rate_limit": "Wait a little, or add a fallback: ostiary models fallbacks add <provider/model>.",
    "billing": "Top up the account, or add a fallback: ostiary models fallbacks add <provider/model>.",
    "unavailable": "Check the network and the provider's status page, or add a fallback model.",
}


class Wire(Protocol):
    """What speaks to one provider. Raises ModelError; leaving the context closes the connection."""

    def stream(
        self, request: ModelRequest, ref: ModelRef, secret: str
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds. `pause` is the mean wait before the one repeat; a rate limit up to `patience` is sat out by the last in line."""

    attempts: int = 8
    pause: float = 1.0
    patience: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Try:
    """Something that was tried, or passed over because it is blocked, and why it came to nothing."""

    ref: ModelRef
    profile: str
    kind: str
    error: ModelError | None = None
    wait: float = 0.0
    blamed: bool = False

    def sentence(self) -> str:
        who = f"{self.ref} ({self.profile})" if self.profile else str(self.ref)
        what = _WORDS.get(self.kind, "did not take the request") if self.profile else "has no key"
        return f"{who} {what}{f' for {_span(self.wait)}' if self.wait else ''}"


def _untold(profile: str, provider: str) -> None:
    """Nobody keeps a record."""


class Fallback:
    """A ModelClient. `wire(ref)` gives the wire of a model and raises ModelMisconfigured for one it cannot reach;
    `keyless(provider)` says that a provider needs no key; `lent(profile, provider)` is told of every key that is used.

    Emits Restarted whenever what was streamed became void, and when another profile or model takes over.
    Raises the last error if it cannot be cured, else one error that says what was tried.
    """

    def __init__(
        self,
        *,
        wire: Callable[[ModelRef], Wire],
        profiles: Profiles,
        clock: Clock,
        keyless: Callable[[str], bool],
        limits: Limits | None = None,
        jitter: Callable[[], float] = random.random,
        lent: Callable[[str, str], None] = _untold,
    ) -> None:
        self._wire = wire
        self._profiles = profiles
        self._clock = clock
        self._keyless = keyless
        self._limits = limits or Limits()
        self._jitter = jitter
        self._lent = lent
        self._thinking: dict[ModelRef, tuple[str, ...]] = {}

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async with aclosing(self._attempts(request)) as events:
            yield events

    async def _attempts(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        tried: list[_Try] = []
        begun = 0
        for ref, candidate, last in self._plan(request, tried):
            repeats = 1
            while begun < self._limits.attempts:
                begun += 1
                if begun > 1 or ref != request.choice.primary:
                    yield Restarted(model=str(ref), reason=_reason(tried, request.choice.primary, begun))
                try:
                    async with aclosing(self._attempt(request, ref, candidate.profile)) as events:
                        async for event in events:
                            yield event
                    return
                except ThinkingUnsupported as error:
                    if ref in self._thinking:
                        raise
                    self._thinking[ref] = error.supported
                    tried.append(_Try(ref=ref, profile=candidate.profile.id, kind=error.kind, error=error))
                except _CURABLE as error:
                    pause = self._pause(error, last=last) if repeats else None
                    blamed = pause is None
                    tried.append(_Try(ref=ref, profile=candidate.profile.id, kind=error.kind, error=error, blamed=blamed))
                    if pause is None:
                        self._blame(candidate.profile, error, tried[:-1])
                        break
                    repeats -= 1
                    await self._clock.sleep(pause)
        nobody = _nobody_answered(tried)
        if isinstance(nobody, ModelRateLimited):
            # Whoever asks again sooner finds the same profiles still blocked.
            nobody.retry_after = self._soonest(request) or nobody.retry_after
        raise nobody

    async def _attempt(self, request: ModelRequest, ref: ModelRef, profile: Profile) -> AsyncGenerator[ModelEvent, None]:
        supported = self._thinking.get(ref)
        if supported is not None:
            request = replace(request, thinking=nearest_level(request.thinking, supported))
        self._profiles.started(profile)
        wire, secret = self._wire(ref), _lend(profile)
        if secret:
            self._lent(profile.id, ref.provider)
        async with wire.stream(request, ref, secret) as events:
            async for event in events:
                if isinstance(event, Answered):
                    self._profiles.succeeded(profile, request.session)
                    yield replace(event, profile=profile.id)
                    return
                yield event
        raise ModelUnavailable(f"{ref} ended its answer in the middle")

    def _plan(self, request: ModelRequest, tried: list[_Try]) -> Iterator[tuple[ModelRef, Candidate, bool]]:
        """Who is asked, in order, each with whether nobody comes after. Those who are blocked are noted in `tried`.

        If everybody is blocked, those who were merely unavailable are asked all the same: waiting helps nobody.
        """
        line: list[tuple[ModelRef, Candidate]] = []
        for ref in dict.fromkeys((request.choice.primary, *request.choice.fallbacks)):
            candidates = self._candidates(ref, request)
            if not candidates:
                missing = ModelUnauthorized(
                    f"There is no key for {ref.provider}", hint=f"Run: ostiary models auth add {ref.provider}"
                )
                tried.append(_Try(ref=ref, profile="", kind=missing.kind, error=missing))
            line.extend((ref, candidate) for candidate in candidates)
        ready = [entry for entry in line if not entry[1].wait]
        if not ready:
            ready = sorted((e for e in line if e[1].reason == ModelUnavailable.kind), key=lambda e: e[1].wait)
        chosen = {(ref, candidate.profile.id) for ref, candidate in ready}
        tried.extend(
            _Try(ref=ref, profile=candidate.profile.id, kind=candidate.reason, wait=candidate.wait)
            for ref, candidate in line
            if (ref, candidate.profile.id) not in chosen
        )
        for index, (ref, candidate) in enumerate(ready):
            # A key that was just refused, or an empty account, does not get better with another model.
            fresh = next((c for c in self._candidates(ref, request) if c.profile.id == candidate.profile.id), candidate)
            if fresh.wait and not candidate.wait and fresh.reason in _OF_THE_ACCOUNT:
                tried.append(_Try(ref=ref, profile=fresh.profile.id, kind=fresh.reason, wait=fresh.wait))
                continue
            yield ref, candidate, index == len(ready) - 1

    def _candidates(self, ref: ModelRef, request: ModelRequest) -> tuple[Candidate, ...]:
        try:
            found = self._profiles.candidates(ref.provider, request.session, request.choice.profile)
        except BadInput as error:
            raise ModelMisconfigured(str(error), hint=error.hint) from error
        if found or not self._keyless(ref.provider):
            return found
        return (self._profiles.without_key(ref.provider),)

    def _soonest(self, request: ModelRequest) -> float:
        """Seconds until somebody of the choice may be asked again."""
        refs = (request.choice.primary, *request.choice.fallbacks)
        return min((candidate.wait for ref in refs for candidate in self._candidates(ref, request)), default=0.0)

    def _blame(self, profile: Profile, error: ModelError, before: list[_Try]) -> None:
        """One turn costs a profile one step of cooldown, however many models it was tried with."""
        if error.kind in _OF_THE_ACCOUNT or not any(entry.profile == profile.id and entry.blamed for entry in before):
            self._profiles.failed(profile, error)

    def _pause(self, error: ModelError, *, last: bool) -> float | None:
        """How long to wait before asking the same one again; None: do not."""
        if isinstance(error, ModelUnavailable):
            return self._limits.pause * (0.5 + self._jitter())
        if isinstance(error, ModelRateLimited) and last and error.retry_after is not None:
            return error.retry_after if error.retry_after <= self._limits.patience else None
        return None


def _lend(profile: Profile) -> str:
    try:
        return profile.secret()
    except (BadInput, StoreError, ModelMisconfigured) as error:
        raise ModelUnauthorized(f"The key of {profile.id} cannot be had: {error}", hint=error.hint) from error


def nearest_level(wanted: ThinkingLevel, supported: tuple[str, ...]) -> ThinkingLevel:
    """The strongest supported level that is not above `wanted`; if there is none the weakest, and "off" if nothing is known."""
    known = [level for level in _LEVELS if level in supported]
    below = [level for level in known if _LEVELS.index(level) <= _LEVELS.index(wanted)]
    return below[-1] if below else known[0] if known else "off"


def _reason(tried: list[_Try], primary: ModelRef, begun: int) -> str:
    """Why somebody else begins: the last failure, or what keeps the primary from being asked at all."""
    kept = (entry for entry in tried if entry.ref == primary)
    return (tried[-1] if begun > 1 else next(kept, tried[-1])).sentence()


def _nobody_answered(tried: list[_Try]) -> ModelError:
    kinds = {entry.kind for entry in tried}
    only = tried[-1].error
    if only is not None and len({(entry.ref, entry.profile) for entry in tried}) == 1:
        return only
    what = ", ".join(dict.fromkeys(entry.sentence() for entry in tried))
    message = f"No model answered: {what}"
    hint = next((entry.error.hint for entry in tried if entry.error is not None and entry.error.hint), "")
    hint = hint or _HINTS.get(tried[0].kind, _HINTS[ModelUnavailable.kind])
    if kinds == {ModelRateLimited.kind}:
        waits = [entry.wait for entry in tried if entry.wait]
        return ModelRateLimited(message, retry_after=min(waits) if waits else None, hint=hint)
    alike = {ModelUnauthorized.kind: ModelUnauthorized, ModelBilling.kind: ModelBilling}
    return (
        alike.get(kinds.pop(), ModelUnavailable)(message, hint=hint) if len(kinds) == 1 else ModelUnavailable(message, hint=hint)
    )


def _span(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} more min" if minutes < 90 else f"{round(minutes / 60)} more h"
