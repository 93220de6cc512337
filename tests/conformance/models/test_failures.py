"""What every wire makes of a refusal: one error tree, whatever the provider's words, and never the key in the text."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from ostiary.adapters.models.wires.errors import UnknownModel
from ostiary.contracts.errors import (
    ContextOverflow,
    ImageTooLarge,
    ModelBilling,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRejected,
    ModelUnauthorized,
    ModelUnavailable,
    RoleOrdering,
    ThinkingUnsupported,
)
from ostiary.kit.model_servers import KEY, Failure, Reply, Words, say
from tests.conformance.models.conftest import Rig

KINDS: dict[str, type[ModelError]] = {
    "auth": ModelUnauthorized,
    "billing": ModelBilling,
    "context": ContextOverflow,
    "forbidden": ModelUnauthorized,
    "image": ImageTooLarge,
    "overloaded": ModelUnavailable,
    "rate": ModelRateLimited,
    "rejected": ModelRejected,
    "roles": RoleOrdering,
    "server": ModelUnavailable,
    "thinking": ThinkingUnsupported,
    "unknown_model": UnknownModel,
}


def everything_said(error: BaseException) -> str:
    """The error with all that hangs on it, as a log with a traceback would show it."""
    chain: list[str] = []
    current: BaseException | None = error
    while current is not None:
        chain.append(f"{current!r} {current} {getattr(current, 'hint', '')}")
        current = current.__cause__ or current.__context__
    return " ".join(chain)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refusal_becomes_the_error_that_says_what_to_do(rig: Rig, kind: str) -> None:
    rig.server.script(Failure(kind=kind))  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        await rig.ask()
    assert type(caught.value) is KINDS[kind]
    assert "kit" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "error"), [(402, ModelBilling), (408, ModelUnavailable), (502, ModelUnavailable), (529, ModelUnavailable)]
)
async def test_the_status_alone_is_enough(rig: Rig, status: int, error: type[ModelError]) -> None:
    rig.server.script(Failure(kind="rejected", words="no further words", status=status))
    with pytest.raises(error):
        await rig.ask()


IN_STREAM: dict[str, type[ModelError]] = {"rate": ModelRateLimited, "server": ModelUnavailable, "overloaded": ModelUnavailable}
WORDLESS = {"ollama": {"rate": ModelUnavailable}}


@pytest.mark.parametrize("kind", IN_STREAM)
async def test_an_error_inside_the_stream_is_understood_alike(rig: Rig, kind: str) -> None:
    rig.server.script(Reply(parts=(Words(pieces=("a", "b")),), fails=Failure(kind=kind)))  # type: ignore[arg-type]
    with pytest.raises(WORDLESS.get(rig.api, {}).get(kind, IN_STREAM[kind])):
        await rig.ask()


SOON = format_datetime(datetime.now(UTC) + timedelta(seconds=3600), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry-After": "7"}, 7, 7),
        ({"Retry-After": "0.5"}, 0.5, 0.5),
        ({"retry-after-ms": "1500"}, 1.5, 1.5),
        ({"Retry-After": SOON}, 1, 3600),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m30s"}, 90, 90),
        (
            {"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "1m30s", "x-ratelimit-reset-requests": "120ms"},
            0.12,
            0.12,
        ),
    ],
)
async def test_the_wait_a_provider_asks_for_is_told(rig: Rig, headers: dict[str, str], least: float, most: float) -> None:
    rig.server.script(Failure(kind="rate", headers=headers))
    with pytest.raises(ModelRateLimited) as caught:
        await rig.ask()
    assert caught.value.retry_after is not None
    assert least <= caught.value.retry_after <= most


async def test_a_wait_nobody_named_is_none(rig: Rig) -> None:
    rig.server.script(Failure(kind="rate"))
    with pytest.raises(ModelRateLimited) as caught:
        await rig.ask()
    assert caught.value.retry_after is None


@pytest.mark.parametrize("kind", KINDS)
async def test_a_provider_that_quotes_the_key_does_not_get_it_into_the_error(rig: Rig, kind: str) -> None:
    masked = f"{KEY[:10]}****{KEY[-4:]}"
    rig.server.script(Failure(kind=kind, words=f"Your key {KEY} or {masked} is not welcome."))  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        await rig.ask()
    assert KEY not in everything_said(caught.value)
    assert KEY[:10] not in everything_said(caught.value)


async def test_an_error_inside_the_stream_does_not_tell_the_key(rig: Rig) -> None:
    rig.server.script(Reply(parts=(Words(pieces=("a",)),), fails=Failure(kind="server", words=f"bad key {KEY}")))
    with pytest.raises(ModelError) as caught:
        await rig.ask()
    assert KEY not in everything_said(caught.value)


async def test_a_wrong_key_is_refused_and_not_told(rig: Rig) -> None:
    wrong = "sk-wrong-abcdefghijklmnop"
    with pytest.raises(ModelUnauthorized) as caught:
        await rig.ask(secret=wrong)
    assert wrong not in everything_said(caught.value)


async def test_a_key_that_cannot_be_a_header_is_refused_and_not_told(rig: Rig) -> None:
    with pytest.raises(ModelMisconfigured) as caught:
        await rig.ask(secret="sk-evil\r\nX-Injected: yes")
    assert "sk-evil" not in everything_said(caught.value)
    assert rig.server.requests == []


async def test_a_redirect_is_not_followed(rig: Rig) -> None:
    rig.server.script(Failure(kind="rejected", status=307, headers={"Location": f"{rig.server.url}/elsewhere"}), say("stolen"))
    with pytest.raises(ModelMisconfigured, match="redirect"):
        await rig.ask()
    assert len(rig.server.requests) == 1


async def test_an_error_page_of_a_proxy_is_short(rig: Rig) -> None:
    rig.server.script(Failure(kind="server", words="<html>" + "x" * 100_000, status=502))
    with pytest.raises(ModelUnavailable) as caught:
        await rig.ask()
    assert len(str(caught.value)) < 1000


async def test_a_listing_with_a_wrong_key_is_unauthorized(rig: Rig) -> None:
    with pytest.raises(ModelUnauthorized) as caught:
        await rig.wire.list_models("sk-wrong-abcdefghijklmnop")
    assert "sk-wrong-abcdefghijklmnop" not in everything_said(caught.value)
