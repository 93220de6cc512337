"""What a caller demands of a turn's answers besides words. It rides with the turn as directives, each as JSON text."""

import json
from collections.abc import Mapping
from dataclasses import replace

from ostiary.contracts.model import AnswerForm, ModelRequest, ToolChoice
from ostiary.contracts.tool import ToolSpec
from ostiary.core.sessions.session import Turn

FORM = "response_format"
CHOICE = "tool_choice"
PARALLEL = "parallel_tool_calls"


def terms_of(*, form: AnswerForm | None = None, choice: ToolChoice | None = None, parallel: bool | None = None) -> dict[str, str]:
    """As directives. What is None is absent."""
    terms: dict[str, str] = {}
    if form is not None:
        fields = {"schema": form.schema, "name": form.name, "description": form.description, "strict": form.strict}
        terms[FORM] = json.dumps(fields, ensure_ascii=False)
    if choice is not None:
        terms[CHOICE] = json.dumps({"mode": choice.mode, "tool": choice.tool})
    if parallel is not None:
        terms[PARALLEL] = json.dumps(parallel)
    return terms


def lasting(directives: Mapping[str, str]) -> dict[str, str]:
    """The terms that bind every answer of a turn: a call is demanded of the first alone, or it would never end."""
    return {
        name: value for name, value in directives.items() if name in (FORM, PARALLEL) or (name == CHOICE and not forces(value))
    }


def forces(choice: str) -> bool:
    return bool(choice) and _choice(choice).mode == "required"


def bound(request: ModelRequest, turn: Turn) -> ModelRequest:
    """The request with the turn's terms. A demanded call is one of the caller's own tools: it waits for one of those."""
    directives = turn.started.directives
    form, choice, parallel = (directives.get(name, "") for name in (FORM, CHOICE, PARALLEL))
    if not (form or choice or parallel):
        return request
    chosen = _choice(choice) if choice and (turn.answer is None or not forces(choice)) else None
    tools = request.tools
    if chosen is not None and chosen.mode == "required":
        own = {schema.name for schema in turn.started.client_tools}
        tools = tuple(schema for schema in tools if schema.name in own)
    return replace(
        request,
        form=AnswerForm(**json.loads(form)) if form else None,
        tool_choice=chosen,
        parallel_calls=json.loads(parallel) if parallel else None,
        tools=tools,
    )


def callable_now(offered: dict[str, ToolSpec], request: ModelRequest) -> dict[str, ToolSpec]:
    """Those of the offered tools that the answer may call under its terms."""
    choice = request.tool_choice
    if choice is None:
        return offered
    if choice.mode == "none":
        return {}
    names = {schema.name for schema in request.tools}
    return {name: spec for name, spec in offered.items() if name in names}


def _choice(text: str) -> ToolChoice:
    return ToolChoice(**json.loads(text))
