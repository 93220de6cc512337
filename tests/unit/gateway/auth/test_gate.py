from typing import Any

import pytest

from ostiary.adapters.gateway_db import connect_gateway_db
from ostiary.contracts.identity import EXTERNAL
from ostiary.gateway.auth import ALL_SCOPES, AccessRules, Caller, Connect, Gate, Refused, caller_of, require
from ostiary.gateway.errors import ApiError
from tests.unit.gateway.auth.support import (
    HOST,
    KEY,
    LOCAL,
    PASSWORD,
    REMOTE,
    RUN_TOKEN,
    TOKEN,
    Phone,
    World,
    bearer,
    http,
    socket,
)

ORIGIN = f"http://{HOST}"


def refused(gate: Gate, scope: dict[str, Any]) -> int:
    with pytest.raises(ApiError) as caught:
        gate.identify(scope)
    return caught.value.status


@pytest.mark.parametrize(("secret", "kind"), [(TOKEN, "token"), (RUN_TOKEN, "run")])
async def test_the_owners_tokens_are_the_owner(world: World, secret: str, kind: str) -> None:
    caller = world.gate.identify(bearer(secret, client=REMOTE))
    assert (caller.kind, caller.scopes, caller.principal.is_owner) == (kind, ALL_SCOPES, True)


@pytest.mark.parametrize(
    "authorization",
    ["Bearer", "Bearer ", "Bearer undefined", "Bearer null", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x",
     f"Bearer {TOKEN.upper()}", f"Bearer Bearer {TOKEN}", f"Bearer {PASSWORD}", f"Bearer {TOKEN},{TOKEN}"],
)  # fmt: skip
async def test_nothing_else_is(world: World, authorization: str) -> None:
    assert refused(world.gate, http(authorization=authorization)) == 401


@pytest.mark.parametrize("token", ["", " ", "undefined", "null", "None", "false"])
async def test_a_gateway_whose_token_is_blank_lets_nobody_in(world: World, token: str) -> None:
    world.token = token
    assert refused(world.gate, bearer(token)) == 401
    assert refused(world.gate, http()) == 401


async def test_a_secret_in_the_url_or_another_header_is_not_looked_at(world: World) -> None:
    scope = http(x_api_key=TOKEN, referer=f"{ORIGIN}/?token={TOKEN}")
    scope["query_string"] = f"token={TOKEN}&access_token={TOKEN}".encode()
    assert refused(world.gate, scope) == 401


async def test_two_authorizations_are_refused(world: World) -> None:
    scope = bearer(TOKEN)
    scope["headers"].append((b"authorization", b"Bearer x"))
    assert refused(world.gate, scope) == 400


async def test_being_local_lets_nobody_in(world: World) -> None:
    assert refused(world.gate, http(client=LOCAL)) == 401


async def test_pages_find_the_caller_and_fail_closed_without_one(world: World) -> None:
    scope = bearer(TOKEN)
    with pytest.raises(ApiError):
        caller_of(scope)
    assert world.gate.identify(scope) is caller_of(scope)


async def test_wrong_tokens_shut_an_address_out_and_another_is_not_concerned(world: World) -> None:
    tries = [refused(world.gate, bearer(f"wrong-{number}", client=REMOTE)) for number in range(5)]
    locked = refused(world.gate, bearer(TOKEN, client=REMOTE))
    elsewhere = world.gate.identify(bearer(TOKEN, client=("192.0.2.8", 1)))
    world.ticks = 301.0
    later = world.gate.identify(bearer(TOKEN, client=REMOTE))
    assert (tries, locked) == ([401, 401, 401, 429, 429], 429)
    assert (elsewhere.kind, later.kind) == ("token", "token")


async def test_the_owners_token_always_works_on_the_machine_itself(world: World) -> None:
    tries = [refused(world.gate, bearer("wrong", client=LOCAL)) for _ in range(5)]
    assert tries[-1] == 429
    assert world.gate.identify(bearer(TOKEN, client=LOCAL)).kind == "token"
    assert refused(world.gate, bearer(TOKEN, client=LOCAL, x_forwarded_for="127.0.0.1")) == 429


async def test_what_we_made_ourselves_is_never_shut_out(world: World) -> None:
    caller = await world.pair(Phone(), "read")
    tries = [refused(world.gate, bearer(f"wrong-{number}", client=REMOTE)) for number in range(5)]
    assert tries[-1] == 429
    assert world.gate.identify(bearer(RUN_TOKEN, client=REMOTE)).kind == "run"
    assert world.gate.identify(bearer(caller.device_token, client=REMOTE)).id == caller.id
    assert world.gate.identify(http(client=REMOTE, cookie=await world.sign_in())).kind == "browser"


