"""Ways out by the kernel's own doors, its rarer ones, and by rights that a process might keep.

Each says "done" when it has done what must not be possible."""

ATTEMPTS = {
    "vsock": "socket.socket(40, socket.SOCK_STREAM); print('done')",
    "packet socket": "socket.socket(17, socket.SOCK_RAW); print('done')",
    "netlink audit": "socket.socket(16, socket.SOCK_RAW, 9); print('done')",
    "trace a child": """
pid = os.fork()
if pid == 0:
    libc.ptrace(0, 0, 0, 0); os._exit(ctypes.get_errno())
print('done' if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 else 'held')
""",
    "read another's memory": """
word = ctypes.create_string_buffer(b'word')
there = ctypes.create_string_buffer(4)
vectors = [struct.pack('QQ', ctypes.addressof(one), 4) for one in (there, word)]
print('done' if call('process_vm_readv', os.getpid(), vectors[0], 1, vectors[1], 1, 0) == 4 else 'held')
""",
    "mount": "call('mount', b'tmpfs', b'/mnt', b'tmpfs', 0, b''); print('done')",
    "mount by the new way": "call('fsopen', b'tmpfs', 0); print('done')",
    "copy a mount": "call('open_tree', -100, b'/mnt', 1); print('done')",
    "change root": "call('chroot', b'/mnt'); print('done')",
    "add a key": "call('add_key', b'user', b'name', b'value', 5, -2); print('done')",
    "read the keyring": "call('keyctl', 0, -3, 1); print('done')",
    "io_uring": "call('io_uring_setup', 1, ctypes.create_string_buffer(120)); print('done')",
    "user namespace": "call('unshare', 0x10000000); print('done')",
    "user namespace by clone": """
pid = call('clone', 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
print('done')
""",
    "user namespace by clone3": """
pid = call('clone3', struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)
if pid == 0:
    os._exit(0)
print('done')
""",
    "network namespace": "call('unshare', 0x40000000); print('done')",
    "join a namespace": "call('setns', os.open('/proc/self/ns/uts', 0), 0); print('done')",
    "file by handle": "call('name_to_handle_at', -100, b'/', struct.pack('Ii', 128, 0) + bytes(128), bytes(4), 0); print('done')",
    "descriptor of another": "call('pidfd_getfd', os.pidfd_open(os.getpid()), 0, 0); print('done')",
    "limits of another": """
pid = os.fork()
if pid == 0:
    import time; time.sleep(5); os._exit(0)
call('prlimit64', pid, 7, 0, ctypes.create_string_buffer(16)); print('done'); os.kill(pid, 9)
""",
    "file that changes identity": """
open('/tmp/ostiary-set-id', 'w').close(); os.chmod('/tmp/ostiary-set-id', 0o4755)
os.unlink('/tmp/ostiary-set-id'); print('done')
""",
    "file made with another identity": """
os.close(os.open('/tmp/ostiary-set-id', os.O_CREAT | os.O_WRONLY, 0o4755))
print('done' if os.stat('/tmp/ostiary-set-id').st_mode & 0o4000 else 'held'); os.unlink('/tmp/ostiary-set-id')
""",
    "open by a way the filter cannot judge": "call('openat2', -100, b'/', struct.pack('3Q', 0, 0, 0), 24); print('done')",
    "host name": "call('unshare', 0x4000000); print('done')",
    "secret memory": "call('memfd_create', b'x', 0); call('userfaultfd', 1); print('done')",
    "leave a mount": "call('umount2', b'/mnt', 2); print('done')",
    "exchange the root": """
call('unshare', 0x20000); libc.mount(b'/mnt', b'/mnt', 0, 4096, 0); os.makedirs('/mnt/old', exist_ok=True)
call('pivot_root', b'/mnt', b'/mnt/old'); print('done')
""",
    "another view of mounts": "call('unshare', 0x20000); print('done')",
    "another view of control groups": "call('unshare', 0x2000000); print('done')",
    "another name for the machine": "libc.sethostname(b'x', 1) and sys.exit('held'); print('done')",
    "an address of its own": "s = socket.socket(2, socket.SOCK_RAW, 1); print('done')",
    "a mark on a file that gives rights": """
open('/mnt/marked', 'w').close()
os.setxattr('/mnt/marked', 'security.capability', struct.pack('<5I', 0x2000001, 0xffffffff, 0, 0, 0)); print('done')
""",
    "who shares what": "pid = os.getpid(); call('kcmp', pid, pid, 0, 0, 0); print('done')",
}
# The kernel here may lack them altogether, or a setting of it may forbid them: there is nothing to compare with.
ONLY_INSIDE = {
    "bpf": "call('bpf', 0, ctypes.create_string_buffer(128), 128); print('done')",
    "performance counters": "call('perf_event_open', ctypes.create_string_buffer(128), 0, -1, -1, 0); print('done')",
    "typing into a terminal": "import fcntl, pty; far, near = pty.openpty(); fcntl.ioctl(near, 0x5412, b'x'); print('done')",
    "kernel log": "import ctypes; n = libc.klogctl(10, None, 0); print('done' if n >= 0 else 'PermissionError')",
    "load a module": "call('finit_module', 0, b'', 0); print('done')",
    "a call newer than the list": "libc.syscall(467); print('done' if ctypes.get_errno() != 38 else 'held')",
    "set the clock": "call('clock_settime', 0, struct.pack('qq', 0, 0)); print('done')",
    "crypto of the kernel": "socket.socket(38, socket.SOCK_SEQPACKET); print('done')",
    "watch files of all": "call('fanotify_init', 0, 0); print('done')",
    "real time": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); print('done')",
    "before all others": "os.setpriority(os.PRIO_PROCESS, 0, -1); print('done')",
    "more processes": "import resource as r; r.setrlimit(r.RLIMIT_NPROC, (-1, -1)); print('done')",
    "more memory": "import resource as r; r.setrlimit(r.RLIMIT_AS, (-1, -1)); print('done')",
    "larger files": "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (-1, -1)); print('done')",
    "another user": "os.setuid(0 if os.getuid() else 1); print('done')",
    "another group": "os.setgroups([0]); print('done')",
    "swap": "libc.swapon(b'/tmp/x', 0) and sys.exit('held'); print('done')",
    "restart": "libc.reboot(0) and sys.exit('held'); print('done')",
    "records of processes": "libc.acct(b'/tmp/x') and sys.exit('held'); print('done')",
    "ports of the machine": "libc.iopl(3) and sys.exit('held'); print('done')",
    "a device of control groups": "open('/sys/fs/cgroup/cgroup.procs', 'a'); print('done')",
    "a helper of the kernel": "open('/sys/kernel/uevent_helper', 'w'); print('done')",
    "its own score": "os.write(os.open('/proc/self/oom_score_adj', 1), b'-1000'); print('done')",
    "the map of identities": "os.write(os.open('/proc/self/uid_map', 1), b'0 0 4294967295'); print('done')",
    "physical memory": "open('/proc/kcore', 'rb').read(1); print('done')",
}
