"""What a person reads when there is no fence."""

from pathlib import Path

import pytest

from ostiary.adapters.sandbox.instructions import failed, install_line, missing


def machine(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ("ID=debian\n", "apt-get install"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "apt-get install"),
        ("ID=fedora\n", "dnf install"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install"),
        ("ID=arch\n", "pacman -S"),
        ("ID=alpine\n", "apk add"),
        ("ID=opensuse-leap\nID_LIKE='suse opensuse'\n", "zypper install"),
        ("ID=hannah\n", "package manager"),
        ("nonsense", "package manager"),
    ],
)
def test_the_line_to_type_is_that_of_the_distribution(release: str, line: str, tmp_path: Path) -> None:
    assert line in install_line(machine(tmp_path, **{"etc__os-release": release}))
    assert line in missing(tmp_path).hint


@pytest.mark.parametrize(
    ("said", "files", "hint"),
    [
        (
            "setting up uid map: Permission denied",
            {"proc__sys__kernel__apparmor_restrict_unprivileged_userns": "1\n"},
            "apparmor_parser",
        ),
        (
            "No permissions to create new namespace",
            {"proc__sys__kernel__unprivileged_userns_clone": "0\n"},
            "unprivileged_userns_clone=1",
        ),
        ("Creating new namespace failed", {"proc__sys__user__max_user_namespaces": "0\n"}, "max_user_namespaces"),
        ("Can't mount proc on /newroot/proc", {}, "container"),
        ("anything", {".dockerenv": ""}, "container"),
        ("Unknown option --disable-userns", {}, "too old"),
        ("something else", {}, "bwrap --ro-bind"),
    ],
)
def test_the_reason_is_looked_for_on_the_machine(said: str, files: dict[str, str], hint: str, tmp_path: Path) -> None:
    error = failed(f"bwrap: {said}\n", machine(tmp_path, **files))
    assert hint in error.hint
    assert said in str(error)
    assert "not run" in str(error)


def test_the_programs_own_words_are_cut() -> None:
    assert len(str(failed("x" * 10_000))) < 500
