"""How much of a model's window a conversation may fill before older turns are summarised, and how much of it then stays."""

from dataclasses import field
from typing import Literal

from ostiary.contracts.model import ModelFacts
from ostiary.contracts.records import dataclass
from ostiary.core.sessions.session import Session

CHARACTERS_PER_TOKEN = 3.6
_KEPT_TOKENS = 20_000
_SUMMARY_CHARACTERS = 16_000
_SMALLEST_SUMMARY = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushRules:
    """Before a summary the model may write down what must be remembered. `prompt` asks it to; empty: it is never asked."""

    enabled: bool = True
    soft: int = 4000
    prompt: str = ""
    system: str = ""
    seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRules:
    """`prompt` asks for a summary; without one, or with mode off, older turns are forgotten instead of summarised.

    `reserve` tokens are kept free for the answer; `at_tokens` (0 none) compacts earlier. `attempts` bounds the summaries of one
    turn, `seconds` each call for one. `safeguard` summarises in smaller pieces."""

    mode: Literal["default", "safeguard", "off"] = "off"
    prompt: str = ""
    reserve: int = 20_000
    at_tokens: int = 0
    attempts: int = 3
    seconds: float = 120.0
    flush: FlushRules = field(default_factory=FlushRules)

    @property
    def is_on(self) -> bool:
        return self.mode != "off" and bool(self.prompt)


def estimate(characters: int) -> int:
    return int(characters / CHARACTERS_PER_TOKEN) + 1


def tokens_of(session: Session, fixed: int) -> int:
    """About how many tokens the next request has, `fixed` characters of prompt and schemas included."""
    counted, at = session.counted
    guess = estimate(session.characters + fixed)
    return max(guess, counted + estimate(session.characters - at)) if counted else guess


def limit_of(rules: CompactionRules, facts: ModelFacts) -> int:
    """Tokens of context at which older turns are summarised. A small window keeps a quarter of itself free."""
    window = facts.context_window
    limit = window - min(max(rules.reserve, facts.max_tokens), window // 4)
    return min(limit, rules.at_tokens) if rules.at_tokens else limit


def soft_limit(rules: CompactionRules, limit: int) -> int:
    """Tokens at which the model is asked to write down what must be remembered."""
    return limit - min(rules.flush.soft, limit // 10)


def kept_characters(limit: int, attempt: int) -> int:
    """How much of what was said last stays as it is; less with every further attempt."""
    return int(min(_KEPT_TOKENS, limit // 4) * CHARACTERS_PER_TOKEN) >> attempt


def summary_characters(limit: int) -> int:
    return max(_SMALLEST_SUMMARY, min(_SUMMARY_CHARACTERS, int(limit * CHARACTERS_PER_TOKEN) // 6))


def piece_characters(rules: CompactionRules, facts: ModelFacts) -> int:
    """How much a summariser reads at once."""
    share = 0.25 if rules.mode == "safeguard" else 0.6
    return max(1000, int(facts.context_window * share * CHARACTERS_PER_TOKEN) - len(rules.prompt))


def answer_room(facts: ModelFacts) -> int:
    """Tokens that a request may have at all."""
    return facts.context_window - min(facts.max_tokens, facts.context_window // 4)
