import msgspec
import pytest

from ostiary.gateway.methods import all_methods
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.registry import Method, registry
from ostiary.gateway.protocol.shape import Done, Nothing, Params

SEND = all_methods()["chat.send"]
WHOLE = b'{"key":"agent:main:main","text":"hi","idempotencyKey":"12345678"}'

BAD = {
    "a field nobody knows": (b'{"key":"k","text":"hi","idempotencyKey":"12345678","texts":1}', "texts"),
    "a wrong type": (b'{"key":7,"text":"hi","idempotencyKey":"12345678"}', "key"),
    "a field that is missing": (b'{"text":"hi","idempotencyKey":"12345678"}', "key"),
    "a key that is too short": (b'{"key":"k","text":"hi","idempotencyKey":"1"}', "idempotencyKey"),
    "a field nobody knows, inside": (
        b'{"key":"k","text":"hi","idempotencyKey":"12345678","attachments":[{"digest":"d","name":"n","mediaType":"a/b","size":1,"x":1}]}',
        "attachments",
    ),
    "not an object": (b"[]", ""),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "path"), BAD.values(), ids=BAD)
def test_params_that_do_not_fit_are_refused_with_the_place(raw: bytes, path: str) -> None:
    with pytest.raises(MethodError) as refused:
        SEND.read(msgspec.Raw(raw))
    assert refused.value.code == "INVALID_PARAMS"
    assert str((refused.value.details or {})["path"]).startswith(path)


def test_params_that_fit_are_read() -> None:
    assert SEND.read(msgspec.Raw(WHOLE)).text == "hi"


def test_admin_includes_every_scope_and_nothing_else_includes_anything() -> None:
    method = Method("x", Nothing, Done, "read", lambda call: Done())
    allowed = {scope: method.may_be_called_with(frozenset({scope})) for scope in ("read", "chat", "approve", "admin")}  # type: ignore[arg-type]
    assert allowed == {"read": True, "chat": False, "approve": False, "admin": True}


def test_a_name_is_registered_once() -> None:
    method = Method("x", Nothing, Done, "read", lambda call: Done())
    with pytest.raises(ValueError, match="twice"):
        registry(method, method)


@pytest.mark.parametrize("name", all_methods())
def test_every_method_refuses_unknown_fields_and_every_effect_has_a_key(name: str) -> None:
    method = all_methods()[name]
    assert issubclass(method.params, Params)
    assert method.params.__struct_config__.forbid_unknown_fields
    assert method.has_effect == ("idempotency_key" in method.params.__struct_fields__)


@pytest.mark.parametrize("name", all_methods())
def test_every_method_says_what_it_does(name: str) -> None:
    assert (all_methods()[name].handler.__doc__ or "").strip().endswith(".")
