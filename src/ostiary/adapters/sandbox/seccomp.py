"""Which system calls a command may make. Everything here has no use in a command's life and a history of ways out."""

import platform
from collections.abc import Mapping
from functools import cache

from ostiary.adapters.sandbox.bpf import ALLOW, Block, any_bit, errno, give, one_of, program
from ostiary.adapters.sandbox.syscalls import ARCHITECTURES, NEWEST, NUMBERS, Architecture
from ostiary.contracts.errors import SandboxUnavailable

_EPERM, _ENOSYS, _EPROTONOSUPPORT, _EAFNOSUPPORT = 1, 38, 93, 97

_REFUSED = (
    # Mounts and roots.
    "mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr setns",
    # The kernel itself, its clock, names, modules, accounting.
    "swapon swapoff reboot sethostname setdomainname init_module finit_module delete_module create_module query_module",
    "get_kernel_syms kexec_load kexec_file_load iopl ioperm modify_ldt acct quotactl quotactl_fd nfsservctl syslog settimeofday",
    "clock_settime clock_adjtime adjtimex lsm_set_self_attr vhangup",
    # Other processes, their memory and descriptors.
    "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd move_pages migrate_pages",
    # Keys, files by handle, and large young interfaces with many past holes.
    "keyctl add_key request_key name_to_handle_at open_by_handle_at lookup_dcookie bpf perf_event_open userfaultfd fanotify_init",
    "fanotify_mark io_uring_setup io_uring_enter io_uring_register",
)

# Programs try these and have another way when the kernel is too old for them.
_ABSENT = (
    # What these are asked for lies in memory, where a filter cannot look.
    "clone3 openat2",
    "memfd_secret statmount listmount",
    "_sysctl afs_syscall sysfs tuxcall uselib ustat vserver",
)

# Memory that counts for no process; only a control group sees it.
_UNCOUNTED = ("memfd_create", "shmget")

_NEW_NAMESPACE = 0x7E020000
_NEW_TIME = 0x80
_SET_ID = 0o6000
_CREATES = 0o100 | 0o20000000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_ICMP, _TCP, _UDP, _ICMP6 = 1, 6, 17, 58
# Typing into a terminal, the console's selection, the console's output.
_TERMINAL_TRICKS = (0x5412, 0x541C, 0x541D)
_PERSONALITIES = (0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)

_YES = give(ALLOW)
_NO = give(errno(_EPERM))


def filter_for(machine: str = "", *, memory_is_counted: bool = True) -> bytes:
    """The program for this machine's (or the named) architecture. Raises SandboxUnavailable for one we have no table of.

    Without a control group, memory that no process owns is refused too, so that adding up processes is enough."""
    name = machine or platform.machine()
    architecture = ARCHITECTURES.get({"arm64": "aarch64", "amd64": "x86_64"}.get(name.lower(), name))
    if architecture is None:
        raise SandboxUnavailable(
            f"There is no system-call filter for {name}.", hint="Use an x86_64 or aarch64 machine, or the docker backend."
        )
    return _filter(architecture.name, memory_is_counted)


@cache
def _filter(name: str, memory_is_counted: bool) -> bytes:
    architecture = ARCHITECTURES[name]
    rules = dict(_rules())
    if not memory_is_counted:
        rules.update(dict.fromkeys(_UNCOUNTED, give(errno(_ENOSYS))))
    blocks = [(number, block) for call, block in rules.items() if (number := _number(architecture, call)) is not None]
    return program(architecture.audit, blocks, newest=NEWEST, unknown=errno(_ENOSYS), foreign_bit=architecture.foreign_bit)


def _number(architecture: Architecture, call: str) -> int | None:
    return NUMBERS[call][architecture.column]


def _rules() -> Mapping[str, Block]:
    rules: dict[str, Block] = dict.fromkeys(" ".join(_REFUSED).split(), _NO)
    rules |= dict.fromkeys(" ".join(_ABSENT).split(), give(errno(_ENOSYS)))
    rules["clone"] = any_bit(0, _NEW_NAMESPACE, _NO, _YES)
    rules["unshare"] = any_bit(0, _NEW_NAMESPACE | _NEW_TIME, _NO, _YES)
    rules["socket"] = _sockets()
    rules["socketpair"] = one_of(0, (_AF_UNIX,), _YES, give(errno(_EAFNOSUPPORT)))
    rules["ioctl"] = one_of(1, _TERMINAL_TRICKS, _NO, _YES)
    rules["personality"] = one_of(0, _PERSONALITIES, _YES, _NO)
    # One's own limits only: those of the run's first process are not the command's to change.
    rules["prlimit64"] = one_of(0, (0,), _YES, _NO)
    rules |= _set_id_files()
    return rules


def _sockets() -> Block:
    """Local ones and the internet's plain protocols. A network namespace does not hold vsock, so it must not exist here."""
    plain = one_of(2, (0, _ICMP, _TCP, _UDP, _ICMP6), _YES, give(errno(_EPROTONOSUPPORT)))
    route = one_of(2, (0,), _YES, give(errno(_EPROTONOSUPPORT)))
    inet = one_of(0, (_AF_INET, _AF_INET6), plain, one_of(0, (_AF_NETLINK,), route, give(errno(_EAFNOSUPPORT))))
    return one_of(0, (_AF_UNIX,), _YES, inet)


def _set_id_files() -> Mapping[str, Block]:
    """A file that changes the identity of who runs it would be dangerous on the host, where the workspace lies."""
    return {
        "chmod": any_bit(1, _SET_ID, _NO, _YES),
        "fchmod": any_bit(1, _SET_ID, _NO, _YES),
        "fchmodat": any_bit(2, _SET_ID, _NO, _YES),
        "fchmodat2": any_bit(2, _SET_ID, _NO, _YES),
        "creat": any_bit(1, _SET_ID, _NO, _YES),
        "mknod": any_bit(1, _SET_ID, _NO, _YES),
        "mknodat": any_bit(2, _SET_ID, _NO, _YES),
        "open": any_bit(1, _CREATES, any_bit(2, _SET_ID, _NO, _YES), _YES),
        "openat": any_bit(2, _CREATES, any_bit(3, _SET_ID, _NO, _YES), _YES),
    }
