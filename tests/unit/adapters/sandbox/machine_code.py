"""A seccomp filter, run by hand: what the kernel would answer to a call."""

import struct

ALLOW, KILL = 0x7FFF0000, 0x80000000


def judge(program: bytes, number: int, *arguments: int, architecture: int) -> int:
    """The verdict. An instruction nobody needs here is a fault of the filter."""
    packet = struct.pack("<iIQ6Q", number, architecture, 0, *(*arguments, *[0] * (6 - len(arguments))))
    instructions = list(struct.iter_unpack("=HBBI", program))
    held = place = 0
    while True:
        code, if_true, if_false, value = instructions[place]
        place += 1
        if code == 0x20:
            (held,) = struct.unpack_from("<I", packet, value)
        elif code == 0x06:
            return int(value)
        else:
            is_so = {0x15: held == value, 0x25: held > value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            place += if_true if is_so else if_false


def errno(verdict: int) -> int:
    assert verdict & 0xFFFF0000 == 0x00050000
    return verdict & 0xFFFF
