"""The vault in the configuration."""

from typing import Literal

from ostiary.assembly.config.secret import SecretSource
from ostiary.assembly.config.section import key, section


@section
class VaultKey:
    """Where the key that opens the vault is kept."""

    source: Literal["file", "keyring", "passphrase"] = key(
        "file", "file: keys/store.key. keyring: the system's. passphrase: a file that only your passphrase opens."
    )


@section
class VaultBackup:
    """Backups that are made by themselves while the gateway runs."""

    folder: str = key("", "Where they go. Empty: <home>/backups.")
    every_hours: int = key(0, "How often; 0 never.", minimum=0, maximum=8760)
    keep_days: int = key(30, "How long they are kept.", minimum=1, maximum=3650)


@section
class VaultServe:
    """How `ostiary vault serve` listens."""

    host: str = key("127.0.0.1", "The address.")
    port: int = key(8181, "The port.", minimum=1, maximum=65535)
    socket: str = key("", "A unix socket instead. Empty: address and port.")


@section
class Vault:
    """Everything that lasts: files, conversations, memory."""

    mode: Literal["embedded", "remote"] = key(
        "embedded",
        "embedded: this process holds it. remote: `ostiary vault serve` does; without it nothing is kept anywhere else.",
    )
    url: str = key("", "Where the remote vault is: unix:/path or http://host:port.", placeholder="unix:/run/ostiary/vault.sock")
    token: SecretSource | None = key(None, "The remote vault's token. Absent: the one made at its first start on this machine.")
    document_max_bytes: int = key(100_000_000, "The largest document.", minimum=1024, maximum=1_000_000_000)
    quota_bytes: int = key(20_000_000_000, "All documents and their versions together.", minimum=1_000_000)
    backup: VaultBackup = key(factory=VaultBackup)
    serve: VaultServe = key(factory=VaultServe)
    key_: VaultKey = key(factory=VaultKey, name="key")
