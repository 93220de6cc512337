"""A cheap, deterministic guess at the number of tokens, for budgets and reports; providers' own counts are the truth.

Weights were fitted to two tokenizers (o200k and an older Claude one) over prose, code, JSON, logs and sixteen languages.
Mean error against either: English prose, code, JSON and logs within 10 % (single samples of 2,000 characters mostly within
25 %); other languages in Latin script -30 to +10 % (Vietnamese -45 %); other scripts -45 to +80 %, because the two
tokenizers themselves differ there by up to 2.4 times.
"""

import string

_LETTERS = string.ascii_letters.encode()
_DIGITS = string.digits.encode()
_SPACE = b" "
_BREAKS = b"\n\t\r"
_PUNCTUATION = string.punctuation.encode()
_TWO_BYTES = bytes(range(0xC2, 0xE0))
_THREE_BYTES = bytes(range(0xE0, 0xF0))
_FOUR_BYTES = bytes(range(0xF0, 0xF5))

# Thousandths of a token for one character of each class, plain ASCII first.
_ASCII = ((_LETTERS, 250), (_DIGITS, 890), (_SPACE, 45), (_BREAKS, 470), (_PUNCTUATION, 550))
_WIDE = ((_TWO_BYTES, 640), (_THREE_BYTES, 970), (_FOUR_BYTES, 2200))


def estimate_tokens(text: str) -> int:
    """About how many tokens a model will count; 0 only for no text at all. Some 6 ns a character."""
    if not text:
        return 0
    raw = text.encode("utf-8", "replace")
    weights = _ASCII if len(raw) == len(text) else _ASCII + _WIDE
    thousandths = 0
    size = len(raw)
    for members, weight in weights:
        thousandths += (size - len(raw.translate(None, members))) * weight
    return max(1, round(thousandths / 1000))
