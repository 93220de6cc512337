"""The common forms of inline Markdown, read by one regular expression.

Most paragraphs hold plain words, `code`, **bold**, *italic*, ~~struck~~ words and [links](https://…), and nothing ambiguous.
Those are read here, several times faster than by the full parser and with the same result; anything else is left to it.
"""

import re

from ostiary.contracts.text import PLAIN, Styles

Run = tuple[str, Styles, str]

_INNER = r"[^\W_](?:[^\\`*_~\[\]<&!\n]*[\w.,:;?)%])?"
_AFTER = r"""(?=[\s.,;:?)"'-]|$)"""
_FORM = re.compile(
    rf"""(?P<text>(?:
            [^\\`*_~\[\]<&!]++
          | \[[^\\`*_~\[\]<&!\n]*+\](?!\()
          | (?<=[A-Za-z0-9])_(?=[A-Za-z0-9])
          | (?<=[ ])\*(?=[ ])
          | !(?!\[)
          | &(?=[ ])
          | <(?=[ =0-9-])
          | (?<!~)~(?!~)
        )+)
      | (?<!`)`(?P<code>[^`\n]+)`(?!`)
      | (?<![\w*])\*\*(?P<bold>{_INNER})\*\*{_AFTER}
      | (?<![\w*])\*(?P<italic>{_INNER})\*{_AFTER}
      | (?<![\w~])~~(?P<strike>{_INNER})~~{_AFTER}
      | \[(?P<label>[^\\`*_~\[\]<&!\n]+)\]\((?P<url>https?://[A-Za-z0-9](?:[A-Za-z0-9/:.?=\#_-]|&(?!\w+;|\#))*+)\)
    """,
    re.VERBOSE,
)
_BREAK = re.compile(r"[ \t]*\n[ \t]*")
_CODE: Styles = frozenset({"code"})
_BOLD: Styles = frozenset({"bold"})
_ITALIC: Styles = frozenset({"italic"})
_STRIKE: Styles = frozenset({"strike"})


def simple_runs(content: str) -> list[Run] | None:
    """Text, styles and link of every piece; None if the full parser has to look."""
    runs: list[Run] = []
    at, end = 0, len(content)
    while at < end:
        found = _FORM.match(content, at)
        if found is None:
            return None
        match found.lastgroup:
            case "text":
                text = found["text"]
                runs.append((_BREAK.sub("\n", text) if "\n" in text else text, PLAIN, ""))
            case "code":
                runs.append((_unpadded(found["code"]), _CODE, ""))
            case "bold":
                runs.append((found["bold"], _BOLD, ""))
            case "italic":
                runs.append((found["italic"], _ITALIC, ""))
            case "strike":
                runs.append((found["strike"], _STRIKE, ""))
            case _:
                runs.append((found["label"], PLAIN, found["url"]))
        at = found.end()
    return runs


def _unpadded(code: str) -> str:
    """One space on each side belongs to the marks."""
    return code[1:-1] if code[0] == code[-1] == " " and code.strip(" ") else code
