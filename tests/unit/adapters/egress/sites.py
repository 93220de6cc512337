"""Web sites on loopback with names of their own, and a name server that says what a test wants."""

import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ostiary.adapters.egress import EgressRules

LOCAL = EgressRules(allow_private=("127.0.0.1", "::1"))


class Names:
    """A name server. Each question takes the next answer of a name; the last one stays."""

    def __init__(self, **answers: tuple[tuple[str, ...], ...]) -> None:
        self.answers = {name.replace("_", "."): list(given) for name, given in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        if host not in self.answers:
            raise OSError("no such name")
        given = self.answers[host]
        return given.pop(0) if len(given) > 1 else given[0]


HERE = (("127.0.0.1",),)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Any path and method; gives the port."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def certificate(folder: Path, *names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For a server of these names, and for a client that trusts it alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "both.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cafile=str(pem))


def gzipped(data: bytes, times: int = 1) -> bytes:
    """`data` over and over, packed without ever being held whole."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(data) for _ in range(times)), packer.flush()])


def is_public(text: str) -> bool:
    """Another judgement than the one under test: the standard library's. 64:ff9b::/96 leads to the IPv4 address in it."""
    address = ip_address(text)
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    if text.lower().startswith("64:ff9b::"):
        inner = ip_address(int(address) & 0xFFFF_FFFF)
    if inner is not None:
        return is_public(str(inner))
    has_teredo = getattr(address, "teredo", None) is not None
    return address.is_global and not address.is_multicast and not address.is_reserved and not has_teredo
