import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.errors import BadInput, Conflict, NotAllowed
from ostiary.gateway.auth import ALL_SCOPES, Caller, NeedsPairing, Refused, may_grant, owner, spelled_out
from ostiary.gateway.auth.callers import of_device
from tests.unit.gateway.auth.support import LOCAL, NONCE, NOW, PASSWORD, REMOTE, TOKEN, Phone, World, bearer, socket

OWNER = owner("token")


async def test_an_unknown_device_waits_for_approval_and_then_gets_its_token_once(world: World) -> None:
    phone = Phone()
    asked = await world.connect(phone, scopes=("read", "chat"))
    again = await world.connect(phone, scopes=("read", "chat"))
    await world.gate.desk.approve(asked.request, OWNER)
    first = await world.connect(phone, scopes=("read", "chat"))
    second = await world.connect(phone, scopes=("read", "chat"))
    later = await world.connect(phone, device_token=first.device_token)
    assert isinstance(asked, NeedsPairing)
    assert asked == again
    assert first.device_token.startswith("odt_")
    assert isinstance(second, NeedsPairing)
    assert (later.id, later.scopes, later.device_token) == (f"device:{phone.id}", frozenset({"read", "chat"}), "")


async def test_a_device_on_this_machine_that_shows_the_token_needs_no_approval(world: World) -> None:
    caller = await world.connect(Phone(), client=LOCAL, token=TOKEN)
    assert isinstance(caller, Caller)
    assert caller.device_token
    assert (caller.kind, caller.scopes) == ("device", ALL_SCOPES)


@pytest.mark.parametrize(
    ("client", "token", "headers"),
    [
        (LOCAL, "", {}),
        (REMOTE, TOKEN, {}),
        (LOCAL, TOKEN, {"x_forwarded_for": "127.0.0.1"}),
        (LOCAL, TOKEN, {"forwarded": "for=127.0.0.1"}),
        (LOCAL, TOKEN, {"via": "1.1 proxy"}),
    ],
)
async def test_neither_place_nor_token_alone_nor_a_proxied_connection_approves(
    world: World, client: Any, token: str, headers: dict[str, str]
) -> None:
    said = Phone().connect(token=token)
    assert isinstance(await world.gate.identify_socket(socket(client=client, **headers), said, NONCE), NeedsPairing)


async def test_a_wrong_token_beside_a_right_signature_records_nothing(world: World) -> None:
    answer = await world.connect(Phone(), client=LOCAL, token="wrong")
    assert isinstance(answer, Refused)
    assert world.gate.desk.list(OWNER).pending == []


async def test_a_password_vouches_in_password_mode(world: World) -> None:
    world.rules = replace(world.rules, mode="password")
    assert isinstance(await world.connect(Phone(), client=LOCAL, password=PASSWORD), Caller)


async def test_a_signature_over_another_challenge_is_refused(world: World) -> None:
    said = Phone().connect("the-nonce-of-another-socket", token=TOKEN)
    answer = await world.gate.identify_socket(socket(), said, NONCE)
    assert isinstance(answer, Refused)


async def test_a_replayed_challenge_is_refused(world: World) -> None:
    said = Phone().connect(NONCE, token=TOKEN)
    first = await world.gate.identify_socket(socket(), said, NONCE)
    replayed = await world.gate.identify_socket(socket(), said, NONCE)
    elsewhere = await world.gate.identify_socket(socket(), said, "the-nonce-of-another-socket")
    assert isinstance(first, Caller)
    assert isinstance(replayed, Refused)
    assert isinstance(elsewhere, Refused)


@pytest.mark.parametrize("nonce", ["", "short"])
async def test_a_connection_without_a_real_challenge_proves_nothing(world: World, nonce: str) -> None:
    assert isinstance(await world.gate.identify_socket(socket(), Phone().connect(nonce, token=TOKEN), nonce), Refused)


@pytest.mark.parametrize("at", [NOW - 3600, NOW + 3600, 0.0])
async def test_an_old_signature_is_refused(world: World, at: float) -> None:
    assert isinstance(await world.gate.identify_socket(socket(), Phone().connect(at=at, token=TOKEN), NONCE), Refused)


@pytest.mark.parametrize(
    "change",
    [
        {"scopes": ("admin",)},
        {"scopes": None},
        {"role": "node"},
        {"client_id": "another"},
        {"client_id": "phone|operator"},
        {"client_id": ""},
    ],
)
async def test_what_was_signed_cannot_be_changed(world: World, change: dict[str, Any]) -> None:
    said = replace(Phone().connect(scopes=("read",), token=TOKEN), **change)
    assert isinstance(await world.gate.identify_socket(socket(), said, NONCE), Refused)


