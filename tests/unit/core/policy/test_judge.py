import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.policy.acting import act, rank

from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.core.policy.judge import Judge, Layer, Step, joined, settle

YES = Allow(layer="profile", reason="granted")
GRANT: tuple[str, Layer] = ("profile", lambda _: YES)
ONE, TWO, THREE = (Ask(layer=name, reason=f"{name}?") for name in ("one", "two", "three"))
NO = Deny(layer="no", reason="no")

ANSWERS = st.sampled_from([None, Allow(layer="l"), ONE, TWO, NO, Deny(layer="other", reason="never")])


def says(answer: Decision | None) -> Layer:
    return lambda _: answer


def judge_of(grant: Decision | None, answers: list[Decision | None]) -> Judge:
    return Judge(("profile", says(grant)), [(f"l{place}", says(answer)) for place, answer in enumerate(answers)])


def broken(_: Action) -> Decision | None:
    raise ZeroDivisionError


def test_without_a_granting_layer_nothing_is_allowed() -> None:
    judge = Judge(None, [("x", says(YES))])
    assert judge(act("read")) == Deny(layer="verdict", reason="no policy is configured")
    assert judge.explain(act("read")) == ()


def test_a_granting_layer_that_says_nothing_grants_nothing() -> None:
    assert judge_of(None, [YES])(act("read")) == Deny(layer="profile", reason="nothing allows it")


def test_what_is_granted_and_not_objected_to_is_allowed_in_the_name_of_who_granted() -> None:
    assert judge_of(YES, [None, Allow(layer="l1")]).decide(act("read")) == YES


def test_a_layer_that_raises_denies_in_its_own_name() -> None:
    decision = Judge(GRANT, [("sender", broken)])(act("read"))
    assert decision == Deny(layer="sender", reason="the layer failed (ZeroDivisionError)")


def test_a_granting_layer_that_raises_denies() -> None:
    assert Judge(("profile", broken))(act("read")) == Deny(layer="profile", reason="the layer failed (ZeroDivisionError)")


@pytest.mark.parametrize("nonsense", [True, "allow", 0, Allow])
def test_a_layer_that_answers_nonsense_denies(nonsense: object) -> None:
    judge = Judge(GRANT, [("odd", lambda _: nonsense)])  # type: ignore[arg-type, return-value]
    assert judge(act("read")) == Deny(layer="odd", reason="the layer gave no decision")


def test_a_subclass_of_an_answer_is_nonsense() -> None:
    class TrustMe(Allow):
        pass

    assert isinstance(judge_of(TrustMe(layer="x"), [])(act("read")), Deny)


def test_the_first_deny_decides() -> None:
    later = Deny(layer="later", reason="also no")
    assert judge_of(YES, [ONE, NO, later])(act("read")) == NO


def test_nothing_after_the_first_deny_is_asked() -> None:
    asked: list[str] = []

    def notes(_: Action) -> Decision | None:
        asked.append("x")
        return None

    Judge(GRANT, [("no", says(NO)), ("after", notes)])(act("read"))
    Judge(("profile", says(NO)), [("after", notes)])(act("read"))
    assert asked == []


def test_what_asks_is_asked_together_and_in_order() -> None:
    decision = judge_of(YES, [ONE, None, TWO, THREE])(act("read"))
    assert isinstance(decision, Ask)
    assert (decision.layer, decision.others, decision.layers) == ("one", (TWO, THREE), ("one", "two", "three"))


def test_an_ask_of_several_keeps_them_all_flat() -> None:
    several = Ask(layer="two", reason="two?", others=(THREE,))
    assert joined(ONE, several) == Ask(layer="one", reason="one?", others=(TWO, THREE))


@pytest.mark.parametrize(
    ("before", "more", "after"),
    [
        (YES, None, YES),
        (YES, Allow(layer="x"), YES),
        (YES, ONE, ONE),
        (YES, NO, NO),
        (ONE, None, ONE),
        (ONE, YES, ONE),
        (ONE, NO, NO),
        (NO, ONE, NO),
        (NO, YES, NO),
        (NO, Deny(layer="x", reason="x"), NO),
    ],
)
def test_the_stricter_of_two_stands(before: Decision, more: Decision | None, after: Decision) -> None:
    assert joined(before, more) == after


def test_explaining_hears_every_layer_also_after_the_one_that_denies() -> None:
    judge = Judge(GRANT, [("a", says(NO)), ("b", says(None)), ("c", says(ONE)), ("d", broken)])
    assert judge.explain(act("read")) == (
        Step(layer="profile", decision=YES, reason="granted"),
        Step(layer="a", decision=NO, reason="no"),
        Step(layer="b", decision=None),
        Step(layer="c", decision=ONE, reason="one?"),
        Step(
            layer="d",
            decision=Deny(layer="d", reason="the layer failed (ZeroDivisionError)"),
            reason="the layer failed (ZeroDivisionError)",
        ),
    )


def test_a_step_has_a_word_for_its_outcome() -> None:
    steps = judge_of(YES, [None, ONE, NO]).explain(act("read"))
    assert [step.outcome for step in steps] == ["allow", "pass", "ask", "deny"]


def test_a_judge_names_its_layers_and_its_doubts() -> None:
    judge = Judge(GRANT, [("a", says(None))], warnings=["hm"])
    assert (judge.layers, judge.warnings) == (("profile", "a"), ("hm",))


@given(ANSWERS, st.lists(ANSWERS, max_size=5), ANSWERS, st.integers(min_value=0, max_value=5))
def test_adding_a_layer_never_widens(
    grant: Decision | None, answers: list[Decision | None], added: Decision | None, place: int
) -> None:
    before = judge_of(grant, answers)(act("read"))
    after = judge_of(grant, [*answers[:place], added, *answers[place:]])(act("read"))
    assert rank(after) >= rank(before)


@given(ANSWERS, st.lists(ANSWERS, max_size=5), st.integers(min_value=0, max_value=4))
def test_a_layer_that_breaks_never_widens(grant: Decision | None, answers: list[Decision | None], place: int) -> None:
    layers: list[tuple[str, Layer]] = [(f"l{index}", says(answer)) for index, answer in enumerate(answers)]
    judge = Judge(("profile", says(grant)), [*layers[:place], ("broken", broken), *layers[place:]])
    assert isinstance(judge(act("read")), Deny)


@given(ANSWERS, st.lists(ANSWERS, max_size=5))
def test_explaining_and_deciding_agree(grant: Decision | None, answers: list[Decision | None]) -> None:
    judge = judge_of(grant, answers)
    assert settle(judge.explain(act("read"))) == judge(act("read")) == judge.decide(act("read"))


@given(st.lists(ANSWERS, max_size=5))
def test_every_layer_that_asks_is_in_the_question(answers: list[Decision | None]) -> None:
    decision = judge_of(YES, [each for each in answers if type(each) is not Deny])(act("read"))
    asked = tuple(each.layer for each in answers if type(each) is Ask)
    assert (decision.layers if isinstance(decision, Ask) else ()) == asked
