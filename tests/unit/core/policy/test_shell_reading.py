import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.core.policy.shell_reading import MAX_COMMAND, programs


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("ls", ("ls",)),
        ("/usr/bin/ls -l", ("ls",)),
        ("ls | sort | uniq -c", ("ls", "sort", "uniq")),
        ("cd x && cargo build; echo done", ("cd", "cargo", "echo")),
        ("(cd x; ls) > out 2>&1", ("cd", "ls")),
        ("ls > rm", ("ls",)),
        ("echo `id`", ("echo", "id")),
        ("echo $(cat x | wc)", ("echo", "cat", "wc")),
        ("cat <(id)", ("cat", "id")),
        ("env -u HOME ls", ("env", "ls")),
        ("nice -n 5 timeout 3 rm x", ("nice", "timeout", "rm")),
        ("flock /tmp/l rm x", ("flock", "rm")),
        ("flock -c 'rm x' /tmp/l", ("flock", "rm")),
        ("sudo -u bob rm x", ("sudo", "rm")),
        ("busybox sh -c 'rm x'", ("busybox", "sh", "rm")),
        ("sh -ec 'bash -c \"rm x\"'", ("sh", "bash", "rm")),
        ("eval 'rm x'", ("eval", "rm")),
        ("find . -exec rm {} +", ("find", "rm")),
        ("if true; then rm x; fi", ("true", "rm")),
        ("ls # rm", ("ls",)),
        ("{ rm x; }", ("rm",)),
        ("echo 'a;b' \"c|d\"", ("echo",)),
        ("r\\m x", ("rm",)),
        ("'r'm x", ("rm",)),
    ],
)
def test_the_programs_of_a_readable_line_are_known(command: str, names: tuple[str, ...]) -> None:
    assert (programs(command).programs, programs(command).is_certain) == (names, True)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("$x y", ()),
        ("sh -c '$0' rm", ("sh",)),
        ("sh x.sh", ("sh",)),
        ("python3 x.py", ("python",)),
        (". ./x", (".",)),
        ("A=B ls", ("ls",)),
        ("LD_PRELOAD=x ls", ("ls",)),
        ("env -S 'rm x'", ("env",)),
        ("ls | xargs rm", ("ls", "xargs", "rm")),
        ("eval $x", ("eval",)),
        ("ls 'open", ("ls",)),
        ("echo $(open", ("echo", "open")),
        ("cat <<X\nrm\nX", ("cat", "rm", "x")),
        ("for x in a; do rm x; done", ("rm",)),
        ("f() { rm x; }", ("f", "rm")),
        ("r? x", ()),
        ("$'\\x72m' x", ()),
    ],
)
def test_what_only_running_would_tell_is_uncertain(command: str, names: tuple[str, ...]) -> None:
    found = programs(command)
    assert set(names) <= set(found.programs)
    assert found.is_certain is False


def test_an_endless_line_is_not_read() -> None:
    assert programs("x" * (MAX_COMMAND + 1)).is_certain is False


def test_endless_nesting_is_given_up() -> None:
    assert programs("$(" * 200 + "id" + ")" * 200).is_certain is False


@given(st.text(alphabet="ab $(){}`'\"\\;|&<>\n#=-c!*", max_size=60))
def test_whatever_is_written_is_read_without_an_error(command: str) -> None:
    assert isinstance(programs(command).is_certain, bool)
