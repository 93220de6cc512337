from typing import Any

import pytest

from ostiary.gateway.asgi import App
from ostiary.gateway.auth import AccessRules, owner, security_headers
from ostiary.gateway.auth.headers import download_headers
from ostiary.gateway.auth.pages import auth_pages
from ostiary.gateway.errors import ApiError
from tests.unit.gateway.auth.support import HOST, PASSWORD, REMOTE, TOKEN, World, bearer, call, http

OWNER = owner("token")
ORIGIN = f"http://{HOST}"
JSON = "application/json"


def page(world: World, path: str, method: str = "POST") -> App:
    return auth_pages(world.gate)[path][method]


def posting(path: str, **headers: Any) -> dict[str, Any]:
    return http("POST", path, **{"origin": ORIGIN, "content_type": JSON, **headers})


async def new_code(world: World) -> str:
    return (await world.gate.desk.make_link(OWNER, ORIGIN)).partition("#k=")[2]


def cookie_in(reply: Any) -> str:
    return str(reply.headers["set-cookie"]).partition(";")[0]


async def test_a_link_carries_its_code_where_no_server_and_no_referer_sees_it(world: World) -> None:
    link = await world.gate.desk.make_link(OWNER, ORIGIN)
    assert link.startswith(f"{ORIGIN}/#k=ol_")
    assert TOKEN not in link


async def test_a_link_under_a_base_path(world: World) -> None:
    world.rules = AccessRules(base_path="/house/")
    assert (await world.gate.desk.make_link(OWNER, "http://h:1/")).startswith("http://h:1/house/#k=")


async def test_a_code_signs_one_browser_in_once(world: World) -> None:
    code = await new_code(world)
    first = await call(page(world, "/auth/session"), posting("/auth/session"), {"code": code})
    with pytest.raises(ApiError) as caught:
        await call(page(world, "/auth/session"), posting("/auth/session"), {"code": code})
    assert (first.status, first.body, caught.value.status) == (204, b"", 401)
    assert world.gate.identify(http(cookie=cookie_in(first))).kind == "browser"


async def test_a_code_expires_after_ten_minutes(world: World) -> None:
    code = await new_code(world)
    world.now += 601
    with pytest.raises(ApiError) as caught:
        await call(page(world, "/auth/session"), posting("/auth/session"), {"code": code})
    assert caught.value.status == 401


async def test_the_cookie_is_kept_from_scripts_other_sites_and_plain_http(world: World) -> None:
    world.rules = AccessRules(base_path="/house")
    plain = await call(page(world, "/auth/session"), posting("/auth/session"), {"code": await new_code(world)})
    scope = {**posting("/auth/session", origin=f"https://{HOST}"), "scheme": "https"}
    tls = await call(page(world, "/auth/session"), scope, {"code": await new_code(world)})
    attributes = plain.headers["set-cookie"].split("; ")[1:]
    assert attributes == ["Path=/house", "Max-Age=2592000", "HttpOnly", "SameSite=Strict"]
    assert tls.headers["set-cookie"].endswith("; Secure")


async def test_every_sign_in_makes_a_new_session(world: World) -> None:
    planted = "ostiary=planted-by-somebody"
    reply = await call(page(world, "/auth/session"), posting("/auth/session", cookie=planted), {"code": await new_code(world)})
    assert cookie_in(reply) != planted
    with pytest.raises(ApiError):
        world.gate.identify(http(cookie=planted))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"", JSON), (b"{", JSON), (b"[]", JSON), (b'{"code":1}', JSON), (b'{"code":"x","more":1}', JSON), (b"\xff\xfe", JSON),
     (b'{"code":"x"}', "text/plain"), (b"code=x", "application/x-www-form-urlencoded"), (b'{"code":"\\ud800"}', JSON)],
)  # fmt: skip
async def test_anything_but_the_expected_json_is_refused(world: World, body: bytes, content_type: str) -> None:
    with pytest.raises(ApiError) as caught:
        await call(page(world, "/auth/session"), posting("/auth/session", content_type=content_type), body)
    assert caught.value.status in (400, 401)


