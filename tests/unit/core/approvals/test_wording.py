"""What a person reads of a question: all of it, and nothing that could pass for something else."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.core.approvals.wording import bound_lines, described, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a\\u{202E}b"),
        ("rm\u00a0-rf", "rm\\u{A0}-rf"),
        ("rm\tx", "rm\\u{9}x"),
        ("ls\ufe0f", "ls\\u{FE0F}"),
        ("ls\U000e0100", "ls\\u{E0100}"),
        ("ls\U000e0041", "ls\\u{E0041}"),
        ("a\u17b4b\u180bc", "a\\u{17B4}b\\u{180B}c"),
        ("x\u0336\u0337\u0338", "x\u0336\u0337\\u{338}"),
        ("one\ntwo", "one\ntwo"),
        ("cafe\u0301", "cafe\u0301"),
        ("Grüße, 東京", "Grüße, 東京"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_that_is_shown_hides_or_reorders(text: str) -> None:
    shown = visible(text)
    assert all(each == "\n" or unicodedata.category(each) not in ("Cc", "Cf", "Zl", "Zp") for each in shown)
    assert {each for each in shown if each.isspace()} <= {" ", "\n"}


def test_a_text_of_several_lines_cannot_add_a_line_of_ours() -> None:
    text = described("exec", {"command": "true\ncwd: /safe\nnetwork: false", "network": True})
    assert text == "exec\ncommand:\n  true\n  cwd: /safe\n  network: false\nnetwork: true"


def test_neither_an_arguments_name_nor_a_files_name_can_add_a_line() -> None:
    assert described("t", {"a\ncwd": "/safe"}) == "t\na\\u{A}cwd: /safe"
    assert bound_lines({"cwd": "/a\nfence: none", "file:x\ny": "0" * 64}) == [
        "cwd: /a\\u{A}fence: none",
        "as they are now: x\\u{A}y",
    ]


@given(st.dictionaries(st.text(min_size=1), st.text(), min_size=1))
def test_every_line_that_is_not_indented_is_an_argument_or_a_warning(arguments: dict[str, str]) -> None:
    lines = described("t", arguments).split("\n")[1:]
    ours = [line for line in lines if not line.startswith("  ") and not line.startswith("look twice")]
    spaced = [name for name in arguments if name.startswith(("  ", "look twice"))]
    assert len(ours) == len(arguments) - len(spaced)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("p\u0430ypal.com", "p\\u{430}ypal"),
        ("\u0441url x", "\\u{441}url"),
        ("\u0441\u0430\u0440 x", "\\u{441}\\u{430}\\u{440}"),
        ("\uff4c\uff53", "\\u{FF4C}\\u{FF53}"),
        ("port \uff18\uff10", "\\u{FF18}\\u{FF10}"),
    ],
)
def test_letters_that_only_look_like_others_are_pointed_out(text: str, named: str) -> None:
    assert described("exec", {"command": text}).endswith(f"\nlook twice, letters that only look like others: {named}")


@pytest.mark.parametrize(
    "text", ["Привет, а это сор у меня", "Grüße", "naïve café, 20 m²", "東京 plan", "δύο και τρία", "résumé.pdf"]
)
def test_ordinary_texts_of_any_alphabet_are_not_suspected(text: str) -> None:
    assert described("message", {"text": text}) == f"message\ntext: {text}"


def test_what_a_digest_stands_for_is_told_in_words() -> None:
    digest = "a" * 64
    bound = {"cwd": "src", "env": digest, "fence": digest, "file:run.py": digest, "folder:.": digest, "folder:lib": digest}
    told = "as they are now: its environment, its sandbox, run.py, all files of the workspace, all files of lib"
    assert bound_lines(bound) == ["cwd: src", told]
