import pytest

from ostiary.adapters.models.wires.errors import UnknownModel, read_error, refusal
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

SEEN = [
    (
        400,
        '{"error":{"message":"This model\'s maximum context length is 8192 tokens.","type":"invalid_request_error"}}',
        ContextOverflow,
    ),
    (413, '{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}', ContextOverflow),
    (400, '[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]', ModelUnauthorized),
    (
        429,
        '{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details."}}',
        ModelRateLimited,
    ),
    (429, '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}', ModelBilling),
    (400, '{"error":{"message":"Your credit balance is too low"}}', ModelBilling),
    (402, '{"error":{"message":"This request requires more credits"}}', ModelBilling),
    (403, '{"error":{"message":"Project does not have access to model `gpt-9`","code":"model_not_found"}}', UnknownModel),
    (403, "<html>Forbidden</html>", ModelUnauthorized),
    (404, '{"error":{"type":"not_found_error","message":"model: claude-0"}}', UnknownModel),
    (404, "page not found", ModelMisconfigured),
    (404, '{"error":"model \\"x\\" not found, try pulling it first"}', UnknownModel),
    (
        400,
        '{"error":{"message":"`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"}}',
        RoleOrdering,
    ),
    (400, '{"error":{"message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6 > 5"}}', ImageTooLarge),
    (400, '{"detail":"Input should be a valid string"}', ModelRejected),
    (422, '{"object":"error","message":"bad"}', ModelRejected),
    (418, "", ModelRejected),
    (500, "", ModelUnavailable),
    (503, "null", ModelUnavailable),
    (529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', ModelUnavailable),
]


@pytest.mark.parametrize(("status", "body", "kind"), SEEN)
def test_what_providers_have_been_seen_to_say(status: int, body: str, kind: type[ModelError]) -> None:
    assert type(refusal("x", read_error(body), status=status)) is kind


@pytest.mark.parametrize(
    ("words", "supported"),
    [
        (
            "'reasoning_effort' does not support 'xhigh'. Supported values are: 'low', 'medium', and 'high'.",
            ("low", "medium", "high"),
        ),
        ("reasoning.effort: supported values are: 'none', 'low'", ("off", "low")),
        ("this model does not support thinking", ("off",)),
    ],
)
def test_the_levels_a_provider_names_are_the_ones_to_try(words: str, supported: tuple[str, ...]) -> None:
    error = refusal("x", read_error(words), status=400)
    assert isinstance(error, ThinkingUnsupported)
    assert error.supported == supported


def test_a_long_body_is_shortened_to_one_line() -> None:
    text = str(refusal("x", read_error("a\n" * 5000), status=500))
    assert len(text) < 600
    assert "\n" not in text
