"""English words cut to their stem by Porter's rules of 1980, after the irregular forms that no rule reaches."""

import re
from functools import lru_cache

_CONSONANT = "[^aeiou]"
_VOWEL = "[aeiouy]"
_CONSONANTS = "[^aeiou][^aeiouy]*"
_VOWELS = "[aeiouy][aeiou]*"
_MORE_THAN_0 = re.compile(f"^({_CONSONANTS})?{_VOWELS}{_CONSONANTS}")
_EXACTLY_1 = re.compile(f"^({_CONSONANTS})?{_VOWELS}{_CONSONANTS}({_VOWELS})?$")
_MORE_THAN_1 = re.compile(f"^({_CONSONANTS})?{_VOWELS}{_CONSONANTS}{_VOWELS}{_CONSONANTS}")
_HAS_VOWEL = re.compile(f"^({_CONSONANTS})?{_VOWEL}")
_SHORT_END = re.compile(f"^{_CONSONANTS}{_VOWEL}[^aeiouwxy]$")
_DOUBLED = re.compile(r"([^aeiouylsz])\1$")
_STEP_1B = re.compile(r"^(.+?)(ed|ing)$")
_STEP_2 = re.compile(
    "^(.+?)(ational|tional|enci|anci|izer|bli|alli|entli|eli|ousli|ization|ation|ator|alism|iveness|fulness|ousness|aliti|iviti"
    "|biliti|logi)$"
)
_STEP_3 = re.compile("^(.+?)(icate|ative|alize|iciti|ical|ful|ness)$")
_STEP_4 = re.compile("^(.+?)(al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ou|ism|ate|iti|ous|ive|ize)$")
_TO_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_TO_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}

_FORMS = """
be am is are was were been being; have has had having; do does did done doing; go goes went gone; get gets got gotten;
buy bought; bring brought; think thought; teach taught; catch caught; seek sought; fight fought; make made; take took taken;
give gave given; come came; become became; see saw seen; know knew known; grow grew grown; throw threw thrown; fly flew flown;
draw drew drawn; blow blew blown; show shown; write wrote written; ride rode ridden; drive drove driven; rise rose risen;
speak spoke spoken; break broke broken; choose chose chosen; steal stole stolen; wake woke woken; freeze froze frozen;
forget forgot forgotten; eat ate eaten; fall fell fallen; run ran; begin began begun; swim swam swum; sing sang sung;
drink drank drunk; ring rang rung; win won; find found; hold held; tell told; sell sold; say said; pay paid; meet met;
lead led; feed fed; read; leave left; feel felt; keep kept; sleep slept; lose lost; send sent; spend spent; lend lent;
build built; bend bent; stand stood; understand understood; sit sat; lie lay lain; wear wore worn; tear tore torn;
bear bore born; swear swore sworn; hide hid hidden; bite bit bitten; shake shook shaken; sew sewn; hang hung; stick stuck;
dig dug; hear heard; mean meant; dream dreamt; learn learnt; burn burnt; child children; person people; man men; woman women;
foot feet; tooth teeth; mouse mice; life lives; wife wives; wolf wolves; leaf leaves; knife knives; half halves;
good better best; bad worse worst; january jan; february feb; march mar; april apr; august aug; september sept sep;
october oct; november nov; december dec; mother mom mum mama mommy; father dad daddy papa; grandmother grandma granny nana;
grandfather grandpa grandad; kid kiddo; photo photograph pic; picture; movie film; bike bicycle; tv television; phone telephone;
fridge refrigerator; vet veterinarian; exam examination; uni university; gym gymnasium; bday birthday; doc doctor
"""
_IRREGULAR = {form: forms.split()[0] for forms in _FORMS.split(";") for form in forms.split()}


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """`word` is in lower case. What is not plain English letters comes back as it is."""
    word = _IRREGULAR.get(word, word)
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    # A y at the head is a consonant, which the patterns do not know.
    starts_with_y = word[0] == "y"
    if starts_with_y:
        word = "Y" + word[1:]
    for step in (_plural, _past, _final_y, _step_2, _step_3, _step_4, _final_e):
        word = step(word)
    return "y" + word[1:] if starts_with_y else word


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _MORE_THAN_0.match(word[:-3]) else word
    found = _STEP_1B.match(word)
    if found is None or not _HAS_VOWEL.match(found[1]):
        return word
    word = found[1]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _DOUBLED.search(word):
        return word[:-1]
    return word + "e" if _SHORT_END.match(word) else word


def _final_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _HAS_VOWEL.match(word[:-1]) else word


def _step_2(word: str) -> str:
    found = _STEP_2.match(word)
    return found[1] + _TO_2[found[2]] if found and _MORE_THAN_0.match(found[1]) else word


def _step_3(word: str) -> str:
    found = _STEP_3.match(word)
    return found[1] + _TO_3[found[2]] if found and _MORE_THAN_0.match(found[1]) else word


def _step_4(word: str) -> str:
    found = _STEP_4.match(word)
    if found:
        return found[1] if _MORE_THAN_1.match(found[1]) else word
    if word.endswith(("sion", "tion")) and _MORE_THAN_1.match(word[:-3]):
        return word[:-3]
    return word


def _final_e(word: str) -> str:
    if word.endswith("e"):
        head = word[:-1]
        if _MORE_THAN_1.match(head) or (_EXACTLY_1.match(head) and not _SHORT_END.match(head)):
            word = head
    if word.endswith("ll") and _MORE_THAN_1.match(word):
        word = word[:-1]
    return word
