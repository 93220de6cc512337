"""The one function that decides tool calls. Nothing runs that it did not allow."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio

from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny, Policy
from ostiary.core.policy.judge import NOT_CONFIGURED, Judge, Step, denied, joined

SECONDS_PER_POLICY = 5.0
_DECISIONS = (Allow, Ask, Deny)


class Verdict:
    """Built-in layers (`judge`, synchronous) first, then each policy in turn; the strictest answer wins.

    None configured, raising, silent past `seconds`, or an unknown answer: Deny in the name of whoever failed. A policy's
    decision is filed under the name it was registered by, whatever name it gives itself. Never raises.
    """

    __slots__ = ("_judge", "_policies", "_seconds")

    def __init__(
        self,
        policies: Sequence[tuple[str, Policy]] = (),
        *,
        judge: Callable[[Action], Decision] | None = None,
        seconds: float = SECONDS_PER_POLICY,
    ) -> None:
        self._judge = judge
        self._policies = tuple(policies)
        self._seconds = seconds

    async def decide(self, action: Action) -> Decision:
        decision = None if self._judge is None else self._built_in(self._judge, action).decision
        for name, policy in self._policies:
            if type(decision) is Deny:
                return decision
            answer = (await self._consult(name, policy, action)).decision
            decision = answer if decision is None else joined(decision, answer)
        return decision or NOT_CONFIGURED

    async def explain(self, action: Action) -> tuple[Step, ...]:
        """Every built-in layer and every policy, also those after the one that denies. `settle` makes `decide` of it."""
        judge = self._judge
        steps = list(judge.explain(action)) if isinstance(judge, Judge) else []
        if judge is not None and not steps:
            steps.append(self._built_in(judge, action))
        for name, policy in self._policies:
            steps.append(await self._consult(name, policy, action))
        return tuple(steps)

    def _built_in(self, judge: Callable[[Action], Decision], action: Action) -> Step:
        try:
            decision = judge(action)
        except Exception as error:  # noqa: BLE001 - a gate that breaks must not open
            return denied("verdict", f"the built-in rules failed ({type(error).__name__})")
        return _step("verdict", decision, "the built-in rules gave no decision")

    async def _consult(self, name: str, policy: Policy, action: Action) -> Step:
        try:
            with anyio.move_on_after(self._seconds) as scope:
                decision = await policy.decide(action)
            # A policy that swallows the cancellation and answers late has still not answered in time.
            if scope.cancel_called:
                return denied(name, f"the policy did not answer within {self._seconds:g} s")
        except Exception as error:  # noqa: BLE001 - a gate that breaks must not open
            return denied(name, f"the policy failed ({type(error).__name__})")
        filed = replace(decision, others=()) if type(decision) is Ask else decision
        return _step(name, replace(filed, layer=name) if type(filed) in _DECISIONS else filed, "the policy gave no decision")


def _step(name: str, decision: Decision, otherwise: str) -> Step:
    if type(decision) not in _DECISIONS:
        return denied(name, otherwise)
    return Step(layer=name, decision=decision, reason=decision.reason)
