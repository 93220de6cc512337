"""Compressed bodies, unpacked piece by piece: never more at once than asked for, and never a bomb."""

import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Protocol

from ostiary.adapters.egress.errors import EgressFailed

_PIECE = 64 * 1024
_RATIO = 100
_RATIO_COUNTS_FROM = 512 * 1024
_ZSTD_WINDOW_LOG = 23  # 8 MB, the most that RFC 8878 lets a web server ask for


class Unpacker(Protocol):
    """One coding. `step` gives at most about `room` bytes; `is_hungry` tells that it needs more input first."""

    @property
    def is_hungry(self) -> bool: ...

    @property
    def is_complete(self) -> bool: ...

    def step(self, data: bytes, room: int) -> bytes: ...


class Unpacking:
    """A body on its way from the wire. Raises EgressFailed: protocol (broken), too_large (a bomb), cut (not complete)."""

    def __init__(self, coding: str, origin: str) -> None:
        self._origin = origin
        self._unpacker = _unpacker(coding, origin)
        self._taken = 0
        self._given = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Pieces of the plain body. Whoever has enough stops asking, and no more is unpacked."""
        if self._unpacker is None:
            yield data
            return
        self._taken += len(data)
        while True:
            try:
                piece = self._unpacker.step(data, _PIECE)
            except Exception as error:
                # Each library has its own error for broken data, and there is only one answer to it.
                raise EgressFailed(f"{self._origin} sent a broken compressed body.", failure="protocol") from error
            data = b""
            self._given += len(piece)
            if self._given > _RATIO_COUNTS_FROM and self._given > _RATIO * self._taken:
                raise EgressFailed(f"{self._origin} sent a decompression bomb.", failure="too_large")
            if piece:
                yield piece
            if self._unpacker.is_hungry or self._unpacker.is_complete:
                return

    def finish(self) -> None:
        if self._unpacker is not None and self._taken and not self._unpacker.is_complete:
            raise EgressFailed(f"The connection to {self._origin} broke off.", failure="cut")


def accepted_codings() -> str:
    """For the header Accept-Encoding: what this installation can unpack."""
    codings = ["gzip", "deflate"]
    if find_spec("brotli") is not None:
        codings.append("br")
    if _zstd() is not None:
        codings.append("zstd")
    return ", ".join(codings)


def _unpacker(coding: str, origin: str) -> Unpacker | None:
    match coding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Zlib(16 + zlib.MAX_WBITS)
        case "deflate":
            return _Deflate()
        case "br" if find_spec("brotli") is not None:
            return _Brotli()
        case "zstd" if (library := _zstd()) is not None:
            return _Zstd(library)
    raise EgressFailed(f"{origin} sent a body in a coding that was not asked for.", failure="protocol")


class _Zlib:
    """Further members after the first are unpacked too, as gzip allows."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._inner = zlib.decompressobj(bits)
        self._has_more = False

    @property
    def is_hungry(self) -> bool:
        return not (self._has_more or self._inner.unconsumed_tail or self._inner.unused_data)

    @property
    def is_complete(self) -> bool:
        return self._inner.eof and not self._next_member

    @property
    def _next_member(self) -> bool:
        return self._bits > 16 and self._inner.unused_data[:2] == b"\x1f\x8b"

    def step(self, data: bytes, room: int) -> bytes:
        rest = self._inner.unconsumed_tail + data
        if self._inner.eof:
            rest = self._inner.unused_data + data
            if self._bits <= 16 or not rest.startswith(b"\x1f\x8b"):
                return b""
            self._inner = zlib.decompressobj(self._bits)
        piece = self._inner.decompress(rest, room)
        # Its input may be used up while it still holds output back.
        self._has_more = len(piece) >= room
        return piece


class _Deflate:
    """Servers send it with and without the two bytes of zlib before it."""

    def __init__(self) -> None:
        self._inner: _Zlib | None = None

    @property
    def is_hungry(self) -> bool:
        return self._inner is None or self._inner.is_hungry

    @property
    def is_complete(self) -> bool:
        return self._inner is not None and self._inner.is_complete

    def step(self, data: bytes, room: int) -> bytes:
        if self._inner is None:
            if not data:
                return b""
            self._inner = _Zlib(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)
        return self._inner.step(data, room)


class _Brotli:
    def __init__(self) -> None:
        import brotli

        self._inner = brotli.Decompressor()
        self._has_more = False

    @property
    def is_hungry(self) -> bool:
        return not self._has_more and bool(self._inner.can_accept_more_data())

    @property
    def is_complete(self) -> bool:
        return bool(self._inner.is_finished())

    def step(self, data: bytes, room: int) -> bytes:
        piece = bytes(self._inner.process(data, output_buffer_limit=room))
        self._has_more = len(piece) >= room
        return piece


class _Zstd:
    def __init__(self, library: Any) -> None:
        options = {library.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
        self._inner = library.ZstdDecompressor(options=options)

    @property
    def is_hungry(self) -> bool:
        return bool(self._inner.needs_input)

    @property
    def is_complete(self) -> bool:
        return bool(self._inner.eof)

    def step(self, data: bytes, room: int) -> bytes:
        return b"" if self._inner.eof else bytes(self._inner.decompress(data, room))


def _zstd() -> Any:
    """The library of the standard library or its backport; None if this installation has neither."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            return None
    return zstd
