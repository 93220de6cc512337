"""Devices: letting them in, renewing their tokens, sending them away."""

from ostiary.gateway.methods.services import Call, DeviceDesk, Services
from ostiary.gateway.protocol.devices import Approve, DeviceList, MakeLink, OfDevice, OfRequest, Paired, Rotated, SignInLink
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Done, Nothing


async def list_devices(call: Call[Nothing]) -> DeviceList:
    """The devices there are, and those that ask to be paired."""
    return await _desk(call.services).list(call.caller)


async def approve(call: Call[Approve]) -> Paired:
    """Let a device in, with no more than it asked for and no more than the granter has."""
    return await _desk(call.services).approve(call.params.id, call.params.scopes, call.caller)


async def reject(call: Call[OfRequest]) -> Done:
    """Turn a device's request down."""
    await _desk(call.services).reject(call.params.id, call.caller)
    return Done()


async def rotate(call: Call[OfDevice]) -> Rotated:
    """A new token for a device; the old one is void at once. A device may do this for itself."""
    _own_or_admin(call)
    token = await _desk(call.services).rotate(call.params.id, call.caller)
    return Rotated(device_id=call.params.id, device_token=token)


async def revoke(call: Call[OfDevice]) -> Done:
    """Send a device away; its sockets are closed within a second. A device may do this for itself."""
    _own_or_admin(call)
    await _desk(call.services).revoke(call.params.id, call.caller)
    return Done()


async def link(call: Call[MakeLink]) -> SignInLink:
    """A one-time link that signs another browser in as the owner."""
    return SignInLink(url=await _desk(call.services).link(call.caller))


def _own_or_admin(call: Call[OfDevice]) -> None:
    is_own = bool(call.caller.device) and call.caller.device == call.params.id
    if not is_own and "admin" not in call.caller.scopes:
        raise MethodError("FORBIDDEN", "This needs the scope admin, except for one's own device.", details={"scope": "admin"})


def _desk(services: Services) -> DeviceDesk:
    assert services.devices is not None
    return services.devices


METHODS = (
    Method("device.pair.list", Nothing, DeviceList, "approve", list_devices, needs="devices"),
    Method("device.pair.approve", Approve, Paired, "approve", approve, has_effect=True, needs="devices"),
    Method("device.pair.reject", OfRequest, Done, "approve", reject, has_effect=True, needs="devices"),
    Method(
        "device.token.rotate",
        OfDevice,
        Rotated,
        "admin",
        rotate,
        has_effect=True,
        keeps_result=False,
        or_own=True,
        needs="devices",
    ),
    Method("device.link", MakeLink, SignInLink, "admin", link, has_effect=True, keeps_result=False, needs="devices"),
    Method("device.revoke", OfDevice, Done, "admin", revoke, has_effect=True, or_own=True, needs="devices"),
)
