"""TLS for the gateway: the owner's certificate, or one of our own whose fingerprint people can compare."""

import hashlib
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ostiary.contracts.errors import BadInput, StoreUnavailable
from ostiary.contracts.records import dataclass

_DAYS = 397


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """`fingerprint` is SHA-256 over the certificate, as browsers show it."""

    certificate: Path
    key: Path
    fingerprint: str


def given(certificate: Path, key: Path) -> Certificate:
    """The owner's files. Raises BadInput naming the one that cannot be used."""
    for path in (certificate, key):
        if not path.is_file():
            raise BadInput(f"gateway.tls: {path} is not a file", hint="Give certPath and keyPath, or neither.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise BadInput(f"gateway.tls: {certificate} and {key} do not belong together: {error}") from None
    return Certificate(certificate=certificate, key=key, fingerprint=fingerprint_of(certificate))


def own(folder: Path, hosts: tuple[str, ...]) -> Certificate:
    """A self-signed certificate in `folder`, made once and again when it ends. Raises StoreUnavailable."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    if not _is_current(certificate):
        try:
            _make(folder, certificate, key, hosts)
        except OSError as error:
            raise StoreUnavailable(f"the certificate cannot be written to {folder}: {error.strerror}") from error
    return Certificate(certificate=certificate, key=key, fingerprint=fingerprint_of(certificate))


def fingerprint_of(certificate: Path) -> str:
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(_first(certificate.read_text()))).hexdigest().upper()
    return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))


def _first(pem: str) -> str:
    end = "-----END CERTIFICATE-----"
    return pem[: pem.index(end) + len(end)] + "\n"


def _is_current(certificate: Path) -> bool:
    from cryptography import x509

    try:
        ends = x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc
    except (OSError, ValueError):
        return False
    return ends - datetime.now(UTC) > timedelta(days=7)


def _make(folder: Path, certificate: Path, key: Path, hosts: tuple[str, ...]) -> None:
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ostiary")])
    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(
        key,
        private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )
    _write(certificate, made.public_bytes(serialization.Encoding.PEM))


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    fresh.replace(path)