@pytest.mark.parametrize(
    "change",
    [
        {"id": "0" * 64},
        {"id": ""},
        {"public_key": base64.b64encode(bytes(32)).decode()},
        {"public_key": "not base64 !"},
        {"public_key": ""},
        {"signature": base64.b64encode(bytes(64)).decode()},
        {"signature": "A" * 4000},
        {"signature": ""},
        {"signed_at": int(NOW * 1000) + 1},
    ],
)
async def test_what_identifies_the_device_cannot_be_changed(world: World, change: dict[str, Any]) -> None:
    said = Phone().connect(token=TOKEN)
    assert said.device is not None
    forged = replace(said, device=replace(said.device, **change))
    assert isinstance(await world.gate.identify_socket(socket(), forged, NONCE), Refused)


async def test_a_stolen_device_token_is_useless_without_the_key(world: World) -> None:
    caller = await world.pair(Phone(), "admin")
    thief = await world.connect(Phone(), device_token=caller.device_token)
    unsigned = await world.gate.identify_socket(
        socket(), replace(Phone().connect(), device=None, device_token=caller.device_token), ""
    )
    assert isinstance(thief, Refused)
    assert isinstance(unsigned, Refused)


async def test_a_device_never_has_more_scopes_than_it_was_granted(world: World) -> None:
    phone = Phone()
    caller = await world.pair(phone, "read")
    greedy = await world.connect(phone, device_token=caller.device_token, scopes=("read", "chat", "admin"))
    other = await world.connect(phone, device_token=caller.device_token, scopes=("chat",))
    assert greedy.scopes == frozenset({"read"})
    assert isinstance(other, Refused)


async def test_an_operator_cannot_come_as_a_node_nor_a_node_as_an_operator(world: World) -> None:
    phone = Phone()
    caller = await world.pair(phone, "read")
    assert isinstance(await world.connect(phone, device_token=caller.device_token, role="node"), Refused)


async def test_an_unknown_scope_is_refused(world: World) -> None:
    answer = await world.connect(Phone(), scopes=("root",))
    assert (answer.code, world.gate.desk.list(OWNER).pending) == ("INVALID_PARAMS", [])


async def test_a_device_that_names_no_scopes_asks_for_few(world: World) -> None:
    await world.connect(Phone())
    (asked,) = world.gate.desk.list(OWNER).pending
    assert asked.scopes == ("chat", "read")


async def test_an_approver_cannot_make_an_administrator(world: World) -> None:
    approver = await world.pair(Phone(), "read", "approve")
    asked = await world.connect(Phone(), scopes=("admin",))
    with pytest.raises(NotAllowed):
        await world.gate.desk.approve(asked.request, approver)
    with pytest.raises(NotAllowed):
        await world.gate.desk.approve(asked.request, approver, ["read", "chat"])
    with pytest.raises(NotAllowed):
        await world.gate.desk.approve(asked.request, approver, ["read", "root"])
    granted = await world.gate.desk.approve(asked.request, approver, ["read"])
    assert granted.scopes == ("read",)


async def test_an_approver_cannot_narrow_an_administrators_device(world: World) -> None:
    phone = Phone()
    await world.pair(phone, "admin")
    approver = await world.pair(Phone(), "read", "approve")
    asked = await world.connect(phone, scopes=("read",))
    with pytest.raises(NotAllowed):
        await world.gate.desk.approve(asked.request, approver)


@pytest.mark.parametrize("scopes", [("read",), ("chat",), ("read", "chat")])
async def test_only_an_approver_sees_or_decides_requests(world: World, scopes: tuple[str, ...]) -> None:
    caller = await world.pair(Phone(), *scopes)
    asked = await world.connect(Phone(), scopes=("read",))
    with pytest.raises(NotAllowed):
        world.gate.desk.list(caller)
    with pytest.raises(NotAllowed):
        await world.gate.desk.approve(asked.request, caller)
    with pytest.raises(NotAllowed):
        await world.gate.desk.reject(asked.request, caller)


async def test_only_an_administrator_or_the_device_itself_rotates_and_revokes(world: World) -> None:
    mine = await world.pair(Phone(), "read", "approve")
    other = await world.pair(Phone(), "admin")
    with pytest.raises(NotAllowed):
        await world.gate.desk.rotate(other.device, mine)
    with pytest.raises(NotAllowed):
        await world.gate.desk.revoke(other.device, mine)
    with pytest.raises(NotAllowed):
        await world.gate.desk.set_scopes(mine.device, ["admin"], mine)
    with pytest.raises(NotAllowed):
        await world.gate.desk.make_link(mine, "http://127.0.0.1:1")
    await world.gate.desk.revoke(mine.device, other)
    await world.gate.desk.revoke(other.device, other)


