"""The shapes in which models write tool calls as text, and how each is read."""

import json
import re

from ostiary.contracts.patterns import late
from ostiary.contracts.records import dataclass

Calls = tuple[tuple[str, str], ...]

_MAX_CALLS = 64
_MAX_MISSES = 8
_MAX_DEPTH = 64
_NAME_KEYS = ("name", "tool", "tool_name", "function_name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "params", "action_input", "tool_input", "kwargs")
_PREFIXES = ("functions.", "default_api.", "tools.")

_OPENING = late(
    r"<(?P<tag>tool_call|toolcall|tool_calls|tool_use|function_call|function_calls|tool)>"
    r"|<function=(?P<function>[\w.-]{1,64})>"
    r"|<invoke name=\"(?P<invoke>[\w.-]{1,64})\">"
    r"|\[TOOL_CALLS\]"
    r"|<\|python_tag\|>"
    r"|<\|tool_call_begin\|>\s{0,4}(?P<kimi>[\w.-]{1,64})(?::\d{1,4})?\s{0,4}<\|tool_call_argument_begin\|>"
    r"|<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?(?P<deepseek>[\w.-]{1,64})(?:<｜tool▁sep｜>)?"
    r"|<\|channel\|>commentary to=(?P<harmony>[\w.-]{1,64})[^<\n]{0,40}(?:<\|constrain\|>\w{1,16})?<\|message\|>"
    r"|^[ \t]{0,4}Action:[ \t]{0,4}(?P<react>[\w.-]{1,64})[ \t]{0,4}\n[ \t]{0,4}Action Input:[ \t]{0,4}",
    re.MULTILINE,
)
_LEFTOVER = late(
    r"\s{0,4}(?:<\|tool_call_end\|>|<｜tool▁call▁end｜>|<\|call\|>|<\|tool_calls_section_end\|>|<｜tool▁calls▁end｜>|<\|eom_id\|>)"
)
# A string that never closes runs to the end of the text: else every quote in it would be tried as a beginning.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_STRUCTURE = late(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_TRAILING_COMMA = late(rf"({_STRING})|,(?=\s{{0,64}}[}}\]])", re.DOTALL)
_NAMED = late(r"\s{0,8}(?:functions\.)?([\w.-]{1,64})\s{0,8}(?:\[ARGS\]|:)?\s{0,8}(?=\{)")
_PARAMETER = late(r"<parameter(?:=|\s+name=\")([\w.-]{1,64})\"?>")
_ARGUMENT = late(r"<arg_key>([^<]{1,64})</arg_key>\s{0,8}<arg_value>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Where calls stand in the text, and the calls: (name, arguments as JSON text)."""

    start: int
    end: int
    calls: Calls


def marked_calls(text: str, offered: frozenset[str]) -> list[Written]:
    """Calls in explicit marks, in order, none inside another."""
    found: list[Written] = []
    at = misses = 0
    # A miss may have read to the end of the text, so a few must do; a hit is never read twice.
    while misses < _MAX_MISSES and len(found) < _MAX_CALLS:
        opening = _OPENING.search(text, at)
        if opening is None:
            break
        end, calls = _read(text, opening, offered)
        if calls:
            while leftover := _LEFTOVER.match(text, end):
                end = leftover.end()
            found.append(Written(start=opening.start(), end=end, calls=calls))
        misses += not calls
        at = end
    return found


def _read(text: str, opening: re.Match[str], offered: frozenset[str]) -> tuple[int, Calls]:
    """Where the marked place ends, and its calls."""
    start = opening.end()
    if tag := opening["tag"]:
        return _tagged(text, start, tag, offered)
    if opening["function"]:
        return _tagged_parameters(text, start, opening["function"], "</function>", "</parameter>", offered)
    if opening["invoke"]:
        return _tagged_parameters(text, start, opening["invoke"], "</invoke>", "</parameter>", offered)
    if name := opening["kimi"] or opening["deepseek"] or opening["harmony"] or opening["react"]:
        return _named_json(text, start, name, offered)
    return _sequence(text, start, offered)


def _tagged(text: str, start: int, tag: str, offered: frozenset[str]) -> tuple[int, Calls]:
    close = text.find(f"</{tag}>", start)
    if close >= 0:
        body = text[start:close]
        calls = json_calls(body, offered) or _inside(body, offered)
        return close + len(tag) + 3, calls
    begin = _skip_space(text, start)
    end = json_block(text, begin, len(text))
    return (end, json_calls(text[begin:end], offered)) if end is not None else (start, ())


def _inside(body: str, offered: frozenset[str]) -> Calls:
    """What a tag holds when it is not plain JSON: other marks, `name` with arguments, or JSON with a brace forgotten."""
    inner = marked_calls(body, offered)
    if inner:
        return tuple(call for written in inner for call in written.calls)
    if named := _NAMED.match(body):
        return _named_json(body, named.end(), named[1], offered)[1]
    if "<arg_key>" in body:
        name, _, rest = body.strip().partition("<arg_key>")
        return _call(name.strip(), _pairs("<arg_key>" + rest, _ARGUMENT, "</arg_value>"), offered)
    trimmed = body.strip()
    return json_calls(trimmed + "}", offered) or json_calls(trimmed + "}}", offered) if trimmed.startswith("{") else ()


def _tagged_parameters(
    text: str, start: int, name: str, closing: str, parameter_closing: str, offered: frozenset[str]
) -> tuple[int, Calls]:
    close = text.find(closing, start)
    if close < 0:
        begin = _skip_space(text, start)
        end = json_block(text, begin, len(text))
        return (end, _call(name, _object(text[begin:end]), offered)) if end is not None else (start, ())
    body = text[start:close]
    arguments = _object(body) if body.lstrip().startswith("{") else _pairs(body, _PARAMETER, parameter_closing)
    return close + len(closing), _call(name, arguments, offered)


def _named_json(text: str, start: int, name: str, offered: frozenset[str]) -> tuple[int, Calls]:
    begin = _skip_space(text, start)
    fenced = text.startswith("```", begin)
    if fenced:
        begin = _skip_space(text, text.find("\n", begin) + 1 or len(text))
    end = json_block(text, begin, len(text))
    if end is None:
        return start, ()
    calls = _call(name, _object(text[begin:end]), offered)
    if fenced and text.startswith("```", after := _skip_space(text, end)):
        end = after + 3
    return end, calls


def _sequence(text: str, start: int, offered: frozenset[str]) -> tuple[int, Calls]:
    """After `[TOOL_CALLS]` or a python tag: a JSON array, objects one after another, or `name[ARGS]{...}` ones."""
    calls: Calls = ()
    at = start
    while len(calls) < _MAX_CALLS:
        if named := _NAMED.match(text, at):
            end, more = _named_json(text, named.end(), named[1], offered)
        else:
            begin = _skip_space(text, at)
            stop = json_block(text, begin, len(text))
            end, more = (stop, json_calls(text[begin:stop], offered)) if stop is not None else (at, ())
        if not more:
            break
        calls += more
        at = _skip_space(text, end) if text[end : end + 1] in (";", ",") else end
    return at, calls


def json_calls(text: str, offered: frozenset[str], *, needs_arguments: bool = False) -> Calls:
    """The calls of a JSON text that is one call, a list of calls, or calls one after another; () if it is anything else."""
    calls: Calls = ()
    at = _skip_space(text, 0)
    while at < len(text):
        end = json_block(text, at, len(text))
        value = _loads(text[at:end]) if end is not None else None
        more = _calls_of(value, offered, needs_arguments=needs_arguments)
        if end is None or not more or len(calls) >= _MAX_CALLS:
            return ()
        calls += more
        at = _skip_space(text, end)
        at = _skip_space(text, at + 1) if text[at : at + 1] in (",", ";") else at
    return calls


def _calls_of(value: object, offered: frozenset[str], *, needs_arguments: bool) -> Calls:
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    entries = value if isinstance(value, list) else [value]
    if len(entries) > _MAX_CALLS:
        return ()
    calls: Calls = ()
    for entry in entries:
        one = _call_of(entry, offered, needs_arguments=needs_arguments)
        if not one:
            return ()
        calls += one
    return calls


def _call_of(value: object, offered: frozenset[str], *, needs_arguments: bool) -> Calls:
    if not isinstance(value, dict):
        return ()
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    key = next((key for key in _ARGUMENT_KEYS if key in value), None)
    if name is None or (key is None and needs_arguments):
        return ()
    arguments = value[key] if key is not None else {}
    return _call(name, _loads(arguments) if isinstance(arguments, str) else arguments, offered)


def _call(name: str, arguments: object, offered: frozenset[str]) -> Calls:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    if name not in offered or not isinstance(arguments, dict):
        return ()
    try:
        text = json.dumps(arguments, ensure_ascii=False)
        text.encode()
    except RecursionError:
        return ()
    except UnicodeEncodeError:
        # Half a surrogate pair is no text anybody can store; escaped it can be reported.
        text = json.dumps(arguments)
    return ((name, text),)


def _pairs(body: str, opening: re.Pattern[str], closing: str) -> dict[str, object]:
    """`<parameter=path>a.txt</parameter>` and its kind. A value that is JSON of another type than text is taken as such."""
    pairs: dict[str, object] = {}
    at = 0
    while len(pairs) < _MAX_CALLS:
        key = opening.search(body, at)
        if key is None:
            break
        close = body.find(closing, key.end())
        if close < 0:
            break
        raw = body[key.end() : close].removeprefix("\n").removesuffix("\n")
        value = _loads(raw)
        pairs[key[1].strip()] = raw if value is None or isinstance(value, str) else value
        at = close + len(closing)
    return pairs


def json_block(text: str, start: int, end: int) -> int | None:
    """Where the JSON object or array that begins at `start` ends; None if there is none or it never closes."""
    if text[start : start + 1] not in ("{", "["):
        return None
    depth = 0
    for token in _STRUCTURE.finditer(text, start, end):
        mark = token[0]
        if mark in ("{", "["):
            depth += 1
            if depth > _MAX_DEPTH:
                return None
        elif mark in ("}", "]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _object(text: str) -> object:
    return _loads(text.strip() or "{}")


def _loads(text: str) -> object:
    """The JSON value, forgiving control characters in strings and a comma too many; None if it is no JSON."""
    for attempt in (text, None):
        candidate = _TRAILING_COMMA.sub(lambda match: match[1] or "", text) if attempt is None else attempt
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
