from ostiary.adapters.models.embedded.prompt import RULES, Entry, entries, estimate, fit, last_question, shorten_system
from ostiary.contracts.content import AssistantMessage, Image, Label, Text, ToolCall, ToolMessage, ToolOutcome, Trust, UserMessage

OWNER = Label(trust=Trust.OWNER)


def user(text: str) -> UserMessage:
    return UserMessage(parts=(Text(text=text, label=OWNER),))


def assistant(text: str) -> AssistantMessage:
    return AssistantMessage(parts=(Text(text=text, label=OWNER),))


def outcome(text: str, *, is_error: bool = False) -> ToolMessage:
    return ToolMessage(outcomes=(ToolOutcome(call_id="c", name="read", text=text, is_error=is_error, label=OWNER),))


CALL = AssistantMessage(parts=(ToolCall(id="c", name="read", arguments="{}"),))


def test_a_short_system_prompt_is_kept_whole() -> None:
    assert shorten_system(("You are a pirate.", "Speak in rhymes.")) == f"You are a pirate.\n\nSpeak in rhymes.\n\n{RULES}"


def test_a_long_system_prompt_keeps_identity_date_and_the_turns_addition() -> None:
    system = "# Head\n\nYou are Ostiary, a doorkeeper.\n\n" + "Mind the tools. " * 400 + "\nToday is 15 November 2026.\n"
    short = shorten_system((system, "Answer as a poet."))
    assert short == f"You are Ostiary, a doorkeeper.\n{RULES}\nToday is 15 November 2026.\nAnswer as a poet."


def test_a_long_first_paragraph_is_cut_after_a_sentence() -> None:
    assert shorten_system(("One sentence here. " + "more words " * 200 + ".",)).startswith(f"One sentence here.\n{RULES}")


def test_what_a_tool_returned_stands_under_the_question() -> None:
    made = entries((user("What does a.txt say?"), CALL, outcome("hello")))
    assert [entry.role for entry in made] == ["user"]
    assert made[0].content.startswith("What does a.txt say?\n\n(The tool read returned:)\nhello")


def test_a_failed_tool_is_called_failed() -> None:
    assert "(The tool read failed:)" in entries((user("?"), CALL, outcome("no such file", is_error=True)))[0].content


def test_an_image_is_said_to_be_unseen() -> None:
    message = UserMessage(parts=(Image(digest="d", media_type="image/png", label=OWNER),))
    assert "cannot see" in entries((message,))[0].content


def test_an_enormous_message_keeps_its_beginning_and_end() -> None:
    content = entries((user("start " + "x" * 10_000_000 + " end"),))[0].content
    assert content.startswith("start ")
    assert content.endswith(" end")
    assert len(content) < 6000


def test_old_turns_are_left_out_and_the_newest_stays() -> None:
    made = [Entry("user" if number % 2 == 0 else "assistant", f"{number} " * 60) for number in range(40)]
    fitted = fit("system", made, 800)
    assert fitted[-1] is made[-1]
    assert fitted[1].role == "user"
    assert sum(estimate(entry.content) for entry in fitted) <= 800


def test_the_beginning_stays_the_same_for_several_turns() -> None:
    made = [Entry("user" if number % 2 == 0 else "assistant", f"{number} " * 30) for number in range(60)]
    beginnings = [fit("system", made[: length + 1], 900)[1].content for length in range(20, 60, 2)]
    assert len(set(beginnings)) < len(beginnings) / 2


def test_a_single_message_is_never_left_out() -> None:
    only = Entry("user", "x" * 4000)
    assert fit("s" * 3000, [only], 300) == [Entry("system", "s" * 3000), only]


def test_a_question_that_a_tool_has_answered_is_not_asked_about_again() -> None:
    assert last_question((user("read a.txt"),)) == "read a.txt"
    assert last_question((user("read a.txt"), CALL, outcome("hello"))) == ""


def test_what_is_remembered_stays_in_a_shortened_prompt() -> None:
    system = (
        "You are Ostiary. "
        + "Be good. " * 300
        + "\n\n## SOUL.md\nKind.\n\n## MEMORY.md\n# Memory\n\n- The key is with Mrs. Aydin.\n"
    )
    short = shorten_system((system,))
    assert "- The key is with Mrs. Aydin." in short
    assert "Kind." not in short
