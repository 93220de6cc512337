"""Every requirement is attacked by a test, and every test says which one it attacks."""

import ast
from pathlib import Path

import pytest

from tests.security.requirements import REQUIREMENTS

FILES = sorted(Path(__file__).parent.glob("test_*.py"))


def _proved(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    calls = [each for each in function.decorator_list if isinstance(each, ast.Call)]
    marks = [call for call in calls if ast.unparse(call.func) == "pytest.mark.proves"]
    return [argument.value for call in marks for argument in call.args if isinstance(argument, ast.Constant)]  # type: ignore[misc]


def _tests() -> dict[str, list[str]]:
    """Of the files that attack by requirement: each test and what it names."""
    texts = [(file.stem, file.read_text()) for file in FILES if file.name != Path(__file__).name]
    trees = [(stem, ast.parse(text)) for stem, text in texts if "pytest.mark.proves(" in text]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [(stem, node) for stem, tree in trees for node in tree.body if isinstance(node, kinds)]
    return {f"{stem}::{node.name}": _proved(node) for stem, node in functions if node.name.startswith("test_")}


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_every_requirement_is_attacked(requirement: str) -> None:
    assert [name for name, proved in _tests().items() if requirement in proved]


def test_every_attack_names_a_requirement_that_exists() -> None:
    assert {name: proved for name, proved in _tests().items() if not proved or not set(proved) <= set(REQUIREMENTS)} == {}
