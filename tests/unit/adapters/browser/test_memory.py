from ostiary.adapters.browser.memory import Held, held, too_greedy


def process(pid: int, size: int, *, is_renderer: bool = True) -> Held:
    return Held(pid=pid, size=size, is_renderer=is_renderer)


def test_nobody_is_ended_while_all_together_are_within_the_limit() -> None:
    assert too_greedy([process(1, 50), process(2, 50)], 100) is None


def test_the_largest_page_is_ended_first() -> None:
    found = too_greedy([process(1, 40), process(2, 70), process(3, 500, is_renderer=False)], 100)
    assert found is not None
    assert found.pid == 2


def test_without_a_page_nothing_is_ended() -> None:
    assert too_greedy([process(3, 500, is_renderer=False)], 100) is None


def test_this_very_process_is_seen() -> None:
    assert any(each.size > 0 and not each.is_renderer for each in held())