async def test_rotation_ends_the_old_token(world: World) -> None:
    phone = Phone()
    caller = await world.pair(phone, "read")
    fresh = await world.gate.desk.rotate(phone.id, caller)
    assert isinstance(await world.connect(phone, device_token=caller.device_token), Refused)
    assert isinstance(await world.connect(phone, device_token=fresh), Caller)


async def test_a_revoked_device_does_not_come_back(world: World) -> None:
    phone = Phone()
    caller = await world.pair(phone, "admin")
    await world.gate.desk.revoke(phone.id, OWNER)
    answers = [
        await world.connect(phone, device_token=caller.device_token),
        await world.connect(phone),
        await world.connect(phone, client=LOCAL, token=TOKEN),
    ]
    assert [answer.code for answer in answers] == ["FORBIDDEN"] * 3
    with pytest.raises(BadInput):
        await world.gate.desk.rotate(phone.id, OWNER)


async def test_what_was_compared_is_what_is_granted(world: World) -> None:
    """A request that changes its wishes gets another code, and the old one approves nothing."""
    phone = Phone()
    modest = await world.connect(phone, scopes=("read",))
    greedy = await world.connect(phone, scopes=("admin",))
    assert greedy.code != modest.code
    with pytest.raises(BadInput):
        await world.gate.desk.approve(modest.code, OWNER)


async def test_a_request_is_approved_by_its_code_too_and_only_once(world: World) -> None:
    asked = await world.connect(Phone())
    await world.gate.desk.approve(asked.code, OWNER)
    with pytest.raises(BadInput):
        await world.gate.desk.approve(asked.code, OWNER)


async def test_a_rejected_request_is_gone(world: World) -> None:
    asked = await world.connect(Phone())
    await world.gate.desk.reject(asked.request, OWNER)
    with pytest.raises(BadInput):
        await world.gate.desk.approve(asked.request, OWNER)


async def test_a_request_expires_after_an_hour(world: World) -> None:
    asked = await world.connect(Phone())
    world.now += 3601
    with pytest.raises(BadInput):
        await world.gate.desk.approve(asked.request, OWNER)
    assert world.gate.desk.list(OWNER).pending == []


async def test_a_flood_of_requests_is_bounded_and_leaves_room_for_who_has_the_token(world: World) -> None:
    answers = [await world.connect(Phone(), client=(f"192.0.2.{number}", 1)) for number in range(30) for _ in range(5)]
    pending = len(world.gate.desk.list(OWNER).pending)
    vouched = await world.connect(Phone(), token=TOKEN)
    assert pending == sum(isinstance(answer, NeedsPairing) for answer in answers) == 20
    assert {answer.code for answer in answers if isinstance(answer, Refused)} == {"BUSY"}
    assert isinstance(vouched, NeedsPairing)


async def test_one_address_cannot_take_all_places(world: World) -> None:
    answers = [await world.connect(Phone()) for _ in range(8)]
    elsewhere = await world.connect(Phone(), client=("192.0.2.99", 1))
    assert sum(isinstance(answer, NeedsPairing) for answer in answers) == 3
    assert isinstance(elsewhere, NeedsPairing)


async def test_names_of_strangers_are_one_short_visible_line(world: World) -> None:
    await world.connect(Phone(), display_name="Mum\u202e\x1b[2J\n\u0000" + "x" * 500, platform="</script>")
    (asked,) = world.gate.desk.list(OWNER).pending
    assert asked.display_name.startswith("Mum[2Jx")
    assert (len(asked.display_name), asked.display_name.isprintable()) == (64, True)


async def test_widening_takes_an_administrator_and_narrowing_counts_at_once(world: World) -> None:
    caller = await world.pair(Phone(), "read", "chat")
    await world.gate.desk.set_scopes(caller.device, ["read"], OWNER)
    assert world.gate.identify(bearer(caller.device_token)).scopes == frozenset({"read"})
    with pytest.raises(BadInput):
        await world.gate.desk.set_scopes(caller.device, ["root"], OWNER)


async def test_an_approval_that_comes_too_late_says_so(world: World) -> None:
    asked = await world.connect(Phone())
    await world.db.write(lambda ledger: ledger.pairings.reject(asked.request))
    with pytest.raises((BadInput, Conflict)):
        await world.gate.desk.approve(asked.request, OWNER)


SCOPES = st.frozensets(st.sampled_from(["read", "chat", "approve", "admin", "root", "Admin", "", "read "]))


@given(held=SCOPES, asked=SCOPES)
def test_nobody_grants_what_they_have_not(held: frozenset[str], asked: frozenset[str]) -> None:
    granter = of_device("d", held)
    assert not may_grant(granter, asked) or (spelled_out(asked) <= granter.scopes and asked <= ALL_SCOPES)
    assert ("admin" in spelled_out(asked)) == ("admin" in asked)
    assert spelled_out(asked) in (ALL_SCOPES, asked & ALL_SCOPES)
