"""Devices at the socket: proven, then known, or approved because they are ours, or asked to wait for the owner."""

import secrets
from collections import OrderedDict, deque
from collections.abc import Callable

from ostiary.contracts.errors import Busy
from ostiary.contracts.records import dataclass
from ostiary.gateway.asgi import Scope
from ostiary.gateway.auth.callers import (
    ALL_SCOPES,
    MODEST_SCOPES,
    Caller,
    Connect,
    NeedsPairing,
    Refused,
    narrowed,
    of_device,
)
from ostiary.gateway.auth.desk import DEVICE_TOKEN
from ostiary.gateway.auth.failures import FailureBudget
from ostiary.gateway.auth.noting import Noted, unnoted
from ostiary.gateway.auth.owner_secret import OwnerSecret
from ostiary.gateway.auth.place import client_address, is_local
from ostiary.gateway.auth.ports import Books, Device, Kind
from ostiary.gateway.auth.proof import Proofs
from ostiary.gateway.auth.rules import AccessRules
from ostiary.gateway.auth.secret import digest, new_code, new_secret, same_digest

_REFUSED_RETRY = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guest:
    """A device that has proven its key. `is_vouched`: it also showed the owner's secret."""

    id: str
    kind: Kind
    public_key: bytes
    display_name: str
    platform: str
    scopes: tuple[str, ...]
    is_vouched: bool
    is_local: bool
    address: str


