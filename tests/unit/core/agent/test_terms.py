from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.events import ModelAnswered, TurnStarted
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import AnswerForm, ModelChoice, ModelRef, ModelRequest, ToolChoice, ToolSchema, Usage
from ostiary.contracts.tool import ToolSpec
from ostiary.core.agent.terms import bound, callable_now, lasting, terms_of
from ostiary.core.sessions.session import Turn

OURS = ToolSchema(name="read", description="", parameters={})
THEIRS = ToolSchema(name="look", description="", parameters={})
REQUEST = ModelRequest(choice=ModelChoice(primary=ModelRef("kit", "m")), system=(), messages=(), tools=(OURS, THEIRS))
FORM = AnswerForm(schema={"type": "object"}, name="ü", description="d", strict=True)
REQUIRED, NONE = ToolChoice(mode="required", tool="look"), ToolChoice(mode="none")
OFFERED = {schema.name: ToolSpec(schema=schema, effects=frozenset()) for schema in (OURS, THEIRS)}
ANSWER = ModelAnswered(
    step=1, parts=(Text(text="a", label=Label(trust=Trust.OWNER)),), stop="tool_calls", usage=Usage(), model="kit/m"
)


def turn(directives: dict[str, str], answer: ModelAnswered | None = None) -> Turn:
    started = TurnStarted(
        inputs=(),
        principal=Principal(user=UserId(channel="api", stable_id="token")),
        reply_to=Address(channel="api", account="default", chat="x"),
        client_tools=(THEIRS,),
        directives=directives,
    )
    return Turn(id="t", started=started, started_at=0.0, items=[], answer=answer)


def test_a_turn_without_terms_leaves_the_request_as_it_is() -> None:
    assert bound(REQUEST, turn({"model": "kit/m"})) is REQUEST


def test_terms_come_back_as_they_were_given() -> None:
    request = bound(REQUEST, turn(terms_of(form=FORM, choice=NONE, parallel=False)))
    assert (request.form, request.tool_choice, request.parallel_calls) == (FORM, NONE, False)
    assert request.tools == REQUEST.tools


def test_a_demanded_call_is_one_of_the_callers_tools() -> None:
    request = bound(REQUEST, turn(terms_of(choice=REQUIRED)))
    assert (request.tool_choice, request.tools) == (REQUIRED, (THEIRS,))
    assert list(callable_now(OFFERED, request)) == ["look"]


def test_a_call_is_demanded_of_the_first_answer_alone() -> None:
    request = bound(REQUEST, turn(terms_of(form=FORM, choice=REQUIRED), ANSWER))
    assert (request.tool_choice, request.tools, request.form) == (None, REQUEST.tools, FORM)
    assert callable_now(OFFERED, request) == OFFERED


def test_where_no_tool_may_be_called_none_is() -> None:
    request = bound(REQUEST, turn(terms_of(choice=NONE), ANSWER))
    assert request.tool_choice == NONE
    assert callable_now(OFFERED, request) == {}


def test_what_lasts_is_everything_but_a_demanded_call() -> None:
    assert lasting(terms_of(form=FORM, choice=REQUIRED, parallel=False)) == terms_of(form=FORM, parallel=False)
    assert lasting({"model": "kit/m", **terms_of(choice=NONE)}) == terms_of(choice=NONE)
