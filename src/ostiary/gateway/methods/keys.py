"""Sessions by the key a caller names."""

from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import SessionRecord
from ostiary.core.routing.scopes import parse_key
from ostiary.gateway.methods.services import Services
from ostiary.gateway.protocol.errors import MethodError

# A turn has far fewer events; a session with more of them has a record.
_FIRST_TURN = 5000


def key_of(text: str) -> SessionKey:
    """Raises MethodError INVALID_PARAMS."""
    try:
        return parse_key(text)
    except BadInput as error:
        raise MethodError("INVALID_PARAMS", f"key: {error}.", hint=error.hint, details={"path": "key"}) from None


def speakable(services: Services, text: str) -> SessionKey:
    """The key of a session that may be spoken in: of an agent there is. Raises MethodError."""
    key = key_of(text)
    if key.agent not in services.agents():
        raise MethodError("NOT_FOUND", f"There is no agent {key.agent!r}.")
    return key


async def known(services: Services, text: str) -> SessionRecord:
    """The record of a session that exists. Raises MethodError NOT_FOUND."""
    key = key_of(text)
    record = await services.store.session(key) or await begun(services, key)
    if record is None:
        raise MethodError("NOT_FOUND", f"There is no session {str(key)[:120]}.")
    return record


async def begun(services: Services, key: SessionKey) -> SessionRecord | None:
    """What stands for the record of a session whose first turn is not over: it has a journal already."""
    journal = await services.store.read(key, limit=_FIRST_TURN)
    if not journal:
        return None
    last = journal[-1]
    return SessionRecord(key=key, created_at=journal[0].at, updated_at=last.at, last_seq=last.seq)
