"""Danger waits for a person: what changes, sends, spends or runs something is asked about first."""

from typing import Literal

from ostiary.contracts.policy import Action, Allow, Ask, Decision
from ostiary.contracts.tool import Effect
from ostiary.core.policy.effects import LOOKING, effects_of, is_undoable_write
from ostiary.core.policy.judge import Layer
from ostiary.core.policy.recipients import is_reply

Confirm = Literal["danger", "always", "never"]

NAME = "confirm"
_LOOKS = Allow(layer=NAME, reason="it only looks")
_UNDOABLE = Allow(layer=NAME, reason="what it changes can be taken back")
_REPLY = Allow(layer=NAME, reason="it goes where the answer goes")
_ON_THEIR_SIDE = Allow(layer=NAME, reason="it runs on the caller's side")

_DOES: tuple[tuple[Effect, str], ...] = (
    (Effect.EXECUTE, "runs a command"),
    (Effect.SPEND, "spends money"),
    (Effect.SECRET, "uses a secret"),
    (Effect.SEND, "sends something to somebody"),
    (Effect.WRITE, "changes something"),
    (Effect.NETWORK, "reaches the network"),
)


def confirm_layer(mode: Confirm) -> Layer | None:
    """`danger` asks about what cannot be taken back, `always` about everything but reading. None for `never`."""
    if mode == "never":
        return None
    asks_always = mode == "always"

    def confirm(action: Action) -> Decision:
        if action.tool.is_client:
            return _ON_THEIR_SIDE
        effects = effects_of(action)
        if effects <= {Effect.READ}:
            return _LOOKS
        if not asks_always:
            if effects <= LOOKING:
                return _LOOKS
            if is_undoable_write(action, effects):
                return _UNDOABLE
            if is_reply(action, effects):
                return _REPLY
        return Ask(layer=NAME, reason=f"{action.tool.name} {_what(action, effects)}")

    return confirm


def _what(action: Action, effects: frozenset[Effect]) -> str:
    if not action.tool.effects:
        return "does not say what it does, so it may do anything"
    done = [words for effect, words in _DOES if effect in effects]
    said = f"{', '.join(done[:-1])} and {done[-1]}" if len(done) > 1 else done[0]
    return said if action.tool.undoable else f"{said}, which cannot be taken back"
