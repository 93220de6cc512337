"""What people do about devices: look, approve, reject, rotate, revoke, make a link. Each asks first whether the caller may."""

import secrets
from collections.abc import Callable, Sequence

from ostiary.contracts.errors import BadInput, Conflict, NotAllowed, StoreUnavailable
from ostiary.contracts.records import dataclass
from ostiary.gateway.auth.callers import Holder, may_grant
from ostiary.gateway.auth.noting import Noted, name_of, unnoted
from ostiary.gateway.auth.ports import Books, Device, Links, PairingRequest
from ostiary.gateway.auth.rules import AccessRules
from ostiary.gateway.auth.secret import digest, new_secret

DEVICE_TOKEN = "odt_"  # noqa: S105 - what device tokens begin with
LINK_CODE = "ol_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    pending: Sequence[PairingRequest]
    devices: Sequence[Device]


class DeviceDesk:
    """Raises NotAllowed for a caller who may not, BadInput for what is not there, StoreError."""

    def __init__(
        self,
        books: Books | None,
        *,
        now: Callable[[], float],
        rules: Callable[[], AccessRules],
        on_change: Callable[[], None],
        noted: Noted = unnoted,
    ) -> None:
        self._books = books
        self._now = now
        self._rules = rules
        self._on_change = on_change
        self._noted = noted

    def list(self, by: Holder) -> Listing:
        _require(by, "approve")
        now, reads = self._now(), self._open().reads
        return Listing(pending=reads.pairings.all(now), devices=reads.devices.all(now))

    async def approve(self, id_or_code: str, by: Holder, scopes: Sequence[str] | None = None) -> Device:
        """With the scopes it asked for, or with these; never with more than the approver has."""
        _require(by, "approve")
        now, books = self._now(), self._open()
        request = books.reads.pairings.get(id_or_code.strip(), now)
        if request is None:
            raise BadInput("There is no such pairing request", hint="It may have expired; let the device ask again.")
        granted = tuple(sorted(set(request.scopes if scopes is None else scopes)))
        if not may_grant(by, granted):
            raise NotAllowed(
                f"The scopes {', '.join(granted)} are more than you may give", hint="Name fewer, or let the owner approve."
            )
        if not granted and request.kind == "operator":
            raise BadInput("A device without scopes can do nothing", hint="Name at least one: read, chat, approve, admin.")
        known = books.reads.devices.get(request.device)
        if known is not None and not may_grant(by, known.scopes):
            raise NotAllowed("This device has more rights than you; only its equal may change it")
        if not await books.write(lambda ledger: ledger.pairings.approve(request.id, granted, now)):
            raise Conflict("The request is gone or its device was revoked")
        self._noted("device.approved", name_of(by), request.device, "paired", {"scopes": list(granted)})
        self._on_change()
        device = books.reads.devices.get(request.device)
        if device is None:
            raise Conflict("The device is gone")
        return device

    async def reject(self, id_or_code: str, by: Holder) -> None:
        _require(by, "approve")
        books = self._open()
        request = books.reads.pairings.get(id_or_code.strip(), self._now())
        if request is None or not await books.write(lambda ledger: ledger.pairings.reject(request.id)):
            raise BadInput("There is no such pairing request")
        self._noted("device.rejected", name_of(by), request.device, "rejected")

    async def rotate(self, device: str, by: Holder) -> str:
        """A new token for it; the old one and the sockets it opened end. A device may do this for itself."""
        _require_own(by, device)
        token, now = new_secret(DEVICE_TOKEN), self._now()
        known = self._open().reads.devices.get(device)
        if known is None or known.revoked_at or known.kind == "browser":
            raise BadInput("There is no such device")
        if not await self._open().write(lambda ledger: ledger.devices.rotate(device, digest(token), now)):
            raise BadInput("There is no such device")
        self._noted("device.rotated", name_of(by), device, "rotated")
        self._on_change()
        return token

    async def set_scopes(self, device: str, scopes: Sequence[str], by: Holder) -> None:
        """Only an administrator gives or takes scopes of a device that is in."""
        _require(by, "admin")
        granted, now = tuple(sorted(set(scopes))), self._now()
        known = self._open().reads.devices.get(device)
        if known is None or known.kind == "browser" or not granted or not may_grant(by, granted):
            raise BadInput("There is no such device, or no such scope")
        if not await self._open().write(lambda ledger: ledger.devices.set_scopes(device, granted, now)):
            raise BadInput("There is no such device")
        self._noted("device.scoped", name_of(by), device, "changed", {"scopes": list(granted)})
        self._on_change()

    async def revoke(self, device: str, by: Holder) -> None:
        """Its token ends at once, its sockets within a second. A device or browser may do this to itself."""
        _require_own(by, device)
        now = self._now()
        if not await self._open().write(lambda ledger: ledger.devices.revoke(device, now)):
            raise BadInput("There is no such device")
        self._noted("device.revoked", name_of(by), device, "revoked")
        self._on_change()

    async def make_link(self, by: Holder, url: str) -> str:
        """A link that signs one browser in, once, for ten minutes. The code is behind the #: it is sent to no server."""
        _require(by, "admin")
        now, rules = self._now(), self._rules()
        self._noted("device.link", name_of(by), "browser", "made")
        return await self._open().write(lambda ledger: new_link(ledger.links, url, rules, now))

    async def sign_in_browser(self, display_name: str, platform: str) -> str:
        """The new session's secret, for its cookie. The caller has checked that this browser may."""
        secret, now = new_secret(), self._now()
        id, kept = secrets.token_hex(16), self._rules().session_seconds
        self._noted("login", f"browser:{id}", display_name, "signed in")
        await self._open().write(
            lambda ledger: ledger.devices.add(
                id=id,
                kind="browser",
                public_key=b"",
                display_name=display_name,
                platform=platform,
                scopes=("admin",),
                hash=digest(secret),
                now=now,
                expires_at=now + kept,
            )
        )
        return secret

    async def take_link(self, code: str) -> bool:
        """True once per link, and only in time."""
        now = self._now()
        return await self._open().write(lambda ledger: ledger.links.take(digest(code), now))

    def _open(self) -> Books:
        if self._books is None:
            raise StoreUnavailable("This gateway keeps no devices")
        return self._books


def new_link(links: Links, url: str, rules: AccessRules, now: float) -> str:
    """As `make_link`, for who holds the books themselves. `url` is where the gateway is, such as http://127.0.0.1:18789."""
    code, base = new_secret(LINK_CODE), rules.base_path.strip("/")
    links.add(digest(code), now + rules.link_seconds)
    return f"{url.rstrip('/')}/{base}{'/' if base else ''}#k={code}"


def _require(by: Holder, scope: str) -> None:
    if scope not in by.scopes:
        raise NotAllowed(f"This needs the scope {scope}")


def _require_own(by: Holder, device: str) -> None:
    if "admin" not in by.scopes and not (device and by.device == device):
        raise NotAllowed("This needs the scope admin, or must be about yourself")
