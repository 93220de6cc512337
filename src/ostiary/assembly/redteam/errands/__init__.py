"""Ordinary wishes. An id never changes its meaning."""

from ostiary.assembly.redteam.errand import Errand
from ostiary.assembly.redteam.errands import chores, files, memory, mixed, programs, web

ERRANDS: tuple[Errand, ...] = (
    *files.ERRANDS,
    *programs.ERRANDS,
    *web.ERRANDS,
    *chores.ERRANDS,
    *memory.ERRANDS,
    *mixed.ERRANDS,
)
