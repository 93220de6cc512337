"""Classic BPF as seccomp reads it: a few instructions, assembled into the kernel's bytes.

A filter is a list of blocks. Each block is for one system call number and ends in a verdict on every path.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

ALLOW = 0x7FFF0000
KILL = 0x80000000
_ERRNO = 0x00050000

_LOAD = 0x20
_JUMP_EQUAL = 0x15
_JUMP_GREATER = 0x25
_JUMP_AT_LEAST = 0x35
_JUMP_ANY_BIT = 0x45
_RETURN = 0x06

_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16


class Instruction(NamedTuple):
    code: int
    if_true: int
    if_false: int
    value: int


Block = tuple[Instruction, ...]


def errno(number: int) -> int:
    """The verdict that makes the call fail with this error."""
    return _ERRNO | number


def give(verdict: int) -> Block:
    return (Instruction(_RETURN, 0, 0, verdict),)


def argument(index: int) -> Instruction:
    """Load the lower half: the kernel itself looks at no more of the arguments we judge, so the upper half must not decide."""
    return Instruction(_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def one_of(index: int, values: Sequence[int], then: Block, otherwise: Block) -> Block:
    tests: list[Instruction] = [argument(index)]
    for place, value in enumerate(values):
        tests.append(Instruction(_JUMP_EQUAL, len(values) - 1 - place + len(otherwise), 0, value))
    return (*tests, *otherwise, *then)


def any_bit(index: int, mask: int, then: Block, otherwise: Block) -> Block:
    return (argument(index), Instruction(_JUMP_ANY_BIT, 0, len(then), mask), *then, *otherwise)


def program(architecture: int, blocks: Iterable[tuple[int, Block]], *, newest: int, unknown: int, foreign_bit: int = 0) -> bytes:
    """The whole filter. Calls numbered above `newest` get the verdict `unknown`; another architecture, or a number with
    `foreign_bit`, ends the process."""
    made = [
        Instruction(_LOAD, 0, 0, _ARCHITECTURE),
        Instruction(_JUMP_EQUAL, 1, 0, architecture),
        *give(KILL),
        Instruction(_LOAD, 0, 0, _NUMBER),
    ]
    if foreign_bit:
        made += [Instruction(_JUMP_AT_LEAST, 0, 1, foreign_bit), *give(KILL)]
    made += [Instruction(_JUMP_GREATER, 0, 1, newest), *give(unknown)]
    made += _search(_spans(blocks))
    return b"".join(struct.pack("=HBBI", *each) for each in made)


def _spans(blocks: Iterable[tuple[int, Block]]) -> Sequence[tuple[int, Block]]:
    """Which block holds from which number on; what has none is allowed."""
    found: list[tuple[int, Block]] = [(0, give(ALLOW))]
    for number, block in sorted(blocks):
        if found[-1][0] == number:
            found.pop()
        if not found or found[-1][1] != block:
            found.append((number, block))
        found.append((number + 1, give(ALLOW)))
    return found


def _search(spans: Sequence[tuple[int, Block]]) -> Block:
    """By halves: when a filter is set, the kernel walks through it once for every number there is."""
    if len(spans) == 1:
        return spans[0][1]
    half = len(spans) // 2
    lower, upper = _search(spans[:half]), _search(spans[half:])
    return (Instruction(_JUMP_AT_LEAST, len(lower), 0, spans[half][0]), *lower, *upper)
