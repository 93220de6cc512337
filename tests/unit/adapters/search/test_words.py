from ostiary.adapters.search.words import asked, terms


def test_forms_case_and_accents_of_a_word_are_one_term() -> None:
    assert len({*terms("Café"), *terms("CAFES"), *terms("cafe’s")}) == 1


def test_words_without_a_say_are_not_indexed() -> None:
    assert terms("It was not the one of them, don't you think so?") == terms("one think")


def test_the_month_of_may_is_a_word() -> None:
    assert terms("may") == terms("May")
    assert terms("may")


def test_a_date_in_numbers_is_found_by_its_month() -> None:
    assert set(terms("March")) <= set(terms("2025-03-14 walked home"))


def test_writing_without_spaces_is_cut_in_pairs() -> None:
    assert set(terms("東京都")) & set(terms("東京"))


def test_a_question_is_reduced_to_what_it_is_about() -> None:
    assert list(asked("When did Maren's sister buy the boat?").values()) == ["Maren's", "sister", "buy", "boat"]


def test_a_question_of_nothing_but_question_words_keeps_them() -> None:
    assert list(asked("who when?").values()) == ["who", "when"]


def test_a_lone_surrogate_is_a_term_like_any_other() -> None:
    assert len(terms("abc\ud800")) == 1
