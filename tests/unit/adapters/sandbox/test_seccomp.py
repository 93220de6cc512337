"""The filter says of every call what it should, on both architectures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.adapters.sandbox.machine_code import ALLOW, KILL, errno, judge

from ostiary.adapters.sandbox.seccomp import filter_for
from ostiary.adapters.sandbox.syscalls import ARCHITECTURES, NEWEST, NUMBERS, Architecture
from ostiary.contracts.errors import SandboxUnavailable

EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT = 1, 38, 93, 97
EACH = pytest.mark.parametrize("here", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
REFUSED = [
    "mount", "umount2", "pivot_root", "open_tree", "fsopen", "setns", "ptrace", "process_vm_readv", "process_vm_writev", "keyctl",
    "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd",
    "kexec_load", "init_module", "finit_module", "reboot", "swapon", "open_by_handle_at", "pidfd_getfd", "syslog",
]  # fmt: skip
CLONE_NEW = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]


def ask(here: Architecture, call: str, *arguments: int) -> int:
    number = NUMBERS[call][here.column]
    assert number is not None
    return judge(filter_for(here.name), number, *arguments, architecture=here.audit)


@EACH
@pytest.mark.parametrize("call", REFUSED)
def test_ways_out_are_refused(call: str, here: Architecture) -> None:
    assert errno(ask(here, call)) == EPERM


@EACH
@pytest.mark.parametrize("call", ["clone3", "openat2", "memfd_secret"])
def test_calls_whose_wishes_lie_in_memory_do_not_exist(call: str, here: Architecture) -> None:
    assert errno(ask(here, call)) == ENOSYS


@EACH
@pytest.mark.parametrize("flag", CLONE_NEW)
def test_no_flag_makes_a_namespace(flag: int, here: Architecture) -> None:
    assert errno(ask(here, "clone", flag | 17)) == EPERM
    assert errno(ask(here, "unshare", flag)) == EPERM
    assert errno(ask(here, "clone", flag | 17 | 1 << 40)) == EPERM


@EACH
def test_threads_and_children_are_made(here: Architecture) -> None:
    assert ask(here, "clone", 0x3D0F00) == ALLOW
    assert ask(here, "clone", 17) == ALLOW
    assert ask(here, "unshare", 0x400) == ALLOW


@EACH
@given(family=st.integers(min_value=0, max_value=2**32 - 1), protocol=st.integers(min_value=0, max_value=300))
def test_only_plain_sockets_can_be_made(here: Architecture, family: int, protocol: int) -> None:
    verdict = ask(here, "socket", family, 1, protocol)
    plain = family == 1 or (family in (2, 10) and protocol in (0, 1, 6, 17, 58)) or (family == 16 and protocol == 0)
    known = {True: {ALLOW}, False: {0x50000 | EAFNOSUPPORT, 0x50000 | EPROTONOSUPPORT}}
    assert verdict in known[plain]


@EACH
def test_vsock_does_not_exist(here: Architecture) -> None:
    assert errno(ask(here, "socket", 40, 1, 0)) == EAFNOSUPPORT
    assert errno(ask(here, "socketpair", 40, 1, 0)) == EAFNOSUPPORT
    assert ask(here, "socketpair", 1, 1, 0) == ALLOW


@EACH
@pytest.mark.parametrize("request_", [0x5412, 0x541C, 0x541D, 0x5412 | 1 << 32, 0xFFFFFFFF00005412])
def test_nothing_is_typed_into_a_terminal_whatever_the_upper_half(request_: int, here: Architecture) -> None:
    assert errno(ask(here, "ioctl", 0, request_)) == EPERM


@EACH
def test_a_terminals_size_can_be_asked(here: Architecture) -> None:
    assert ask(here, "ioctl", 0, 0x5413) == ALLOW


@EACH
@pytest.mark.parametrize("bits", [0o4000, 0o2000, 0o6000])
def test_no_file_changes_who_runs_it(bits: int, here: Architecture) -> None:
    assert errno(ask(here, "fchmod", 3, bits | 0o755)) == EPERM
    assert errno(ask(here, "fchmodat", -100 & 2**32 - 1, 0, bits | 0o755)) == EPERM
    assert errno(ask(here, "mknodat", 0, 0, bits | 0o100644)) == EPERM
    assert errno(ask(here, "openat", 0, 0, 0o100, bits | 0o755)) == EPERM
    assert ask(here, "openat", 0, 0, 0, bits | 0o755) == ALLOW
    assert ask(here, "fchmod", 3, 0o1755) == ALLOW


@EACH
def test_only_ones_own_limits_are_changed(here: Architecture) -> None:
    assert ask(here, "prlimit64", 0, 7) == ALLOW
    assert errno(ask(here, "prlimit64", 1, 7)) == EPERM


@EACH
def test_another_architecture_ends_the_process(here: Architecture) -> None:
    others = {0x40000003, 0xC000003E, 0x40000028, 0xC00000B7} - {here.audit}
    assert {judge(filter_for(here.name), 0, architecture=each) for each in others} == {KILL}


def test_the_x32_table_ends_the_process() -> None:
    assert judge(filter_for("x86_64"), 0x40000000 | 39, architecture=0xC000003E) == KILL


@EACH
@given(number=st.integers(min_value=0, max_value=2**30 - 1))
def test_every_call_gets_a_verdict_and_new_ones_do_not_exist(here: Architecture, number: int) -> None:
    verdict = judge(filter_for(here.name), number, architecture=here.audit)
    assert verdict == ALLOW or verdict & 0xFFFF0000 == 0x50000
    assert number <= NEWEST or errno(verdict) == ENOSYS


@EACH
def test_memory_nobody_owns_is_refused_where_nothing_counts_it(here: Architecture) -> None:
    uncounted = filter_for(here.name, memory_is_counted=False)
    numbers = [NUMBERS[call][here.column] or 0 for call in ("memfd_create", "shmget")]
    assert [errno(judge(uncounted, number, architecture=here.audit)) for number in numbers] == [ENOSYS, ENOSYS]
    assert [judge(filter_for(here.name), number, architecture=here.audit) for number in numbers] == [ALLOW, ALLOW]


def test_a_machine_without_a_table_is_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="riscv64"):
        filter_for("riscv64")


@pytest.mark.parametrize(("name", "same"), [("arm64", "aarch64"), ("AMD64", "x86_64")])
def test_other_names_of_the_same_machine_are_known(name: str, same: str) -> None:
    assert filter_for(name) == filter_for(same)
