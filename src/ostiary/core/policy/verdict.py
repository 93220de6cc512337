"""The one function that decides tool calls. Nothing runs that it did not allow."""

from collections.abc import Sequence
from dataclasses import replace

import anyio

from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny, Policy
from ostiary.core.policy.layers import Judge

SECONDS_PER_POLICY = 5.0
_STRICTNESS: dict[type, int] = {Allow: 0, Ask: 1, Deny: 2}


class Verdict:
    """Built-in layers (`judge`, synchronous) first, then each policy in turn; the strictest answer wins.

    None configured, raising, silent past `seconds`, or an unknown answer: Deny in the name of whoever failed. A policy's
    decision is filed under the name it was registered by, whatever name it gives itself. Never raises.
    """

    __slots__ = ("_judge", "_policies", "_seconds")

    def __init__(
        self, policies: Sequence[tuple[str, Policy]] = (), *, judge: Judge | None = None, seconds: float = SECONDS_PER_POLICY
    ) -> None:
        self._judge = judge
        self._policies = tuple(policies)
        self._seconds = seconds

    async def decide(self, action: Action) -> Decision:
        strictest = self._built_in(action)
        for name, policy in self._policies:
            if type(strictest) is Deny:
                return strictest
            answer = await self._consult(name, policy, action)
            if strictest is None or _STRICTNESS[type(answer)] > _STRICTNESS[type(strictest)]:
                strictest = answer
        return strictest or Deny(layer="verdict", reason="no policy is configured")

    def _built_in(self, action: Action) -> Decision | None:
        if self._judge is None:
            return None
        try:
            decision = self._judge(action)
        except Exception as error:  # noqa: BLE001 - a gate that breaks must not open
            return Deny(layer="verdict", reason=f"the built-in rules failed ({type(error).__name__})")
        if type(decision) not in _STRICTNESS:
            return Deny(layer="verdict", reason="the built-in rules gave no decision")
        return decision

    async def _consult(self, name: str, policy: Policy, action: Action) -> Decision:
        try:
            with anyio.move_on_after(self._seconds) as scope:
                decision = await policy.decide(action)
            # A policy that swallows the cancellation and answers late has still not answered in time.
            if scope.cancel_called:
                return Deny(layer=name, reason=f"the policy did not answer within {self._seconds:g} s")
        except Exception as error:  # noqa: BLE001 - a gate that breaks must not open
            return Deny(layer=name, reason=f"the policy failed ({type(error).__name__})")
        if type(decision) not in _STRICTNESS:
            return Deny(layer=name, reason="the policy gave no decision")
        return replace(decision, layer=name)