async def test_all_ways_in_share_one_budget(world: World) -> None:
    """Bearer, cookie, socket token, socket password, device signature: five tries, of which three are free."""
    statuses = [
        refused(world.gate, bearer("wrong", client=REMOTE)),
        refused(world.gate, http(client=REMOTE, cookie="ostiary=wrong")),
    ]
    said = [Connect(token="wrong"), Connect(password="wrong"), Phone().connect("another-connections-nonce")]
    answers = [await world.gate.identify_socket(socket(client=REMOTE), each, "this-connections-nonce") for each in said]
    assert statuses == [401, 401]
    assert [answer.code for answer in answers if isinstance(answer, Refused)] == ["UNAUTHORIZED", "BUSY", "BUSY"]
    assert refused(world.gate, bearer(TOKEN, client=REMOTE)) == 429


async def test_coming_without_any_secret_is_no_guess(world: World) -> None:
    statuses = {refused(world.gate, http(client=REMOTE)) for _ in range(20)}
    assert statuses == {401}
    assert world.gate.identify(bearer(TOKEN, client=REMOTE)).kind == "token"


async def test_the_password_counts_only_in_password_mode_and_then_instead_of_the_token(world: World) -> None:
    world.rules = AccessRules(mode="password")
    assert world.gate.identify(bearer(PASSWORD)).kind == "password"
    assert refused(world.gate, bearer(TOKEN)) == 401
    assert world.gate.identify(bearer(RUN_TOKEN)).kind == "run"


async def test_a_password_is_not_guessed_even_locally(world: World) -> None:
    world.rules = AccessRules(mode="password")
    for number in range(4):
        refused(world.gate, bearer(f"wrong-{number}", client=LOCAL))
    assert refused(world.gate, bearer(PASSWORD, client=LOCAL)) == 429


async def test_a_device_token_carries_its_scopes_and_no_more(world: World) -> None:
    paired = await world.pair(Phone(), "read", "chat")
    caller = world.gate.identify(bearer(paired.device_token))
    assert (caller.kind, caller.scopes) == ("device", frozenset({"read", "chat"}))
    assert caller.principal.role == EXTERNAL
    with pytest.raises(ApiError) as caught:
        require(caller, "admin")
    assert caught.value.status == 403


async def test_a_device_with_admin_speaks_for_the_owner(world: World) -> None:
    paired = await world.pair(Phone(), "admin")
    caller = world.gate.identify(bearer(paired.device_token))
    assert (caller.scopes, caller.principal.is_owner) == (ALL_SCOPES, True)


async def test_a_node_is_nobody_by_http(world: World) -> None:
    phone = Phone()
    asked = await world.connect(phone, role="node")
    await world.gate.desk.approve(asked.request, world.gate.identify(bearer(TOKEN)))
    node = await world.connect(phone, role="node")
    assert (node.scopes, node.principal.role) == (frozenset(), EXTERNAL)
    assert refused(world.gate, bearer(node.device_token)) == 401


async def test_a_revoked_device_is_out_at_once_whoever_revoked_it(world: World, tmp_path: Any) -> None:
    paired = await world.pair(Phone(), "read")
    with connect_gateway_db(tmp_path / "gateway.db", KEY) as other_process:
        other_process.devices.revoke(paired.device, world.now)
    assert refused(world.gate, bearer(paired.device_token)) == 401


async def test_a_signed_in_browser_is_the_owner(world: World) -> None:
    caller = world.gate.identify(http(cookie=await world.sign_in()))
    assert (caller.kind, caller.scopes, caller.id) == ("browser", ALL_SCOPES, f"browser:{caller.device}")


async def test_a_browsers_secret_is_no_bearer_token_and_a_device_token_no_cookie(world: World) -> None:
    cookie = await world.sign_in()
    paired = await world.pair(Phone(), "admin")
    assert refused(world.gate, bearer(cookie.partition("=")[2])) == 401
    assert refused(world.gate, http(cookie=f"ostiary={paired.device_token}")) == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "post", "TRACE"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x_ostiary": "1"},
        {"origin": ORIGIN},
        {"origin": "http://evil.example", "x_ostiary": "1"},
        {"origin": ORIGIN, "x_ostiary": "0"},
        {"origin": ORIGIN, "x_ostiary": ""},
        {"origin": ORIGIN, "x_ostiary": "1", "sec_fetch_site": "cross-site"},
        {"origin": ORIGIN, "x_ostiary": "1", "sec_fetch_site": "same-site"},
    ],
)
async def test_a_cookie_alone_changes_nothing(world: World, method: str, headers: dict[str, str]) -> None:
    assert refused(world.gate, http(method, cookie=await world.sign_in(), **headers)) == 403


