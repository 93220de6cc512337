"""Markdown that holds every block and style, and strategies that make more of it."""

from hypothesis import strategies as st

EVERYTHING = """\
# Title

Words with **bold**, *italic*, ~~struck~~, `code` and [a link](https://example.org/a?b=1&c=2), see https://example.org/x_y.

1. First:
   ```bash
   echo "a" > b
   ```
2. Second
   - inner **one**
   - inner two

> Quoted words
> on two lines

| name | count |
|------|------:|
| a | 1 |
| b | 22 |

```python
def f(x: int) -> int:
    return x < 1 & 2
```

---

- [x] done
- [ ] open
"""

_PIECES = (
    "word ", "two words ", "**bold** ", "*italic* ", "~~struck~~ ", "`code` ", "[label](https://a.example/b) ",
    "https://c.example/d_e ", "\n", "\n\n", "# Head\n", "- item\n", "  - inner\n", "1. one\n", "> quote\n",
    "```7\nx = 1\n\ny < 2\n```\n", "| a | b |\n|--|--|\n| one | two |\n", "&<>\"' ", "👨\u200d👩\u200d👧 ", "日本語 ",
    "---\n", "- [ ] task\n", "||hidden|| ", "*", "_", "` ", "[", "](", "|", "\\", "~ ", "<b>raw</b> ", "@everyone ",
)  # fmt: skip


def markdown(max_pieces: int = 40) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(_PIECES), max_size=max_pieces).map("".join)


def letters_of(text: str) -> str:
    """The words alone, to compare what was written with what is shown."""
    return "".join(char for char in text if char.isalpha())
