from ostiary.gateway.auth.failures import FailureBudget
from ostiary.gateway.auth.rules import FailureRules, failure_rules

RULES = FailureRules(attempts=3, window=60.0, lockout=300.0, attempts_of_all=10, addresses=8)


class Ticks:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def test_an_address_is_shut_out_after_so_many_and_let_back_in_later() -> None:
    ticks = Ticks()
    budget = FailureBudget(lambda: RULES, ticks)
    waits = [budget.count("a") for _ in range(5)]
    ticks.at += 301
    assert waits == [0, 0, 0, 300, 300]
    assert (budget.wait("a"), budget.wait("b")) == (0, 0)


def test_slow_tries_are_not_shut_out() -> None:
    ticks = Ticks()
    budget = FailureBudget(lambda: RULES, ticks)
    for _ in range(20):
        assert budget.count("a") == 0
        ticks.at += 31


def test_many_addresses_together_are_shut_out_too() -> None:
    budget = FailureBudget(lambda: RULES, Ticks())
    waits = [budget.count(f"address-{number}") for number in range(12)]
    assert waits[:10] == [0] * 10
    assert waits[10:] == [300, 300]
    assert budget.wait("somebody new") == 300


def test_the_same_wrong_secret_again_is_not_another_guess() -> None:
    budget = FailureBudget(lambda: RULES, Ticks())
    assert [budget.count("a", b"stale") for _ in range(50)] == [0] * 50
    assert [budget.count("a", mark) for mark in (b"1", b"2", b"3", b"4")] == [0, 0, 300, 300]


def test_a_flood_of_addresses_takes_no_more_room() -> None:
    rules = FailureRules(attempts_of_all=1_000_000, addresses=8)
    budget = FailureBudget(lambda: rules, Ticks())
    for number in range(1000):
        budget.count(f"address-{number}")
    assert len(budget) == 8


def test_stricter_rules_count_at_once() -> None:
    rules = [FailureRules(attempts=100)]
    budget = FailureBudget(lambda: rules[0], Ticks())
    budget.count("a")
    rules[0] = FailureRules(attempts=2)
    budget.count("a")
    assert budget.wait("a") > 0


def test_the_configuration_counts_in_milliseconds() -> None:
    rules = failure_rules(max_attempts=5, window_ms=60_000, lockout_ms=300_000)
    assert (rules.attempts, rules.window, rules.lockout, rules.attempts_of_all) == (5, 60.0, 300.0, 100)
