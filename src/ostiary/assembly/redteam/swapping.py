"""Taking a part out and putting it back: what proofs are made of."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any


@contextmanager
def swapped(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def every(*swaps: AbstractContextManager[None]) -> Iterator[None]:
    with ExitStack() as stack:
        for swap in swaps:
            stack.enter_context(swap)
        yield
