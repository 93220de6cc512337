import pytest

from ostiary.adapters.models.wires.thinking import (
    anthropic_thinking,
    gemini_thinking,
    ollama_think,
    openai_effort,
    takes_temperature,
)
from ostiary.contracts.errors import ThinkingUnsupported
from ostiary.contracts.model import ModelFacts, ModelRef, ThinkingLevel


def facts(model: str, *, reasons: bool = True) -> ModelFacts:
    return ModelFacts(ref=ModelRef("x", model), reasons=reasons)


@pytest.mark.parametrize(
    ("model", "level", "effort"),
    [
        ("gpt-5", "minimal", "minimal"),
        ("gpt-5", "off", None),
        ("gpt-5.2", "off", "none"),
        ("gpt-5.2", "xhigh", "xhigh"),
        ("o3-mini", "high", "high"),
        ("openai/gpt-5.1", "off", "none"),
        ("deepseek-reasoner", "medium", "medium"),
        ("deepseek-reasoner", "off", None),
    ],
)
def test_openai_levels(model: str, level: ThinkingLevel, effort: str | None) -> None:
    assert openai_effort(facts(model), level) == effort


@pytest.mark.parametrize(
    ("model", "level", "supported"),
    [
        ("gpt-5", "xhigh", ("off", "minimal", "low", "medium", "high")),
        ("o3", "minimal", ("off", "low", "medium", "high")),
        ("gpt-5.2-pro", "low", ("off", "medium", "high", "xhigh")),
    ],
)
def test_a_level_openai_does_not_have_names_those_it_has(model: str, level: ThinkingLevel, supported: tuple[str, ...]) -> None:
    with pytest.raises(ThinkingUnsupported) as caught:
        openai_effort(facts(model), level)
    assert caught.value.supported == supported


@pytest.mark.parametrize(
    ("model", "level", "fields"),
    [
        ("claude-sonnet-4-5-20250929", "high", {"thinking": {"type": "enabled", "budget_tokens": 7168}}),
        ("claude-opus-4-20250514", "off", {}),
        ("MiniMax-M2", "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        (
            "claude-opus-4-6",
            "xhigh",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}},
        ),
        (
            "claude-opus-4-7",
            "minimal",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}},
        ),
        ("claude-opus-4-8", "off", {}),
        ("claude-sonnet-5", "off", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5-5", "off", {"thinking": {"type": "between_tools"}}),
        ("claude-opus-5-5", "off", {}),
    ],
)
def test_anthropic_levels(model: str, level: ThinkingLevel, fields: dict[str, object]) -> None:
    assert anthropic_thinking(facts(model), level, 8192) == (fields, 8192)


def test_a_thinking_budget_always_leaves_room_for_the_answer() -> None:
    fields, max_tokens = anthropic_thinking(facts("claude-haiku-4-5"), "high", 500)
    assert fields["thinking"]["budget_tokens"] == 1024
    assert max_tokens > 1024


@pytest.mark.parametrize(
    ("model", "level", "takes"),
    [
        ("claude-sonnet-4-5", "off", True),
        ("claude-sonnet-4-5", "low", False),
        ("claude-opus-4-7", "off", False),
        ("kimi", "off", True),
    ],
)
def test_temperature_is_left_out_where_claude_refuses_it(model: str, level: ThinkingLevel, takes: bool) -> None:
    assert takes_temperature(facts(model), level) is takes


@pytest.mark.parametrize(
    ("model", "level", "config"),
    [
        ("gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "off", None),
        ("gemini-2.5-pro", "medium", {"includeThoughts": True, "thinkingBudget": 8192}),
        ("gemini-3-pro", "low", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-3.1-flash", "off", None),
    ],
)
def test_gemini_levels(model: str, level: ThinkingLevel, config: dict[str, object] | None) -> None:
    assert gemini_thinking(facts(model), level) == config


@pytest.mark.parametrize(
    ("model", "level", "think"),
    [("qwen3", "off", False), ("qwen3", "high", True), ("gpt-oss:20b", "low", "low"), ("gpt-oss:20b", "off", None)],
)
def test_ollama_levels(model: str, level: ThinkingLevel, think: bool | str | None) -> None:
    assert ollama_think(facts(model), level) == think


@pytest.mark.parametrize("level", ["minimal", "xhigh"])
def test_a_level_a_model_lacks_is_refused_before_it_is_sent(level: ThinkingLevel) -> None:
    with pytest.raises(ThinkingUnsupported):
        ollama_think(facts("gpt-oss:20b"), level)


@pytest.mark.parametrize("ask", [openai_effort, gemini_thinking, ollama_think])
def test_a_model_that_does_not_think_supports_only_off(ask: object) -> None:
    with pytest.raises(ThinkingUnsupported) as caught:
        ask(facts("plain", reasons=False), "low")  # type: ignore[operator]
    assert caught.value.supported == ("off",)
