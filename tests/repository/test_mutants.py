"""The runner that changes code notices what tests do not."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.mutants import DECIDING, PACKAGE, SOURCES, SURVIVORS, gather, mutants_of, read_survivors, report

ROOT = Path(__file__).parents[2]


def changes(source: str) -> list[str]:
    return [mutant.name for mutant in mutants_of(source, "package.module")]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x = a == b", ["module: a == b -> a != b"]),
        ("x = a <= b", ["module: a <= b -> a > b", "module: a <= b -> a < b"]),
        ("x = a in b", ["module: a in b -> a not in b"]),
        ("x = a and b", ["module: a and b -> a or b"]),
        ("x = not a", ["module: not a -> a"]),
        ("x = True", ["module: True -> False"]),
        ("x = 1", ["module: 1 -> 2"]),
        ("x = 'a'", ["module: 'a' -> 'a~'"]),
        ("def f():\n    return a", ["module.f: return a -> return None"]),
        ("def f():\n    return None", []),
        ("def f():\n    g()", ["module.f: g() -> pass"]),
        ("def f():\n    raise X", ["module.f: raise X -> pass"]),
        ("if a:\n    b", ["module: if a -> if not a", "module: b -> pass"]),
        ("a == b\na == b", ["module: a == b -> pass", "module: a == b -> a != b"] * 2),
    ],
)
def test_each_kind_of_change_is_made(source: str, found: list[str]) -> None:
    assert [name.removesuffix(" (2)") for name in changes(source)] == found


def test_what_says_nothing_at_run_time_is_left_alone() -> None:
    signature = 'def f(a: "int") -> "str":\n    """More."""\n'
    quiet = f'"""Words."""\nimport a\n__all__ = ["x"]\nX = Literal["a"]\n{signature}x: int\ny = f"a{{b}}"'
    assert changes(quiet) == []


def test_names_are_unlike_and_outlive_lines() -> None:
    names = changes("a = 1\nb = 1\n")
    assert names == ["module: 1 -> 2", "module: 1 -> 2 (2)"]
    assert changes("# a comment\n\na = 1\nb = 1\n") == names


def test_each_mutant_differs_from_the_source_in_one_place_and_leaves_the_others_be() -> None:
    source = "def f(a, b):\n    return a == 1 and b < 2\n"
    made = [ast.unparse(mutant.tree) for mutant in mutants_of(source, "m")]
    assert len(set(made)) == len(made) == 7
    assert source.strip() not in made


PROGRAM = """
import sys
from pathlib import Path
from scripts import mutants

here = Path(sys.argv[1])
sys.path.insert(0, str(here))
mutants.DECIDING = ("grown",)
mutants.warm_up()
made = mutants.gather(here / "small", "small", ["grown"])
passed = mutants.run_all([None, *made], here / "tests", seconds=20.0)
print(passed[0], *[mutant.name for mutant, lives in zip(made, passed[1:], strict=True) if lives], sep="\\n")
"""


def test_a_change_that_no_test_notices_is_found(tmp_path: Path) -> None:
    for folder in ("small", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "small" / "__init__.py").write_text("")
    (tmp_path / "small" / "grown.py").write_text("def grown(age):\n    return age >= 18\n")
    test = "from small.grown import grown\n\n\ndef test_grown():\n    assert grown(30)\n    assert not grown(3)\n"
    (tmp_path / "tests" / "test_grown.py").write_text(test)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.splitlines() == ["True", "grown.grown: age >= 18 -> age > 18", "grown.grown: 18 -> 19"]


def test_a_survivor_needs_a_reason(tmp_path: Path) -> None:
    listed = tmp_path / "survivors.txt"
    listed.write_text("# words\n\nm.f: a -> b  # it makes no difference\n")
    assert read_survivors(listed) == {"m.f: a -> b": "it makes no difference"}
    listed.write_text("m.f: a -> b\n")
    with pytest.raises(ValueError, match="no reason"):
        read_survivors(listed)


def test_every_survivor_on_the_list_is_a_change_that_can_be_made() -> None:
    names = {mutant.name for mutant in gather(SOURCES, PACKAGE, DECIDING)}
    assert [name for name in read_survivors(SURVIVORS) if name not in names] == []


@pytest.mark.parametrize(
    ("alive", "known", "code"),
    [((), {}, 0), ((0,), {}, 1), ((0,), {"m: 1 -> 2": "why not"}, 0), ((), {"m: 1 -> 2": "why not"}, 1), ((), {"gone": "x"}, 0)],
)
def test_the_list_and_the_survivors_must_agree(
    alive: tuple[int, ...], known: dict[str, str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    made = mutants_of("a = 1", "m")
    assert report(made, {made[place].name: made[place] for place in alive}, known, 1.0) == code
    assert "1 changes" in capsys.readouterr().out
