"""Change the code of core/policy in many small ways, one at a time, and see whether its tests notice.

`make mutants` does it to the layers and whatever joins them to a decision, within twenty minutes; name other modules of the
package to have those changed. A change that no test notices is a survivor: it must stand, with a reason, in the list of
survivors, or the run fails. A survivor on the list that is noticed by now must leave it.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "ostiary.core.policy"
SOURCES = ROOT / "src" / "ostiary" / "core" / "policy"
TESTS = ROOT / "tests" / "unit" / "core" / "policy"
SURVIVORS = TESTS / "survivors.txt"
DECIDING = (
    "circumstances",
    "commands",
    "confirm",
    "effects",
    "guard",
    "judge",
    "layers",
    "names",
    "places",
    "recipients",
    "rules",
    "seen",
    "taint",
    "verdict",
    "words",
)
SECONDS = 60.0
EXAMPLES = 20
PARALLEL = 2

Where = tuple[tuple[str, int | None], ...]
Change = tuple[str, str, ast.AST]

_SWAPS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
# Types say nothing at run time, and how a message is put together is not what the rules are about.
_SKIPPED_FIELDS = frozenset({"annotation", "returns", "decorator_list", "type_params"})
_SKIPPED_NODES = (ast.Import, ast.ImportFrom, ast.JoinedStr)
_SKIPPED_NAMES = frozenset({"__all__", "__slots__"})
_TYPES = frozenset({"Literal", "Mapping", "Callable", "TypeVar"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. `name` says where and what, without line numbers, so that it outlives edits elsewhere in the file."""

    module: str
    name: str
    line: int
    tree: ast.Module


def mutants_of(source: str, module: str) -> list[Mutant]:
    """Every small change of a source, each with a name of its own."""
    tree = ast.parse(source)
    found: list[Mutant] = []
    seen: Counter[str] = Counter()
    for path, owner in _places(tree, (), module.rpartition(".")[2]):
        node = _at(tree, path)
        for before, after, becomes in _changes(node):
            name = f"{owner}: {before} -> {after}"
            seen[name] += 1
            name = name if seen[name] == 1 else f"{name} ({seen[name]})"
            found.append(Mutant(module, name, getattr(node, "lineno", 0), _with(tree, path, becomes)))
    return found


def _places(node: ast.AST, path: Where, owner: str) -> Iterator[tuple[Where, str]]:
    """Every node worth a look, with the function or class it is in."""
    if path:
        yield path, owner
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        owner = f"{owner}.{node.name}"
    for field, value in ast.iter_fields(node):
        if field in _SKIPPED_FIELDS:
            continue
        if isinstance(value, ast.AST) and not _is_dull(value):
            yield from _places(value, (*path, (field, None)), owner)
        elif isinstance(value, list):
            for place, child in enumerate(value):
                if isinstance(child, ast.AST) and not _is_dull(child):
                    yield from _places(child, (*path, (field, place)), owner)


