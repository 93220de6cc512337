"""Thinking levels in each provider's words. What a model is known not to accept is refused here, before it costs a request."""

import re
from typing import Any

from ostiary.contracts.errors import ThinkingUnsupported
from ostiary.contracts.model import ModelFacts, ThinkingLevel

BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768}
_ALL = ("off", "minimal", "low", "medium", "high", "xhigh")
_LEAST_BUDGET = 1024

_CLAUDE = re.compile(r"claude-([a-z]+)-(\d+)(?:[-.](\d{1,2})(?!\d))?")
_GPT = re.compile(r"(?:^|/)gpt-(\d+)(?:\.(\d+))?(-pro|-astra)?")
_O_SERIES = re.compile(r"(?:^|/)o\d")
_GEMINI = re.compile(r"gemini-(\d+)(?:\.(\d+))?(-pro|-flash-lite|-flash)?")


def check_reasons(facts: ModelFacts, level: ThinkingLevel) -> None:
    """Raises ThinkingUnsupported if thinking is wanted of a model that does not think."""
    if level != "off" and not facts.reasons:
        raise ThinkingUnsupported(f"{facts.ref} does not think.", supported=("off",))


def openai_effort(facts: ModelFacts, level: ThinkingLevel) -> str | None:
    """The `reasoning_effort` to send, None to send none. Raises ThinkingUnsupported(supported)."""
    check_reasons(facts, level)
    efforts = _openai_efforts(facts.ref.model)
    if level == "off":
        return "none" if facts.reasons and efforts is not None and "none" in efforts else None
    if efforts is not None and level not in efforts:
        supported = tuple(name for name in _ALL if name in efforts or name == "off")
        raise ThinkingUnsupported(f"{facts.ref} does not think at the level {level}.", supported=supported)
    return level


def _openai_efforts(model: str) -> frozenset[str] | None:
    """None for a model nobody listed: the server decides."""
    if _O_SERIES.search(model):
        return frozenset(("low", "medium", "high"))
    found = _GPT.search(model)
    if found is None:
        return None
    version, kind = (int(found[1]), int(found[2] or 0)), found[3]
    if kind == "-pro":
        return frozenset(("medium", "high", "xhigh")) if version >= (5, 2) else frozenset(("high",))
    if kind == "-astra":
        return frozenset(("low", "medium", "high", "xhigh"))
    if version < (5, 1):
        return frozenset(("minimal", "low", "medium", "high"))
    return frozenset(("none", "low", "medium", "high", *(("xhigh",) if version >= (5, 2) else ())))


def claude_version(model: str) -> tuple[str, int, int]:
    """Family and version; ("", 0, 0) for a model of somebody else's behind the same wire."""
    found = _CLAUDE.search(model)
    return (found[1], int(found[2]), int(found[3] or 0)) if found else ("", 0, 0)


def anthropic_thinking(facts: ModelFacts, level: ThinkingLevel, max_tokens: int) -> tuple[dict[str, Any], int]:
    """Request fields and the `max_tokens` to send. From 4.6 on Claude budgets its own thinking; before, we name a budget."""
    check_reasons(facts, level)
    family, major, minor = claude_version(facts.ref.model)
    if (major, minor) >= (4, 6):
        return _adaptive(family, (major, minor), level), max_tokens
    if level == "off":
        return {}, max_tokens
    budget = min(BUDGETS[level], max_tokens - _LEAST_BUDGET)
    if budget < _LEAST_BUDGET:
        budget, max_tokens = _LEAST_BUDGET, max_tokens + _LEAST_BUDGET
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}, max_tokens


def _adaptive(family: str, version: tuple[int, int], level: ThinkingLevel) -> dict[str, Any]:
    if level == "off":
        # Silence means "off" before version 5 and "think" from then on; some models cannot be asked to stop.
        if version < (5, 0) or family in ("fable", "mythos") or (family == "opus" and version >= (5, 5)):
            return {}
        return {"thinking": {"type": "between_tools" if family == "sonnet" and version >= (5, 5) else "disabled"}}
    effort = {"minimal": "low", "xhigh": "xhigh" if version >= (4, 7) else "max"}.get(level, level)
    return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}


def takes_temperature(facts: ModelFacts, level: ThinkingLevel) -> bool:
    """Claude refuses sampling settings while it thinks, and from 4.7 on always."""
    return level == "off" and claude_version(facts.ref.model)[1:] < (4, 7)


def gemini_version(model: str) -> tuple[int, int]:
    found = _GEMINI.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def gemini_thinking(facts: ModelFacts, level: ThinkingLevel) -> dict[str, Any] | None:
    """`thinkingConfig`: a level from Gemini 3 on, a budget before. Raises ThinkingUnsupported(supported)."""
    check_reasons(facts, level)
    found = _GEMINI.search(facts.ref.model)
    by_level = gemini_version(facts.ref.model) >= (3, 0)
    if level == "off":
        can_stop = facts.reasons and not by_level and found is not None and found[3] in ("-flash", "-flash-lite")
        return {"thinkingBudget": 0} if can_stop else None
    if not by_level:
        return {"includeThoughts": True, "thinkingBudget": min(BUDGETS[level], 24576)}
    if level == "xhigh":
        raise ThinkingUnsupported(f"{facts.ref} does not think at the level xhigh.", supported=_ALL[:-1])
    return {"includeThoughts": True, "thinkingLevel": level.upper()}


def ollama_think(facts: ModelFacts, level: ThinkingLevel) -> bool | str | None:
    """Most models only know yes and no; gpt-oss knows three levels and cannot stop. Raises ThinkingUnsupported(supported)."""
    check_reasons(facts, level)
    if not facts.reasons:
        return None
    if "gpt-oss" not in facts.ref.model:
        return level != "off"
    if level == "off":
        return None
    if level not in ("low", "medium", "high"):
        raise ThinkingUnsupported(f"{facts.ref} does not think at the level {level}.", supported=("off", "low", "medium", "high"))
    return level
