"""The evaluation set itself: a wrong line number would measure nothing."""

import re
from collections import Counter
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from evals.memory import archive, distractors
from evals.memory.baselines import chunks
from evals.memory.questions import HELD_OUT, HERE, KINDS, STYLES, Question, notes, questions, sets
from evals.memory.recall import Hit, found, recall

CONVERSATIONS = tuple(name for name in sets() if (distractors.NOTES / name / "session-01.md").exists())
_COMMON = frozenset(("what", "which", "when", "where", "does", "have", "with", "from", "that", "about", "after", "many", "much"))


@cache
def lines(name: str) -> dict[str, list[str]]:
    part = HELD_OUT if name in sets(HELD_OUT) else HERE
    return {path: text.splitlines() for path, text in notes(name, part).items()}


def everything() -> tuple[Question, ...]:
    return questions() + questions(HELD_OUT)


def stems(text: str) -> set[str]:
    return {word[:4] for word in re.findall(r"\w{3,}", text.lower()) if word not in _COMMON}


def evidence(question: Question) -> list[str]:
    return [lines(question.set)[at.path][at.line - 1] for at in question.evidence]


def test_there_are_enough_questions_of_every_kind_and_style() -> None:
    asked = questions()
    kinds = Counter(question.kind for question in asked)
    styles = Counter(question.style for question in asked)
    assert len(asked) >= 300
    assert all(kinds[kind] >= 30 for kind in KINDS)
    assert all(styles[style] >= 200 for style in STYLES)


def test_enough_is_held_out_of_every_style_and_its_sets_have_names_of_their_own() -> None:
    styles = Counter(question.style for question in questions(HELD_OUT))
    assert len(questions(HELD_OUT)) >= 150
    assert all(styles[style] >= 70 for style in STYLES)
    assert not set(sets()) & set(sets(HELD_OUT))


def test_no_question_is_asked_twice_of_one_set() -> None:
    assert [
        each for each, times in Counter((question.set, question.text) for question in everything()).items() if times > 1
    ] == []


def test_every_evidence_line_is_there_and_says_something() -> None:
    short = [question.text for question in everything() for line in evidence(question) if len(line) < 30]
    assert short == []


def test_evidence_is_never_a_date_or_a_heading() -> None:
    headings = [question.text for question in everything() for line in evidence(question) if line.startswith(("Session ", "#"))]
    assert headings == []


def test_no_evidence_lies_in_generated_text() -> None:
    generated = [at.path for question in everything() for at in question.evidence if at.path.startswith(("aside-", "archive/"))]
    assert generated == []


def test_no_question_names_a_line_twice() -> None:
    assert [question.text for question in everything() if len(set(question.evidence)) != len(question.evidence)] == []


def test_a_single_question_has_one_line_or_two_that_say_the_same_and_a_multi_question_several() -> None:
    assert [q.text for q in everything() if q.kind == "single" and len(q.evidence) > 2] == []
    assert [q.text for q in everything() if q.kind == "multi" and not 2 <= len(q.evidence) <= 4] == []


def test_a_plain_question_shares_a_word_with_its_evidence() -> None:
    plain = [question for question in everything() if question.style == "plain"]
    strange = [q.text for q in plain if not any(stems(q.text) & stems(line) for line in evidence(q))]
    # What is asked of a child's manners, say, is answered by a line in other words.
    assert len(strange) <= len(plain) // 20, strange


def test_paraphrased_questions_copy_no_run_of_four_words() -> None:
    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[place : place + 4]) for place in range(len(words) - 3)}

    paraphrased = [question for question in everything() if question.style == "paraphrased"]
    assert [q.text for q in paraphrased if any(runs(q.text) & runs(line) for line in evidence(q))] == []


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation_is_dated_sessions_of_utterances_by_two_people(name: str) -> None:
    written = {path: text for path, text in lines(name).items() if path.startswith("session-")}
    speakers = {line.split(": ")[0] for text in written.values() for line in text[1:]}
    sizes = [len(text) - 1 for text in written.values()]
    lengths = [len(line) for text in written.values() for line in text[1:]]
    assert len(speakers) == 2
    assert len(written) >= 12
    assert min(sizes) >= 12
    assert max(sizes) <= 25
    assert min(lengths) >= 50
    assert max(lengths) <= 260


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_hand_written_sessions_follow_each_other_in_time(name: str) -> None:
    heads = [text[0] for path, text in sorted(lines(name).items()) if path.startswith("session-")]
    dates = [datetime.strptime(head.split(" — ")[1], "%d %B %Y, %H:%M") for head in heads]  # noqa: DTZ007
    assert dates == sorted(set(dates))
    assert [head.split(" — ")[0] for head in heads] == [f"Session {number}" for number in range(1, len(heads) + 1)]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_small_talk_is_what_its_writer_writes(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for path in (distractors.NOTES / name).glob("session-*.md"):
        (folder / path.name).write_bytes(path.read_bytes())
    distractors.write(folder)
    made = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("aside-*.md")}
    assert made == {path: text for path, text in notes(name).items() if path.startswith("aside-")}


def test_the_archive_is_what_its_writer_writes() -> None:
    stored = {path: text for path, text in notes("household").items() if path.startswith("archive/")}
    assert {f"archive/{name}": text for name, text in archive.notes()} == stored


def test_recall_counts_any_and_all_of_the_evidence() -> None:
    question = next(question for question in questions() if len(question.evidence) == 2)
    first, second = question.evidence
    there = Hit(first.path, first.line, first.line, 10)
    beside = Hit(second.path, second.line + 1, second.line + 9, 10)
    also = Hit(second.path, second.line - 1, second.line, 10)
    answers = [found(question, []), found(question, [there, beside]), found(question, [there, also])]
    assert answers == [(False, False, False), (True, False, True), (True, True, True)]
    assert (recall(answers).any, recall(answers).all, recall(answers).first) == (2 / 3, 1 / 3, 2 / 3)
    assert found(question, [beside, there]) == (True, False, False)


def test_a_hit_that_shows_too_much_is_refused() -> None:
    with pytest.raises(ValueError, match="1601 characters"):
        Hit("a.md", 1, 40, 1601)


def test_baseline_chunks_cover_every_line_and_overlap() -> None:
    text = "\n".join(f"{number} " + "word " * 30 for number in range(60))
    made = chunks({"a.md": text})
    covered = {line for part in made for line in range(part.hit.start, part.hit.end + 1)}
    assert covered == set(range(1, 61))
    assert all(later.hit.start <= earlier.hit.end for earlier, later in pairwise(made))
