from ostiary.contracts.content import Label, Message, Text, ToolMessage, ToolOutcome, Trust, UserMessage
from ostiary.core.agent.citing import sources

OWN = Label(trust=Trust.OWNER)
FOUND = """MEMORY.md:1-4
> # Memory
>
> - The user's sister Ines lives in Porto.
> - The boiler was serviced by Kessler.

memory/2026-11-01.md:7-7 (unconfirmed, from web)
> - Ines sold her car.

[Cite what you use, like "Source: MEMORY.md#L1-L4".]"""


def said(question: str, found: str = FOUND, *, name: str = "memory_search", is_error: bool = False) -> list[Message]:
    outcome = ToolOutcome(call_id="c", name=name, text=found, is_error=is_error, label=OWN)
    return [UserMessage(parts=(Text(text=question, label=OWN),)), ToolMessage(outcomes=(outcome,))]


def test_the_line_that_the_answer_is_made_of_is_named() -> None:
    assert sources("She lives in Porto.", said("Where does my sister live?")) == "\n\nSource: MEMORY.md#L3"
    assert sources("Kessler did it.", said("Who serviced the boiler?")) == "\n\nSource: MEMORY.md#L4"
    assert sources("She sold it.", said("What about the car of Ines?")).endswith("2026-11-01.md#L7")


def test_a_model_that_cites_by_itself_is_left_alone() -> None:
    assert sources("In Porto. Source: MEMORY.md#L3", said("Where does my sister live?")) == ""


def test_an_answer_that_uses_nothing_of_it_names_nothing() -> None:
    assert sources("I do not know.", said("Where does my sister live?")) == ""
    assert sources("", said("Where does my sister live?")) == ""


def test_where_citations_are_off_none_is_added() -> None:
    plain = FOUND.partition("\n\n[Cite")[0]
    assert sources("She lives in Porto.", said("Where does my sister live?", plain)) == ""


def test_only_memory_is_cited() -> None:
    assert sources("She lives in Porto.", said("Where?", name="web_fetch")) == ""
    assert sources("She lives in Porto.", said("Where?", is_error=True)) == ""


def test_words_that_stand_everywhere_are_no_source() -> None:
    found = FOUND.replace("- The boiler", "- The key is not for you and was found with that. The boiler")
    assert sources("The weather is fine and not too cold for May, with nothing found about that.", said("Weather?", found)) == ""


def test_a_short_name_or_number_is_a_source() -> None:
    found = FOUND.replace("sister Ines lives in Porto", "sister Ana lives at number 12")
    assert sources("Ana.", said("What is she called?", found)) == "\n\nSource: MEMORY.md#L3"
    assert sources("At 12.", said("Where does she live?", found)) == "\n\nSource: MEMORY.md#L3"
