"""Many layers, one decision: what the granting layer allows and no other layer objects to.

Deciding and explaining walk the same steps; deciding stops at the first Deny.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.records import dataclass

Layer = Callable[[Action], Decision | None]
"""None means "nothing against it". The Allow of a narrowing layer counts as None: only the granting layer grants."""

NOT_CONFIGURED = Deny(layer="verdict", reason="no policy is configured")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one layer said. `decision` None: nothing against it. `reason` is for people, whatever the decision."""

    layer: str
    decision: Decision | None
    reason: str = ""

    @property
    def outcome(self) -> str:
        """deny, ask, allow, or pass for a layer that said nothing."""
        return "pass" if self.decision is None else type(self.decision).__name__.lower()


class Judge:
    """The rules of one configuration generation. Pure and synchronous; denies without a granting layer; never raises.

    `warnings` are sentences for the owner about rules that probably do not mean what they say."""

    __slots__ = ("_layers", "warnings")

    def __init__(
        self, grant: tuple[str, Layer] | None, narrowing: Sequence[tuple[str, Layer]] = (), *, warnings: Sequence[str] = ()
    ) -> None:
        self._layers = () if grant is None else (grant, *narrowing)
        self.warnings = tuple(warnings)

    def __call__(self, action: Action) -> Decision:
        return settle(self._walk(action))

    def decide(self, action: Action) -> Decision:
        return settle(self._walk(action))

    def explain(self, action: Action) -> tuple[Step, ...]:
        """Every layer's step in order, also those after the one that denies. `settle` makes the decision of it."""
        return tuple(self._walk(action))

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._layers)

    def _walk(self, action: Action) -> Iterator[Step]:
        for name, layer in self._layers:
            yield heard(name, layer, action)


def settle(steps: Iterable[Step]) -> Decision:
    """The first step grants; of the rest the first Deny wins, and every Ask is asked together."""
    walk = iter(steps)
    first = next(walk, None)
    if first is None:
        return NOT_CONFIGURED
    decision = first.decision or Deny(layer=first.layer, reason="nothing allows it")
    while type(decision) is not Deny:
        step = next(walk, None)
        if step is None:
            break
        decision = joined(decision, step.decision)
    return decision


def joined(before: Decision, more: Decision | None) -> Decision:
    """What two decisions come to: Deny beats Ask, Ask beats Allow, two Asks are one question with both reasons."""
    if type(more) is Deny:
        return before if type(before) is Deny else more
    if type(more) is not Ask or type(before) is Deny:
        return before
    if type(before) is Ask:
        return replace(before, others=(*before.others, replace(more, others=()), *more.others))
    return more


def heard(name: str, layer: Layer, action: Action) -> Step:
    """Ask one layer. One that raises, or answers with something unknown, denies in its own name."""
    try:
        answer = layer(action)
    except Exception as error:  # noqa: BLE001 - a gate that breaks must not open
        return denied(name, f"the layer failed ({type(error).__name__})")
    if answer is None:
        return Step(layer=name, decision=None)
    if type(answer) not in (Allow, Ask, Deny):
        return denied(name, "the layer gave no decision")
    return Step(layer=name, decision=answer, reason=answer.reason)


def denied(name: str, reason: str) -> Step:
    return Step(layer=name, decision=Deny(layer=name, reason=reason), reason=reason)
