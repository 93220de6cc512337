"""Webhooks without proof: every way in which a delivery could be believed that should not be."""

import hmac
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest

from ostiary.gateway.hooks.rules import SignatureRules
from ostiary.gateway.hooks.template import compile_template
from tests.unit.gateway.hooks.sender import NOW, TOKEN, Sender, hook, rules

SECRET = "shared-with-the-source"
BODY = b'{"action": "opened"}'


def hexed(body: bytes = BODY, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, sha256).hexdigest()


def based(body: bytes = BODY) -> str:
    return b64encode(hmac.new(SECRET.encode(), body, sha256).digest()).decode()


def signed(**more: Any) -> Sender:
    return Sender(rules(hook("source", signature=SignatureRules(**{"scheme": "generic", "secret": lambda: SECRET, **more}))))


def stripe(at: float = NOW, body: bytes = BODY, secret: str = SECRET) -> str:
    return f"t={at:.0f},v1={hexed(f'{at:.0f}.'.encode() + body, secret)}"


async def test_without_rules_nothing_is_here() -> None:
    assert (await Sender(None).send("wake", {"text": "x"})).status == 404


@pytest.mark.parametrize("secret", ["", "null", "undefined", "None", " "])
async def test_without_a_real_token_nothing_is_here_or_nothing_opens_it(secret: str) -> None:
    sender = Sender(rules(token=lambda: secret, wake=hook("wake", token=lambda: secret)))
    for given in ("", secret, "null", "undefined"):
        reply = await sender.send("wake", {"text": "x"}, {"authorization": f"Bearer {given}"})
        assert reply.status in (401, 404)
    assert sender.submitted == []


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "(none)"},
        {"authorization": "Bearer "},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN.upper()}"},
        {"authorization": TOKEN},
        {"authorization": "(none)", "x-ostiary-token": "wrong"},
        {"authorization": "(none)", "x-token": TOKEN},
        {"authorization": "Bearer the-gateways-own-token-123"},
    ],
)
async def test_only_the_hooks_own_token_opens_it_and_nothing_is_read_before(headers: dict[str, str]) -> None:
    sender = Sender(rules())
    reply = await sender.send("wake", {"text": "x"}, headers)
    assert (reply.status, reply.unread) == (401, True)
    assert sender.submitted == []


async def test_the_token_may_come_in_our_own_header_but_not_twice() -> None:
    sender = Sender(rules())
    own = await sender.send("wake", {"text": "x"}, {"authorization": "(none)", "X-Ostiary-Token": TOKEN})
    both = await sender.send("wake", {"text": "y"}, {"X-Ostiary-Token": TOKEN})
    assert (own.status, both.status) == (200, 400)


@pytest.mark.parametrize("query", [f"token={TOKEN}", "access_token=x", f"a=1&Auth-Token={TOKEN}", "api_key=", "sig=x"])
@pytest.mark.parametrize("with_token", [True, False])
async def test_a_token_in_the_address_is_refused_even_if_it_is_right(query: str, with_token: bool) -> None:
    sender = Sender(rules())
    reply = await sender.send("wake", {"text": "x"}, query=query, with_token=with_token)
    assert (reply.status, reply.code, reply.unread) == (400, "token_in_url", True)


async def test_wrong_tokens_run_out_and_the_right_one_still_opens() -> None:
    sender = Sender(rules())
    replies = [await sender.send("wake", {"text": "x"}, {"authorization": f"Bearer guess-{n}"}) for n in range(30)]
    assert replies[0].status == 401
    assert replies[-1].status == 429
    assert (await sender.send("wake", {"text": "x"})).status == 200


async def test_a_hook_with_a_token_of_its_own_opens_to_no_other() -> None:
    sender = Sender(rules(hook("own", token=lambda: "another-token-987654")))
    assert (await sender.send("own", {"a": 1})).status == 401
    reply = await sender.send("own", {"a": 1}, {"authorization": "Bearer another-token-987654"})
    assert reply.status == 202
    assert (await sender.send("wake", {"text": "x"}, {"authorization": "Bearer another-token-987654"})).status == 401


async def test_githubs_signature_is_believed() -> None:
    sender = signed(scheme="github")
    reply = await sender.send("source", BODY, {"X-Hub-Signature-256": f"sha256={hexed()}"}, with_token=False)
    assert reply.status == 202


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "sha256=",
        hexed(),
        f"sha256={hexed().upper()}",
        f"SHA256={hexed()}",
        f"sha256={based()}",
        f"sha256= {hexed()}",
        f"sha256={hexed()}00",
        f"sha256={hexed()},sha256={hexed()}",
        f"sha256={hexed(b'other')}",
        f"sha256={hexed(secret='')}",
        f"sha1={hexed()}",
        "sha256=" + "0" * 5000,
    ],
)
async def test_a_signature_that_is_missing_wrong_or_spelled_otherwise_is_not(signature: str) -> None:
    sender = signed(scheme="github")
    reply = await sender.send("source", BODY, {"X-Hub-Signature-256": signature or "(none)"}, with_token=False)
    assert reply.status == 401
    assert sender.submitted == []


async def test_a_body_that_was_written_again_is_not_the_one_that_was_signed() -> None:
    sender = signed(scheme="github")
    reply = await sender.send("source", b'{"action":"opened"}', {"X-Hub-Signature-256": f"sha256={hexed()}"}, with_token=False)
    assert reply.status == 401


async def test_a_token_does_not_replace_a_signature() -> None:
    sender = signed(scheme="github")
    assert (await sender.send("source", BODY)).status == 401
    assert (await sender.send("source", BODY, {"X-Hub-Signature-256": "sha256=00"})).status == 401