async def test_a_giant_body_is_refused(world: World) -> None:
    with pytest.raises(ApiError) as caught:
        await call(page(world, "/auth/session"), posting("/auth/session"), b'"' + b"x" * 5000)
    assert caught.value.status == 413


async def test_wrong_codes_are_counted_with_all_other_failures(world: World) -> None:
    statuses = []
    for number in range(4):
        with pytest.raises(ApiError) as caught:
            await call(page(world, "/auth/session"), posting("/auth/session", client=REMOTE), {"code": f"wrong-{number}"})
        statuses.append(caught.value.status)
    with pytest.raises(ApiError) as barred:
        world.gate.identify(bearer(TOKEN, client=REMOTE))
    assert (statuses, barred.value.status) == ([401, 401, 401, 429], 429)


async def test_a_password_signs_in_only_in_password_mode(world: World) -> None:
    with pytest.raises(ApiError) as off:
        await call(page(world, "/auth/password"), posting("/auth/password"), {"password": PASSWORD})
    world.rules = AccessRules(mode="password")
    with pytest.raises(ApiError) as wrong:
        await call(page(world, "/auth/password"), posting("/auth/password"), {"password": TOKEN})
    right = await call(page(world, "/auth/password"), posting("/auth/password"), {"password": PASSWORD})
    assert (off.value.status, wrong.value.status, right.status) == (404, 401, 204)
    assert world.gate.identify(http(cookie=cookie_in(right))).kind == "browser"


async def test_signing_out_ends_the_session_and_takes_the_cookie_back(world: World) -> None:
    cookie = await world.sign_in()
    reply = await call(page(world, "/auth/logout"), posting("/auth/logout", cookie=cookie, x_ostiary="1"))
    assert (reply.status, "Max-Age=0" in reply.headers["set-cookie"]) == (204, True)
    with pytest.raises(ApiError):
        world.gate.identify(http(cookie=cookie))


async def test_another_page_cannot_sign_out(world: World) -> None:
    cookie = await world.sign_in()
    with pytest.raises(ApiError) as caught:
        await call(page(world, "/auth/logout"), posting("/auth/logout", cookie=cookie))
    assert caught.value.status == 403
    assert world.gate.identify(http(cookie=cookie)).kind == "browser"


async def test_the_page_learns_who_it_is_and_its_cookie_is_renewed(world: World) -> None:
    cookie = await world.sign_in()
    known = await call(page(world, "/auth/session", "GET"), http(cookie=cookie))
    stale = await call(page(world, "/auth/session", "GET"), http(cookie="ostiary=stale"))
    nobody = await call(page(world, "/auth/session", "GET"), http())
    assert (known.json["signedIn"], known.json["kind"]) == (True, "browser")
    assert cookie_in(known) == cookie
    assert (stale.json, "Max-Age=0" in stale.headers["set-cookie"]) == ({"signedIn": False, "mode": "token"}, True)
    assert (nobody.json["signedIn"], "set-cookie" in nobody.headers) == (False, False)


async def test_browsers_are_listed_as_devices_by_a_name_people_know(world: World) -> None:
    agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"
    await call(page(world, "/auth/session"), posting("/auth/session", user_agent=agent), {"code": await new_code(world)})
    (device,) = world.gate.desk.list(OWNER).devices
    assert (device.kind, device.display_name, device.scopes) == ("browser", "Chrome on Linux", ("admin",))


async def test_every_answer_is_strict_with_the_browser_and_not_kept(world: World) -> None:
    reply = await call(page(world, "/auth/session", "GET"), http())
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]


def test_pages_allow_no_inline_script_no_frame_and_nothing_from_elsewhere() -> None:
    headers = dict(security_headers())
    policy = dict(part.split(" ", 1) for part in headers[b"content-security-policy"].decode().split("; "))
    assert (policy["default-src"], policy["script-src"], policy["frame-ancestors"]) == ("'none'", "'self'", "'none'")
    assert not {"unsafe", "http", "*"} & set("".join(policy.values()).replace("'", " ").replace("-", " ").split())
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"cross-origin-opener-policy"] == headers[b"cross-origin-resource-policy"] == b"same-origin"


def test_what_strangers_wrote_is_served_dead() -> None:
    assert b"sandbox" in dict(download_headers())[b"content-security-policy"]
