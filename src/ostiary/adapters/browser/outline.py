"""A page's accessibility tree as a model reads it: terse, indented, with a ref wherever something can be done.

The tree comes from playwright in a YAML-like form, one node a line:

    - navigation [ref=e2]:
      - link "Docs" [ref=e3] [cursor=pointer]:
        - /url: /docs
    - paragraph [ref=e4]: Some words

and becomes

    navigation
      e3 link "Docs" -> /docs
    Some words

A page may name its elements as it likes; what cannot be read is shown as text, never as a ref.
"""

import json
import re

from ostiary.adapters.browser.records import PAGE_BYTES, Element
from ostiary.contracts.records import dataclass

MAX_RAW = 2_000_000
MAX_WORDS = 300_000
MAX_PAGES = 50
_MAX_DEPTH = 12
_MAX_NAME = 160
_MAX_URL = 120
_MAX_TEXT = 4000
_WRAP = 400

_LINE = re.compile(r"( *)- (.*)")
_NODE = re.compile(r'(?P<role>[a-z]+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?P<marks>(?: \[[^\]]*\])*)(?P<colon>:)?(?: (?P<text>.*))?')
_MARK = re.compile(r"\[([^\]=]+)(?:=([^\]]*))?\]")
_REF = re.compile(r"(?:f\d+)?e\d+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_USABLE = frozenset(
    (
        *("link", "button", "textbox", "searchbox", "checkbox", "radio", "combobox", "listbox", "option", "menuitem"),
        *("menuitemcheckbox", "menuitemradio", "tab", "switch", "slider", "spinbutton", "treeitem"),
    )
)
_PLAIN = frozenset(
    (
        *("generic", "paragraph", "text", "strong", "emphasis", "code", "time", "mark", "list", "listitem", "group", "row"),
        *("rowgroup", "cell", "gridcell", "table", "document", "none", "presentation", "term", "definition", "subscript"),
        *("superscript", "insertion", "deletion", "caption", "figure"),
    )
)
_STATES = ("checked", "disabled", "expanded", "pressed", "selected", "active")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """`lines` are ready to be shown; `elements` are those with a ref among them."""

    lines: tuple[str, ...]
    elements: dict[str, Element]
    is_cut: bool = False

    def part(self, number: int) -> tuple[str, int]:
        """Part `number` of the text and how many parts there are. A number past the end gives the last."""
        parts = [""]
        size = 0
        for line in self.lines:
            length = len(line.encode("utf-8", "replace")) + 1
            if size and size + length > PAGE_BYTES:
                parts.append("")
                size = 0
            parts[-1] += line + "\n"
            size += length
        del parts[MAX_PAGES:]
        return parts[min(number, len(parts)) - 1].rstrip("\n"), len(parts)


@dataclass(slots=True)
class _Open:
    """A node whose children are being read: `indent` in the source, `depth` in the result."""

    indent: int
    depth: int
    ref: str


def outline(raw: str) -> Outline:
    """Raises nothing, whatever the page made of it."""
    lines: list[str] = []
    elements: dict[str, Element] = {}
    open_nodes: list[_Open] = []
    for source in raw[:MAX_RAW].split("\n"):
        matched = _LINE.fullmatch(source)
        if matched is None:
            continue
        indent, content = len(matched[1]), _unquoted_key(matched[2])
        while open_nodes and open_nodes[-1].indent >= indent:
            open_nodes.pop()
        depth = open_nodes[-1].depth if open_nodes else 0
        if content.startswith("/"):
            _property(content, open_nodes, lines, elements)
            continue
        shown, ref, element = _node(content)
        if element is not None:
            elements[ref] = element
        lines += ["  " * depth + piece for piece in _wrapped(shown)]
        open_nodes.append(_Open(indent, min(depth + (1 if shown else 0), _MAX_DEPTH), ref if element is not None else ""))
    return Outline(lines=tuple(lines), elements=elements, is_cut=len(raw) > MAX_RAW)


def words_of(text: str) -> Outline:
    """The same for a page of which only the words are known: nothing in it can be used."""
    lines = [piece for line in text[:MAX_RAW].split("\n") if line.strip() for piece in _wrapped(_words(line.strip()))]
    return Outline(lines=tuple(lines), elements={}, is_cut=len(text) >= MAX_WORDS)


def clean(text: str, most: int) -> str:
    """One line without control and direction characters, at most that long."""
    text = _CONTROL.sub(" ", text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _node(content: str) -> tuple[str, str, Element | None]:
    """What is shown of the node (empty: nothing), its ref, and the element if it can be used."""
    matched = _NODE.fullmatch(content)
    if matched is None:
        return _words(content), "", None
    role, text = matched["role"], _scalar(matched["text"] or "")
    if role == "text" and not matched["name"]:
        return _words(text), "", None
    name = clean(_scalar(matched["name"] or ""), _MAX_NAME)
    marks = dict(_MARK.findall(matched["marks"] or ""))
    ref = marks.get("ref", "")
    is_usable = _REF.fullmatch(ref) is not None and (role in _USABLE or ("cursor" in marks and role != "generic"))
    is_usable = is_usable or (_REF.fullmatch(ref) is not None and "cursor" in marks and bool(name or text))
    if not is_usable and role in _PLAIN:
        return ("- " if role == "listitem" and text else "") + _words(text), "", None
    words = [ref] if is_usable else []
    words.append(role + (f" {marks['level']}" if role == "heading" and "level" in marks else ""))
    words += [f'"{name}"'] if name else []
    states = [f"{state}={marks[state]}" if marks[state] else state for state in _STATES if state in marks]
    words += [f"[{', '.join(states)}]"] if states else []
    shown = " ".join(words) + (f": {clean(text, _MAX_TEXT)}" if text else "")
    return shown, ref, Element(role=role, name=name or clean(text, _MAX_NAME)) if is_usable else None


def _words(text: str) -> str:
    """The page's own text. What looks like one of our refs is quoted, so that no page can draw a button."""
    text = clean(text, _MAX_TEXT)
    return f"'{text}'" if _REF.match(text.lstrip(" -")) else text


def _property(content: str, open_nodes: list[_Open], lines: list[str], elements: dict[str, Element]) -> None:
    key, _, value = content.partition(": ")
    if not open_nodes or not open_nodes[-1].ref or not lines:
        return
    value, ref = _scalar(value), open_nodes[-1].ref
    if key == "/url":
        was = elements[ref]
        elements[ref] = Element(role=was.role, name=was.name, target=clean(value, 2000))
        lines[-1] += f" -> {clean(value, _MAX_URL)}"
    elif key == "/placeholder":
        lines[-1] += f" ({clean(value, _MAX_NAME)})"


def _unquoted_key(content: str) -> str:
    """YAML quotes a key that holds odd characters: `'link "a: b" [ref=e1]':`."""
    if not content.startswith("'"):
        return content
    end = re.match(r"'((?:[^']|'')*)'(.*)", content)
    return content if end is None else end[1].replace("''", "'") + end[2]


def _scalar(text: str) -> str:
    """A YAML value: quoted as JSON where it has to be."""
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(re.sub(r"\\x([0-9a-fA-F]{2})", r"\\u00\1", text))
    except ValueError:
        return text.strip('"')
    return value if isinstance(value, str) else text


def _wrapped(text: str) -> list[str]:
    return [text[at : at + _WRAP] for at in range(0, len(text), _WRAP)]
