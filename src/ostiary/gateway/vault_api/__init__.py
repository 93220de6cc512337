"""The vault over HTTP: one set of pages, served by the gateway under its gate and by the vault's own process under its token."""

from ostiary.gateway.vault_api.desk import Exec, Ran, VaultDesk
from ostiary.gateway.vault_api.pages import PREFIX, vault_pages

__all__ = ["PREFIX", "Exec", "Ran", "VaultDesk", "vault_pages"]