def _is_dull(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in _SKIPPED_NAMES
        case ast.Subscript(value=ast.Name(id=name)) | ast.Call(func=ast.Name(id=name)):
            return name in _TYPES
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return isinstance(node, _SKIPPED_NODES)


def _changes(node: ast.AST) -> Iterator[Change]:
    """What the node says, what it could say instead, and that as a node."""
    match node:
        case ast.Compare():
            yield from ((ast.unparse(node), ast.unparse(other), other) for other in _compared(node))
        case ast.BoolOp():
            other: ast.AST = ast.BoolOp(op=ast.Or() if isinstance(node.op, ast.And) else ast.And(), values=node.values)
            yield ast.unparse(node), ast.unparse(other), other
        case ast.UnaryOp(op=ast.Not()):
            yield ast.unparse(node), ast.unparse(node.operand), node.operand
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            negated = copy.copy(node)
            negated.test = ast.UnaryOp(op=ast.Not(), operand=test)
            yield f"if {ast.unparse(test)}", f"if {ast.unparse(negated.test)}", negated
        case ast.Constant(value=value) if type(value) in (bool, int, float, str):
            changed = ast.Constant(value=_another(value))
            yield ast.unparse(node), ast.unparse(changed), changed
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield ast.unparse(node), "return None", ast.Return(value=ast.Constant(value=None))
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.unparse(node), "pass", ast.Pass()


def _compared(node: ast.Compare) -> Iterator[ast.AST]:
    for place, op in enumerate(node.ops):
        for swapped in _SWAPS[type(op)]:
            ops = [*node.ops[:place], swapped(), *node.ops[place + 1 :]]
            yield ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def _another(value: object) -> bool | int | float | str:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else f"{value}~"


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _at(tree: ast.AST, path: Where) -> ast.AST:
    node = tree
    for field, place in path:
        value = getattr(node, field)
        node = value if place is None else value[place]
    return node


def _with(tree: ast.Module, path: Where, becomes: ast.AST) -> ast.Module:
    """The tree with one node replaced; what is not on the way to it is shared."""
    *way, (field, place) = path
    changed = copy.copy(tree)
    node: ast.AST = changed
    for step, at in way:
        value = getattr(node, step)
        child = copy.copy(value if at is None else value[at])
        setattr(node, step, child if at is None else [*value[:at], child, *value[at + 1 :]])
        node = child
    value = getattr(node, field)
    setattr(node, field, becomes if place is None else [*value[:place], becomes, *value[place + 1 :]])
    return changed


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a changed tree wherever its module is imported."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name == self._mutant.module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(ast.fix_missing_locations(self._mutant.tree), self._mutant.module, "exec"), module.__dict__)


def run_all(mutants: Sequence[Mutant | None], tests: Path, *, seconds: float = SECONDS) -> list[bool]:
    """Of each change whether the tests pass with it; None stands for no change. Each is tried in a process of its own, which
    has imported nothing of the package yet, a few side by side. Tests that do not end in time have noticed something."""
    passed = [False] * len(mutants)
    waiting = list(enumerate(mutants))[::-1]
    running: dict[int, tuple[int, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < PARALLEL:
                place, mutant = waiting.pop()
                running[_started(mutant, tests)] = (place, time.monotonic() + seconds)
            for child, (place, until) in list(running.items()):
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    passed[place] = os.waitstatus_to_exitcode(status) == 0
                    del running[child]
                elif time.monotonic() > until:
                    os.kill(child, signal.SIGKILL)
            time.sleep(0.01)
    finally:
        for child in running:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return passed


def _started(mutant: Mutant | None, tests: Path) -> int:
    """The process that tries it."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        code = _tried(mutant, tests)
    finally:
        os._exit(code)


def _tried(mutant: Mutant | None, tests: Path) -> int:
    """The module's own tests are asked first: they notice most, and are quick. Then the others."""
    import pytest

    if mutant is not None:
        sys.meta_path.insert(0, Changed(mutant))
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=mutants"]
    # What was imported ahead of time, to be quick, needs no rewritten assertions.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    own = _tests_of(mutant.module.rpartition(".")[2], tests) if mutant is not None else []
    others = [path for module in DECIDING for path in _tests_of(module, tests) if path not in own]
    for files in (own, others):
        code = int(pytest.main([*options, *map(str, files)])) if files else 0
        if code:
            return code
    return 0


def _tests_of(module: str, tests: Path) -> list[Path]:
    return sorted(tests.glob(f"test_{module}.py"))


def read_survivors(path: Path) -> dict[str, str]:
    """Names and why they may survive: lines `name  # reason`. Raises ValueError for a line without a reason."""
    found: dict[str, str] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.rpartition("  # ")
            if not name or not reason.strip():
                raise ValueError(f"{path.name}: no reason is given for {line!r}")
            found[name.strip()] = reason.strip()
    return found


def warm_up() -> None:
    """Import once what every run needs, and nothing of the package."""
    import anyio.pytest_plugin  # noqa: F401
    import hypothesis
    import pytest  # noqa: F401
    from hypothesis import strategies  # noqa: F401

    hypothesis.settings.register_profile("mutants", max_examples=EXAMPLES, deadline=None, database=None, derandomize=True)


def gather(sources: Path, package: str, modules: Sequence[str]) -> list[Mutant]:
    """Every change of these modules. Raises OSError for one that is not there."""
    paths = [sources / f"{module}.py" for module in modules]
    return [each for path in paths for each in mutants_of(path.read_text(), f"{package}.{path.stem}")]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=DECIDING, help="modules of the package; none: those that decide")
    options = parser.parse_args(arguments)
    warm_up()
    known = read_survivors(SURVIVORS)
    mutants = gather(SOURCES, PACKAGE, options.modules)
    if not all(run_all([None], TESTS)):
        print("The tests do not pass as they are; mend them first.")
        return 2
    began = time.monotonic()
    lived = run_all(mutants, TESTS)
    alive = {mutant.name: mutant for mutant, lives in zip(mutants, lived, strict=True) if lives}
    return report(mutants, alive, known, time.monotonic() - began)


def report(mutants: Sequence[Mutant], alive: Mapping[str, Mutant], known: Mapping[str, str], seconds: float) -> int:
    """Print what came out; 0 if every survivor is accounted for and every account is still true."""
    for name, mutant in alive.items():
        if name not in known:
            print(f"survived   {mutant.module}:{mutant.line}  {name}")
    asked = {mutant.name for mutant in mutants}
    outdated = [name for name in known if name in asked and name not in alive]
    for name in outdated:
        print(f"noticed    {name} (take it off {SURVIVORS.name})")
    fresh = [name for name in alive if name not in known]
    print(f"{len(mutants)} changes, {len(mutants) - len(alive)} noticed, {len(alive)} not, {len(fresh)} of them unexplained")
    print(f"{seconds:.0f} s")
    return 1 if fresh or outdated else 0


if __name__ == "__main__":
    sys.exit(main())