async def test_our_own_page_may_change_things(world: World) -> None:
    scope = http("POST", cookie=await world.sign_in(), origin=ORIGIN, x_ostiary="1", sec_fetch_site="same-origin")
    assert world.gate.identify(scope).kind == "browser"


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
async def test_a_picture_in_another_page_reads_nothing_with_the_cookie(world: World, site: str) -> None:
    assert refused(world.gate, http(cookie=await world.sign_in(), sec_fetch_site=site)) == 403


async def test_a_cookie_sent_twice_is_nobodys(world: World) -> None:
    cookie = await world.sign_in()
    assert refused(world.gate, http(cookie=f"{cookie}; ostiary=other")) == 401


@pytest.mark.parametrize("name", ["Ostiary", "xostiary", "ostiary2", "__Host-ostiary"])
async def test_only_a_cookie_of_the_right_name_counts(world: World, name: str) -> None:
    cookie = await world.sign_in()
    assert refused(world.gate, http(cookie=f"{name}={cookie.partition('=')[2]}")) == 401


async def test_a_session_ends_when_it_is_not_used_and_lives_on_when_it_is(world: World) -> None:
    used, idle = await world.sign_in(), await world.sign_in()
    day = 24 * 3600.0
    world.now += 20 * day
    world.gate.identify(http(cookie=used))
    await world.gate.housekeeping.write()
    world.now += 20 * day
    assert world.gate.identify(http(cookie=used)).kind == "browser"
    assert refused(world.gate, http(cookie=idle)) == 401


async def test_a_bearer_token_needs_neither_origin_nor_header(world: World) -> None:
    assert world.gate.identify(bearer(TOKEN, method="POST", cookie="ostiary=whatever")).kind == "token"


@pytest.mark.parametrize("said", [Connect(token=TOKEN), Connect(token=RUN_TOKEN)])
async def test_the_smallest_client_connects_with_the_token_alone(world: World, said: Connect) -> None:
    caller = await world.gate.identify_socket(socket(client=REMOTE), said, "")
    assert isinstance(caller, Caller)
    assert caller.scopes == ALL_SCOPES


async def test_a_socket_may_bring_the_token_in_its_handshake(world: World) -> None:
    caller = await world.gate.identify_socket(socket(authorization=f"Bearer {TOKEN}"), Connect(), "")
    assert isinstance(caller, Caller)


async def test_a_socket_gets_no_more_scopes_than_it_asks_for(world: World) -> None:
    caller = await world.gate.identify_socket(socket(), Connect(token=TOKEN, scopes=("read",)), "")
    assert isinstance(caller, Caller)
    assert caller.scopes == frozenset({"read"})


async def test_a_socket_that_asks_for_nothing_gets_nothing(world: World) -> None:
    answer = await world.gate.identify_socket(socket(), Connect(token=TOKEN, scopes=()), "")
    assert isinstance(answer, Refused)


@pytest.mark.parametrize(
    "said", [Connect(), Connect(token="undefined"), Connect(token="null"), Connect(password=PASSWORD), Connect(device_token="x")]
)
async def test_a_socket_without_a_right_secret_is_refused(world: World, said: Connect) -> None:
    answer = await world.gate.identify_socket(socket(), said, "")
    assert isinstance(answer, Refused)


async def test_a_wrong_secret_is_not_mended_by_a_right_cookie(world: World) -> None:
    scope = socket(cookie=await world.sign_in(), origin=ORIGIN)
    assert isinstance(await world.gate.identify_socket(scope, Connect(token="wrong"), ""), Refused)


async def test_a_browsers_socket_needs_its_origin(world: World) -> None:
    cookie = await world.sign_in()
    with_origin = await world.gate.identify_socket(socket(cookie=cookie, origin=ORIGIN), Connect(), "")
    without = await world.gate.identify_socket(socket(cookie=cookie), Connect(), "")
    foreign = await world.gate.identify_socket(socket(cookie=cookie, origin="http://evil.example"), Connect(), "")
    assert isinstance(with_origin, Caller)
    assert (with_origin.kind, with_origin.scopes) == ("browser", ALL_SCOPES)
    assert isinstance(without, Refused)
    assert isinstance(foreign, Refused)


async def test_a_foreign_page_opens_no_socket_even_with_the_token(world: World) -> None:
    answer = await world.gate.identify_socket(socket(origin="http://evil.example"), Connect(token=TOKEN), "")
    assert isinstance(answer, Refused)
    assert answer.code == "FORBIDDEN"


async def test_no_caller_shows_a_secret(world: World) -> None:
    caller = world.gate.identify(bearer(TOKEN))
    said = Connect(token=TOKEN, password=PASSWORD, device_token=TOKEN)
    assert TOKEN not in repr(caller) + repr(said)
    assert PASSWORD not in repr(said)
