import ast
from pathlib import Path

import pytest

import ostiary.gateway.auth as auth
from ostiary.gateway.auth.secret import check_secret_strength, new_code, same

BLANKS = ["", " ", "undefined", "null", "None", "NULL", " undefined ", "nil", "false", "[object Object]"]


@pytest.mark.parametrize("blank", BLANKS)
def test_a_blank_equals_nothing_not_even_itself(blank: str) -> None:
    assert not same(blank, blank)


def test_secrets_are_compared_whole() -> None:
    assert same("a-secret", "a-secret")
    assert not same("a-secret", "a-secretx")
    assert not same("a-secret", "A-secret")
    assert not same("a-\udcffsecret", "a-secret")


NO_SECRETS = [
    *BLANKS, "changeme", "change-me", "CHANGE_ME", "<token>", "${TOKEN}", "your-token-here", "password", "short-token",
    "aaaaaaaaaaaaaaaaaaaaaaaa", " a-fine-and-long-token-1", "a-fine\nand-long-token-1", "----------------", "{gateway-token-1}",
]  # fmt: skip


@pytest.mark.parametrize("token", NO_SECRETS)
def test_a_gateway_does_not_start_with_a_secret_that_is_none(token: str) -> None:
    assert check_secret_strength(token)


@pytest.mark.parametrize(
    ("secret", "kind"),
    [("a-token-for-tests", "token"), ("kJ3v-9fQx_T2mZ7bLw5Rn8Yc4Hs6Gd1P", "token"), ("correct horse battery", "password")],
)
def test_a_real_secret_is_fine(secret: str, kind: str) -> None:
    assert check_secret_strength(secret, kind) == ""  # type: ignore[arg-type]


def test_a_problem_never_tells_the_secret() -> None:
    assert "short-token" not in check_secret_strength("short-token")


def test_codes_are_for_people() -> None:
    codes = {new_code() for _ in range(200)}
    assert len(codes) == 200
    assert not set("".join(codes)) & set("01OIl")


def plain_comparisons(path: Path) -> set[str]:
    """The names that stand beside == or != in a file."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Compare)]
    plain = [node for node in nodes if any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops)]
    sides = [side for node in plain for side in (node.left, *node.comparators)]
    names = {side.id for side in sides if isinstance(side, ast.Name)}
    return names | {side.attr for side in sides if isinstance(side, ast.Attribute)}


@pytest.mark.parametrize("path", sorted(Path(auth.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_no_secret_is_compared_with_the_equality_operator(path: Path) -> None:
    secrets = {"token", "secret", "password", "hash", "hashed", "given", "expected", "kept", "nonce", "signature", "run_token"}
    assert plain_comparisons(path) & secrets == set()
