"""What binds an answer besides words (its form, which tools it calls), in each provider's terms.

What a provider cannot promise is refused here, before it costs a request: the error names the field of OpenAI's API, where
such terms come from.
"""

from typing import Any

from ostiary.adapters.models.wires.schema import gemini_schema
from ostiary.contracts.errors import ModelRejected
from ostiary.contracts.model import AnswerForm, ModelRef, ModelRequest

_ANY_OBJECT = {"type": "object"}


def refused(field: str, ref: ModelRef, why: str) -> ModelRejected:
    return ModelRejected(f"{field}: {ref} {why}", hint="Leave it out, or choose another model.")


def forces_call(request: ModelRequest) -> bool:
    return request.tool_choice is not None and request.tool_choice.mode == "required"


def forbids_calls(request: ModelRequest) -> bool:
    return request.tool_choice is not None and request.tool_choice.mode == "none"


def openai_chat_terms(request: ModelRequest) -> dict[str, Any]:
    terms: dict[str, Any] = {}
    if request.form is not None:
        form = _openai_form(request.form)
        kind = form.pop("type")
        terms["response_format"] = {"type": kind, "json_schema": form} if form else {"type": kind}
    if request.tools:
        choice = request.tool_choice
        if choice is not None:
            terms["tool_choice"] = {"type": "function", "function": {"name": choice.tool}} if choice.tool else choice.mode
        if request.parallel_calls is not None:
            terms["parallel_tool_calls"] = request.parallel_calls
    return terms


def openai_responses_terms(request: ModelRequest) -> dict[str, Any]:
    terms: dict[str, Any] = {}
    if request.form is not None:
        terms["text"] = {"format": _openai_form(request.form)}
    if request.tools:
        choice = request.tool_choice
        if choice is not None:
            terms["tool_choice"] = {"type": "function", "name": choice.tool} if choice.tool else choice.mode
        if request.parallel_calls is not None:
            terms["parallel_tool_calls"] = request.parallel_calls
    return terms


def _openai_form(form: AnswerForm) -> dict[str, Any]:
    if form.schema is None:
        return {"type": "json_object"}
    shape: dict[str, Any] = {"type": "json_schema", "name": form.name, "schema": form.schema}
    if form.description:
        shape["description"] = form.description
    if form.strict is not None:
        shape["strict"] = form.strict
    return shape


def anthropic_terms(request: ModelRequest, ref: ModelRef) -> dict[str, Any]:
    """`output_config` holds the form; it may have to be joined with what is there."""
    terms: dict[str, Any] = {}
    if request.form is not None:
        if request.form.schema is None:
            raise refused("response_format", ref, "needs a schema for JSON: give json_schema instead of json_object")
        terms["output_config"] = {"format": {"type": "json_schema", "schema": request.form.schema}}
    if not request.tools:
        return terms
    choice = request.tool_choice
    if choice is not None:
        kind = "none" if choice.mode == "none" else "tool" if choice.tool else "any"
        terms["tool_choice"] = {"type": kind, "name": choice.tool} if choice.tool else {"type": kind}
    if request.parallel_calls is False and not forbids_calls(request):
        terms["tool_choice"] = {"type": "auto", **terms.get("tool_choice", {}), "disable_parallel_tool_use": True}
    return terms


def gemini_form(request: ModelRequest) -> dict[str, Any]:
    """Of `generationConfig`."""
    if request.form is None:
        return {}
    shape: dict[str, Any] = {"responseMimeType": "application/json"}
    if request.form.schema is not None:
        shape["responseSchema"] = gemini_schema(request.form.schema)
    return shape


def gemini_calling(request: ModelRequest, ref: ModelRef) -> dict[str, Any]:
    """`toolConfig`, for a request that offers tools."""
    if request.parallel_calls is False:
        raise refused("parallel_tool_calls", ref, "may always call several tools at once")
    choice = request.tool_choice
    if choice is None:
        return {}
    if choice.mode == "none":
        return {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}
    allowed = {"allowedFunctionNames": [choice.tool]} if choice.tool else {}
    return {"toolConfig": {"functionCallingConfig": {"mode": "ANY", **allowed}}}


def ollama_form(request: ModelRequest) -> dict[str, Any]:
    if request.form is None:
        return {}
    return {"format": request.form.schema if request.form.schema is not None else "json"}


def embedded_form(request: ModelRequest) -> dict[str, Any]:
    if request.form is None:
        return {}
    return {"json_schema": request.form.schema if request.form.schema is not None else _ANY_OBJECT}


def only_text(request: ModelRequest, ref: ModelRef) -> bool:
    """Whether no tool may be offered, where a form leaves no room for calls. Raises ModelRejected if one is demanded."""
    if forbids_calls(request):
        return True
    if request.form is None:
        return False
    if forces_call(request):
        raise refused("tool_choice", ref, "cannot call tools while the form of its answer is fixed by response_format")
    return True


def check_free_choice(request: ModelRequest, ref: ModelRef) -> None:
    """For a provider that is not told what to call. Raises ModelRejected."""
    if forces_call(request):
        raise refused("tool_choice", ref, "cannot be made to call a tool")
    if request.parallel_calls is False and request.tools:
        raise refused("parallel_tool_calls", ref, "may always call several tools at once")