class Admission:
    """Approval is one decision: the owner's, or the owner's secret shown by a device on the owner's own machine."""

    def __init__(
        self,
        books: Books | None,
        *,
        owner_secret: OwnerSecret,
        failures: FailureBudget,
        rules: Callable[[], AccessRules],
        now: Callable[[], float],
        saw: Callable[[Caller], None],
        noted: Noted = unnoted,
    ) -> None:
        self._books = books
        self._owner_secret = owner_secret
        self._failures = failures
        self._rules = rules
        self._now = now
        self._saw = saw
        self._noted = noted
        self._proofs = Proofs()
        self._asked = _AskingRate()

    async def admit(self, scope: Scope, connect: Connect, nonce: str) -> Caller | NeedsPairing | Refused:
        """Raises ApiError for a wrong secret, StoreError."""
        books, proof = self._books, connect.device
        if books is None:
            return Refused(code="UNAVAILABLE", message="This gateway keeps no devices.")
        if proof is None:
            return Refused(code="UNAUTHORIZED", message="A device token needs the device's signature beside it.")
        if connect.scopes is not None and not frozenset(connect.scopes) <= ALL_SCOPES:
            return Refused(code="INVALID_PARAMS", message="scopes: one is not read, chat, approve or admin.")
        address = client_address(scope, self._rules())
        key, problem = await self._proofs.check(connect, proof, nonce, self._now())
        if key is None:
            return self._refuse(address, problem)
        known = books.reads.devices.get(proof.id)
        if known is not None and known.revoked_at:
            return Refused(code="FORBIDDEN", message="This device was revoked.", hint="Make a new device key and pair again.")
        is_vouched = False
        if connect.token or connect.password:
            self._owner_secret.check(scope, self._rules(), token=connect.token, password=connect.password)
            is_vouched = True
        guest = _Guest(
            id=proof.id,
            kind="node" if connect.role == "node" else "operator",
            public_key=key,
            display_name=shown(connect.display_name or connect.client_id, 64),
            platform=shown(connect.platform, 64),
            scopes=() if connect.role == "node" else tuple(sorted(self._wishes(connect, is_vouched=is_vouched))),
            is_vouched=is_vouched,
            is_local=is_local(scope),
            address=address,
        )
        if connect.device_token:
            return self._by_token(books, guest, connect)
        if known is not None and known.kind == guest.kind and (is_vouched or known.token_due):
            return await self._welcome(books, guest, known, connect)
        if known is None and guest.is_vouched and guest.is_local:
            return await self._take_in(books, guest, connect)
        return await self._ask(books, guest)

    def _wishes(self, connect: Connect, *, is_vouched: bool) -> frozenset[str]:
        if connect.scopes is not None:
            return frozenset(connect.scopes)
        return ALL_SCOPES if is_vouched else MODEST_SCOPES

    def _by_token(self, books: Books, guest: _Guest, connect: Connect) -> Caller | Refused:
        """Token and key must be of the same device: a stolen token is of no use without the key."""
        hashed = digest(connect.device_token)
        found = books.reads.devices.by_secret(hashed, self._now())
        if found is None or not same_digest(found[1], hashed) or found[0].id != guest.id or found[0].kind != guest.kind:
            return self._refuse(guest.address, "The device token is not this device's, or has ended.")
        return self._caller(found[0], connect)

    async def _welcome(self, books: Books, guest: _Guest, known: Device, connect: Connect) -> Caller | Refused:
        """An approved device; the first time it gets its token, and only once."""
        token, now = new_secret(DEVICE_TOKEN), self._now()
        issued = known.token_due and await books.write(lambda ledger: ledger.devices.issue(guest.id, digest(token), now))
        if not issued and not guest.is_vouched:
            return self._refuse(guest.address, "Send this device's token.")
        return self._caller(known, connect, token=token if issued else "")

    async def _take_in(self, books: Books, guest: _Guest, connect: Connect) -> Caller | Refused:
        token, now = new_secret(DEVICE_TOKEN), self._now()
        try:
            added = await books.write(
                lambda ledger: ledger.devices.add(
                    id=guest.id,
                    kind=guest.kind,
                    public_key=guest.public_key,
                    display_name=guest.display_name,
                    platform=guest.platform,
                    scopes=guest.scopes,
                    hash=digest(token),
                    now=now,
                )
            )
        except Busy as error:
            return Refused(code="BUSY", message=f"{error}.", hint=error.hint, retry_after=_REFUSED_RETRY)
        known = books.reads.devices.get(guest.id)
        if known is None or known.revoked_at:
            return Refused(code="UNAVAILABLE", message="The device could not be kept.")
        self._noted("device.paired", guest.address, guest.id, "local", {"name": guest.display_name, "scopes": list(guest.scopes)})
        return self._caller(known, connect, token=token if added else "")

    async def _ask(self, books: Books, guest: _Guest) -> NeedsPairing | Refused:
        """Who asks again is told the same; who asks too much is told nothing and costs nothing."""
        now, kept = self._now(), self._rules().pairing_seconds
        open_one = books.reads.pairings.of_device(guest.id, now)
        if open_one is None or open_one.scopes != guest.scopes or open_one.kind != guest.kind:
            if not guest.is_vouched and not self._asked.may(guest.address, now):
                return _too_many_requests()
            open_one = await books.write(
                lambda ledger: ledger.pairings.ask(
                    id=f"pair_{secrets.token_hex(8)}",
                    device=guest.id,
                    kind=guest.kind,
                    public_key=guest.public_key,
                    display_name=guest.display_name,
                    platform=guest.platform,
                    scopes=guest.scopes,
                    code=new_code(),
                    address=guest.address,
                    now=now,
                    expires_at=now + kept,
                    is_vouched=guest.is_vouched,
                )
            )
            self._noted(
                "device.asked", guest.address, guest.id, "waiting" if open_one else "refused", {"name": guest.display_name}
            )
        if open_one is None:
            return _too_many_requests()
        return NeedsPairing(request=open_one.id, device=guest.id, code=open_one.code, expires_at=open_one.expires_at)

    def _caller(self, known: Device, connect: Connect, *, token: str = "") -> Caller | Refused:
        caller = narrowed(of_device(known.id, known.scopes, token=token), connect.scopes)
        if not caller.scopes and known.kind == "operator":
            return Refused(code="FORBIDDEN", message="This device has none of the scopes it asks for.")
        self._saw(caller)
        return caller

    def _refuse(self, address: str, problem: str) -> Refused:
        wait = self._failures.count(address)
        if wait:
            return Refused(code="BUSY", message="Too many wrong tries; wait before the next.", retry_after=wait)
        return Refused(code="UNAUTHORIZED", message=problem)


class _AskingRate:
    """New pairing requests of strangers: so many per address and in all within ten minutes, counted before any is stored."""

    _WINDOW = 600.0
    _OF_ONE = 5
    _OF_ALL = 60
    _ADDRESSES = 1024

    def __init__(self) -> None:
        self._all: deque[float] = deque(maxlen=self._OF_ALL)
        self._by_address: OrderedDict[str, deque[float]] = OrderedDict()

    def may(self, address: str, now: float) -> bool:
        own = self._by_address.setdefault(address, deque(maxlen=self._OF_ONE))
        self._by_address.move_to_end(address)
        if len(self._by_address) > self._ADDRESSES:
            self._by_address.popitem(last=False)
        if any(len(times) == times.maxlen and now - times[0] < self._WINDOW for times in (own, self._all)):
            return False
        own.append(now)
        self._all.append(now)
        return True


def shown(text: str, size: int) -> str:
    """A stranger's words as one short line: nothing that cannot be seen, nothing that turns the line around."""
    return "".join(letter for letter in text if letter.isprintable())[:size].strip() or "unnamed"


def _too_many_requests() -> Refused:
    return Refused(code="BUSY", message="Too many devices ask to be paired; try again later.", retry_after=_REFUSED_RETRY)
