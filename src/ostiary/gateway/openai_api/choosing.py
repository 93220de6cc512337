"""What a request says besides its words: which agent, which model, which session, and the key that makes it once only."""

import secrets
from collections.abc import Callable

from ostiary.contracts.engine import Engine
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.identity import Principal, SessionKey, is_id
from ostiary.contracts.model import ModelCatalogue
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Store
from ostiary.gateway.asgi import Scope, header
from ostiary.gateway.auth import caller_of
from ostiary.gateway.errors import ApiError, sentence
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.submission import Caller, SessionFor

NAME = "ostiary"


def principal_of(scope: Scope) -> Principal:
    """On whose authority a request comes that has passed the gate. Raises ApiError 401 if it has not."""
    return caller_of(scope).principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What both interfaces need of the house. `agents` are the ids that `model` may name; the first is the default.

    `question` gives what waits for a person under an id, as plain data; None if it waits no more."""

    engine: Engine
    catalogue: ModelCatalogue
    agents: Callable[[], tuple[str, ...]]
    session_for: SessionFor
    limits: Limits
    now: Callable[[], float]
    store: Store | None = None
    question: Callable[[str], object] = lambda approval: None

    def caller(self, scope: Scope, model: str) -> Caller:
        """Raises ApiError 400 or 404."""
        agent, chosen = self._choose(model.strip())
        principal = principal_of(scope)
        named = header(scope, b"x-ostiary-session")
        if named and not principal.is_owner:
            raise ApiError(403, "X-Ostiary-Session: only the owner names sessions by their keys.", code="not_allowed")
        try:
            session = SessionKey.parse(named) if named else None
        except BadInput as error:
            raise ApiError(400, f"X-Ostiary-Session: {sentence(error)}", code="invalid_value") from None
        if session is not None and session.agent not in self.agents():
            raise _no_agent(session.agent)
        key = header(scope, b"idempotency-key")
        if len(key) > 255 or not key.isprintable():
            raise ApiError(400, "Idempotency-Key: expected at most 255 printable characters.", code="invalid_value")
        return Caller(
            agent=agent,
            key=key,
            fresh=secrets.token_hex(12),
            at=self.now(),
            principal=principal,
            session=session,
            model=chosen,
        )

    def names(self) -> tuple[str, ...]:
        """What `model` may be: agents first, for talking to one is what this door is for; then the models."""
        agents = self.agents()
        found = [NAME, *(f"{NAME}/{agent}" for agent in agents), *(str(each.ref) for each in self.catalogue.choices(agents[0]))]
        return tuple(dict.fromkeys(found))

    def _choose(self, name: str) -> tuple[str, str]:
        """Which agent answers, and with which model if the caller names one. Raises ApiError 404."""
        agents = self.agents()
        if name in ("", NAME, "default"):
            return agents[0], ""
        kind, _, agent = name.partition("/") if name.startswith(f"{NAME}/") else name.partition(":")
        if kind in (NAME, "agent") and is_id(agent):
            if agent not in agents:
                raise _no_agent(agent)
            return agent, ""
        try:
            return agents[0], str(self.catalogue.choose(agents[0], name).primary)
        except OstiaryError as error:
            raise ApiError(404, sentence(error), code="model_not_found", param="model") from None


def _no_agent(agent: str) -> ApiError:
    return ApiError(404, f"There is no agent {agent!r}.", code="model_not_found", param="model")