async def test_no_secret_means_nobody_can_sign() -> None:
    sender = signed(scheme="github", secret=lambda: "")
    reply = await sender.send("source", BODY, {"X-Hub-Signature-256": f"sha256={hexed(secret='')}"}, with_token=False)
    assert reply.status == 401


async def test_without_a_signature_header_no_body_is_read() -> None:
    reply = await signed(scheme="github").send("source", BODY, with_token=False)
    assert (reply.status, reply.unread) == (401, True)


async def test_a_replayed_delivery_counts_once_whatever_key_it_brings_and_whenever_it_comes() -> None:
    sender = signed(scheme="github")
    headers = {"X-Hub-Signature-256": f"sha256={hexed()}"}
    first = await sender.send("source", BODY, {**headers, "Idempotency-Key": "a"}, with_token=False)
    again = await sender.send("source", BODY, {**headers, "Idempotency-Key": "b"}, with_token=False)
    sender.clock.at += 86_400
    later = await sender.send("source", BODY, headers, with_token=False)
    assert [each.body["status"] for each in (first, again, later)] == ["accepted", "duplicate", "duplicate"]


async def test_a_stripe_signature_is_believed_while_it_is_fresh() -> None:
    sender = signed(scheme="stripe")
    fresh = await sender.send("source", BODY, {"Stripe-Signature": stripe(NOW - 299)}, with_token=False)
    replayed = await sender.send("source", BODY, {"Stripe-Signature": stripe(NOW - 200)}, with_token=False)
    assert (fresh.body["status"], replayed.body["status"]) == ("accepted", "duplicate")


@pytest.mark.parametrize(
    "signature",
    [
        stripe(NOW - 301),
        stripe(NOW + 301),
        stripe(secret="other"),
        stripe(body=b"{}"),
        f"v1={hexed()}",
        f"t={NOW:.0f}",
        f"t={NOW:.0f},v0={hexed(f'{NOW:.0f}.'.encode() + BODY)}",
        f"t={NOW:.0f},t={NOW - 1:.0f},v1={hexed(f'{NOW:.0f}.'.encode() + BODY)}",
        f"t={NOW:.0f}" + ",v1=0" * 20 + f",v1={hexed(f'{NOW:.0f}.'.encode() + BODY)}",
        f"t=-1,v1={hexed(b'-1.' + BODY)}",
        f"t=9e9,v1={hexed(b'9e9.' + BODY)}",
        "t=١٢,v1=0".encode().decode("latin-1"),
    ],
)
async def test_a_stripe_signature_that_is_old_ahead_or_wrong_is_not(signature: str) -> None:
    reply = await signed(scheme="stripe").send("source", BODY, {"Stripe-Signature": signature}, with_token=False)
    assert reply.status == 401


@pytest.mark.parametrize(
    ("more", "headers"),
    [
        ({}, {"X-Signature": hexed()}),
        ({"encoding": "base64"}, {"X-Signature": based()}),
        ({"prefix": "v1=", "header": "X-Proof"}, {"x-proof": f"v1={hexed()}"}),
        ({"timestamp_header": "X-Time"}, {"X-Time": f"{NOW:.0f}", "X-Signature": hexed(f"{NOW:.0f}.".encode() + BODY)}),
    ],
)
async def test_other_sources_sign_in_their_own_way(more: dict[str, str], headers: dict[str, str]) -> None:
    assert (await signed(**more).send("source", BODY, headers, with_token=False)).status == 202


@pytest.mark.parametrize(
    ("more", "headers"),
    [
        ({}, {"X-Signature": based()}),
        ({"encoding": "base64"}, {"X-Signature": based().rstrip("=")}),
        ({"encoding": "base64"}, {"X-Signature": based().replace("+", "-").replace("/", "_") + "="}),
        ({"timestamp_header": "X-Time"}, {"X-Signature": hexed()}),
        (
            {"timestamp_header": "X-Time"},
            {"X-Time": f"{NOW - 999:.0f}", "X-Signature": hexed(f"{NOW - 999:.0f}.".encode() + BODY)},
        ),
    ],
)
async def test_another_spelling_of_the_same_signature_is_wrong(more: dict[str, str], headers: dict[str, str]) -> None:
    assert (await signed(**more).send("source", BODY, headers, with_token=False)).status == 401


async def test_wrong_signatures_shut_nobody_out_who_signs_rightly() -> None:
    """Behind a proxy all senders share one address."""
    sender = signed(scheme="github")
    wrong = [await sender.send("source", BODY, {"X-Hub-Signature-256": f"sha256={n}"}, with_token=False) for n in range(30)]
    right = await sender.send("source", BODY, {"X-Hub-Signature-256": f"sha256={hexed()}"}, with_token=False)
    assert {each.status for each in wrong} == {401, 429}
    assert right.status == 202


async def test_a_payload_picks_no_hook_that_wants_other_proof() -> None:
    """Two hooks on one path: a token for the one does not open the other, whatever source the payload names."""
    strict = hook("strict", path="in", source="strict", signature=SignatureRules(scheme="github", secret=lambda: SECRET))
    sender = Sender(rules(hook("loose", path="in", source="loose"), strict))
    assert (await sender.send("in", {"source": "strict"})).status == 404
    assert (await sender.send("in", {"source": "loose"})).status == 202
    assert [each.untrusted_source for each in sender.submitted] == ["hook:loose"]


async def test_credentials_are_never_shown_to_a_template() -> None:
    template = compile_template("{{headers.authorization}}{{headers.x-ostiary-token}}{{headers.cookie}}{{headers.x-signature}}.")
    sender = Sender(rules(hook("shy", template=template)))
    await sender.send("shy", {}, {"cookie": "ostiary=1"})
    assert "\n> .\n" in sender.submitted[0].message.text
