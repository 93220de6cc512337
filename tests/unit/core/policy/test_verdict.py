from typing import Any

import anyio
import pytest

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import OWNER, Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.judge import Judge, settle
from ostiary.core.policy.verdict import SECONDS_PER_POLICY, Verdict

ACTION = Action(
    principal=Principal(user=UserId(channel="api", stable_id="me"), role=OWNER),
    session=SessionKey("main", "main"),
    channel="api",
    tool=ToolSpec(
        schema=ToolSchema(name="read", description="", parameters={"type": "object"}), effects=frozenset({Effect.READ})
    ),
    arguments={},
    label=Label(trust=Trust.OWNER),
)
ALLOW = Allow(layer="x")
ASK = Ask(layer="x", reason="sure?")
DENY = Deny(layer="x", reason="no")


class Says:
    def __init__(self, decision: object) -> None:
        self.decision = decision
        self.asked = 0

    async def decide(self, action: Action) -> Decision:
        self.asked += 1
        return self.decision  # type: ignore[return-value]


class Breaks:
    async def decide(self, action: Action) -> Decision:
        raise RuntimeError("oops")


class NeverAnswers:
    async def decide(self, action: Action) -> Decision:
        await anyio.sleep_forever()
        return ALLOW


class AnswersAfterItWasCancelled:
    async def decide(self, action: Action) -> Decision:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            return ALLOW
        return ALLOW


async def test_without_any_policy_nothing_is_allowed() -> None:
    assert await Verdict().decide(ACTION) == Deny(layer="verdict", reason="no policy is configured")


async def test_a_policy_that_raises_denies_in_its_own_name() -> None:
    decision = await Verdict([("plugin", Breaks())], judge=lambda _: ALLOW).decide(ACTION)
    assert decision == Deny(layer="plugin", reason="the policy failed (RuntimeError)")


async def test_a_policy_that_does_not_answer_in_time_denies_in_its_own_name() -> None:
    with anyio.fail_after(5):
        decision = await Verdict([("slow", NeverAnswers())], seconds=0.01).decide(ACTION)
    assert decision == Deny(layer="slow", reason="the policy did not answer within 0.01 s")


async def test_an_answer_given_after_the_limit_does_not_count() -> None:
    with anyio.fail_after(5):
        decision = await Verdict([("late", AnswersAfterItWasCancelled())], seconds=0.01).decide(ACTION)
    assert isinstance(decision, Deny)


@pytest.mark.parametrize("nonsense", [None, True, "allow", object(), {"allow": True}])
async def test_an_unknown_answer_denies(nonsense: object) -> None:
    assert await Verdict([("odd", Says(nonsense))]).decide(ACTION) == Deny(layer="odd", reason="the policy gave no decision")


class TrustMe(Allow):
    pass


async def test_a_subclass_of_allow_is_an_unknown_answer() -> None:
    assert isinstance(await Verdict([("odd", Says(TrustMe(layer="x")))]).decide(ACTION), Deny)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([ALLOW, ALLOW], Allow),
        ([ALLOW, ASK], Ask),
        ([ASK, ALLOW], Ask),
        ([ASK, DENY], Deny),
        ([DENY, ALLOW], Deny),
        ([ALLOW, ASK, DENY], Deny),
    ],
)
async def test_the_strictest_answer_wins_in_any_order(answers: list[Decision], expected: type) -> None:
    verdict = Verdict([(f"p{number}", Says(answer)) for number, answer in enumerate(answers)])
    assert type(await verdict.decide(ACTION)) is expected


async def test_a_policy_cannot_speak_in_the_name_of_another() -> None:
    decision = await Verdict([("plugin", Says(Deny(layer="owner", reason="no")))]).decide(ACTION)
    assert decision == Deny(layer="plugin", reason="no")


async def test_a_plugin_policy_cannot_widen_what_the_built_in_rules_deny() -> None:
    plugin = Says(ALLOW)
    decision = await Verdict([("plugin", plugin)], judge=lambda _: DENY).decide(ACTION)
    assert (decision, plugin.asked) == (DENY, 0)


async def test_built_in_rules_that_raise_deny() -> None:
    def broken(_: Action) -> Decision:
        raise KeyError("x")

    assert isinstance(await Verdict(judge=broken).decide(ACTION), Deny)


async def test_cancelling_the_turn_cancels_the_question_and_is_not_a_decision() -> None:
    with anyio.move_on_after(0.01) as scope:
        await Verdict([("slow", NeverAnswers())]).decide(ACTION)
    assert scope.cancelled_caught


async def test_the_questions_of_policies_join_those_of_the_house() -> None:
    decision = await Verdict([("a", Says(ASK)), ("b", Says(ALLOW)), ("c", Says(ASK))], judge=lambda _: ASK).decide(ACTION)
    assert isinstance(decision, Ask)
    assert decision.layers == ("x", "a", "c")


async def test_a_policy_cannot_ask_in_the_name_of_another_layer() -> None:
    sly = Ask(layer="confirm", reason="?", others=(Ask(layer="confirm", reason="?"),))
    decision = await Verdict([("plugin", Says(sly))], judge=lambda _: ALLOW).decide(ACTION)
    assert decision == Ask(layer="plugin", reason="?")


async def test_explaining_tells_of_every_layer_and_every_policy() -> None:
    judge = Judge(("profile", lambda _: ALLOW), [("tools", lambda _: DENY), ("role", lambda _: None)])
    steps = await Verdict([("a", Says(ASK)), ("b", Breaks())], judge=judge).explain(ACTION)
    assert [(step.layer, step.outcome) for step in steps] == [
        ("profile", "allow"),
        ("tools", "deny"),
        ("role", "pass"),
        ("a", "ask"),
        ("b", "deny"),
    ]
    assert [step.reason for step in steps] == ["", "no", "", "sure?", "the policy failed (RuntimeError)"]


@pytest.mark.parametrize("judge", [None, lambda _: ALLOW, lambda _: "nonsense", Judge(None), Judge(("p", lambda _: ASK))])
@pytest.mark.parametrize("answers", [(), (ALLOW,), (ASK, ALLOW), (ALLOW, DENY), (ASK, "nonsense", ASK), (DENY, ASK)])
async def test_what_is_explained_is_what_is_decided(judge: Any, answers: tuple[object, ...]) -> None:
    verdict = Verdict([(f"p{place}", Says(answer)) for place, answer in enumerate(answers)], judge=judge)
    assert settle(await verdict.explain(ACTION)) == await verdict.decide(ACTION)


async def test_a_judge_without_a_grant_denies_whatever_policies_say() -> None:
    verdict = Verdict([("a", Says(ALLOW))], judge=Judge(None))
    assert isinstance(await verdict.decide(ACTION), Deny)
    assert isinstance(settle(await verdict.explain(ACTION)), Deny)


async def test_a_judge_that_breaks_or_babbles_is_named_by_what_it_did() -> None:
    def broken(_: Action) -> Decision:
        raise ZeroDivisionError

    babbling: Any = lambda _: 7  # noqa: E731
    said = [await Verdict(judge=judge).decide(ACTION) for judge in (broken, babbling)]
    assert said == [
        Deny(layer="verdict", reason="the built-in rules failed (ZeroDivisionError)"),
        Deny(layer="verdict", reason="the built-in rules gave no decision"),
    ]


async def test_explaining_names_whoever_decided() -> None:
    (step,) = await Verdict(judge=lambda _: ALLOW).explain(ACTION)
    assert (step.layer, step.decision) == ("verdict", ALLOW)


def test_a_policy_has_five_seconds() -> None:
    assert SECONDS_PER_POLICY == 5.0
