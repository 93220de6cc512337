import pytest

from ostiary.adapters.search.stem import stem

# From the examples in Porter's paper.
PAPER = """caresses:caress ponies:poni cats:cat feed:feed agreed:agre plastered:plaster bled:bled motoring:motor sing:sing
conflated:conflat troubled:troubl sized:size hopping:hop tanned:tan falling:fall hissing:hiss fizzed:fizz failing:fail
filing:file happy:happi sky:sky relational:relat conditional:condit rational:ration valenci:valenc digitizer:digit
radically:radic differently:differ vilely:vile analogously:analog operator:oper feudalism:feudal decisiveness:decis
hopefulness:hope callousness:callous formality:formal sensitivity:sensit sensibility:sensibl triplicate:triplic
formative:form formalize:formal electrical:electr goodness:good revival:reviv allowance:allow inference:infer airliner:airlin
adjustable:adjust defensible:defens irritant:irrit replacement:replac adjustment:adjust dependent:depend adoption:adopt
communism:commun activate:activ effective:effect probate:probat rate:rate cease:ceas controll:control roll:roll"""


@pytest.mark.parametrize("pair", PAPER.split())
def test_a_word_of_the_paper_gets_its_stem(pair: str) -> None:
    word, expected = pair.split(":")
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("form", "word"), [("went", "go"), ("bought", "buy"), ("children", "child"), ("mum", "mother"), ("sept", "september")]
)
def test_an_irregular_form_meets_its_word(form: str, word: str) -> None:
    assert stem(form) == stem(word)


@pytest.mark.parametrize("word", ["münchen", "b2b", "2025", "go", "日本"])
def test_what_is_not_english_stays_as_it_is(word: str) -> None:
    assert stem(word) == word


def test_a_y_at_the_head_is_no_vowel() -> None:
    assert stem("yelling") == "yell"
