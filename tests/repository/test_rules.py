"""The rules of the house are enforced, not just written down: each is broken here on purpose and must be caught."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "ostiary"


def imports(folder: Path) -> set[tuple[str, str]]:
    """Each file with the packages it names, wherever in the file that is."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {(str(path.relative_to(SRC)), name) for name in names}
    return found


def test_contracts_import_only_the_standard_library_and_each_other() -> None:
    known = sys.stdlib_module_names
    strangers = {
        (path, name)
        for path, name in imports(SRC / "contracts")
        if name.partition(".")[0] not in known and not name.startswith("ostiary.contracts")
    }
    assert strangers == set()


def test_core_imports_only_contracts_the_standard_library_and_anyio() -> None:
    known = {*sys.stdlib_module_names, "anyio"}
    strangers = {
        (path, name)
        for path, name in imports(SRC / "core")
        if name.partition(".")[0] not in known and not name.startswith(("ostiary.contracts", "ostiary.core"))
    }
    assert strangers == set()


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "import random",
        "import socket",
        "import subprocess",
        "import os",
        "from pathlib import Path",
        "from time import time",
        "import secrets",
        "import asyncio",
        "x = open('x')",
    ],
)
def test_ruff_refuses_machine_access_in_core(line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--stdin-filename", "src/ostiary/core/agent/broken.py", "-"],
        cwd=ROOT,
        input=f"{line}\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "TID251" in done.stdout or "PTH123" in done.stdout


def test_ruff_allows_the_same_in_an_adapter() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--stdin-filename", "src/ostiary/adapters/fine.py", "-"],
        cwd=ROOT,
        input='import time\n\nprint_at = time.time\nwith open("x") as file:\n    text = file.read()\n',
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("place", "line", "contract"),
    [
        ("core/agent/broken.py", "import ostiary.adapters.store.codec", "Layers"),
        ("adapters/tools/broken.py", "import ostiary.core.agent.run", "Core and adapters meet only in assembly"),
        ("adapters/tools/broken.py", "import ostiary.adapters.store.codec", "Adapters are independent"),
        ("core/agent/broken.py", "import sqlite3", "Core touches no socket"),
        ("contracts/broken.py", "import msgspec", "Contracts import only the standard library"),
    ],
)
def test_import_rules_catch_a_violation(tmp_path: Path, place: str, line: str, contract: str) -> None:
    shutil.copytree(SRC, tmp_path / "src" / "ostiary", ignore=shutil.ignore_patterns("__pycache__", "*.gguf"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "ostiary" / place).write_text(f"{line}\n")
    command = (
        "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    )
    done = subprocess.run([sys.executable, "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    broken = [each for each in done.stdout.splitlines() if each.endswith("BROKEN")]
    assert done.returncode == 1
    assert any(each.startswith(contract) for each in broken)


def test_the_lock_files_pin_with_hashes_and_name_no_host() -> None:
    for path in (ROOT / "requirements").glob("*.lock"):
        text = path.read_text()
        pins = [line for line in text.splitlines() if "==" in line]
        assert pins
        assert text.count("--hash=sha256:") >= len(pins)
        assert "://" not in text
        assert "index-url" not in text


def test_every_direct_dependency_is_locked() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = {line.partition("==")[0] for line in (ROOT / "requirements" / "base.lock").read_text().splitlines() if "==" in line}
    wanted = {each.partition(">")[0].partition(";")[0].strip() for each in project["dependencies"]}
    assert wanted <= locked


def test_a_skip_fails_the_build_in_ci_and_only_there(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_skip.py").write_text("import pytest\n\n@pytest.mark.skip(reason='no')\ndef test_x(): ...\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    here = subprocess.run(command, cwd=tmp_path, capture_output=True, env={"PATH": "", "CI": ""}, check=False)
    in_ci = subprocess.run(command, cwd=tmp_path, capture_output=True, env={"PATH": "", "CI": "true"}, check=False)
    assert (here.returncode, in_ci.returncode) == (0, 1)


def test_a_test_that_leaves_loopback_is_stopped() -> None:
    import socket

    with socket.socket() as outside, pytest.raises(PermissionError, match="stay on loopback"):
        outside.connect(("192.0.2.1", 80))
