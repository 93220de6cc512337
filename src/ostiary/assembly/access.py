"""Signing browsers and devices in from the command line: straight in the books, with or without a gateway that runs."""

import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from ostiary.adapters.gateway_db import connect_gateway_db, open_gateway_db
from ostiary.assembly.config.load import load
from ostiary.assembly.config.schema import Gateway
from ostiary.assembly.door import GATEWAY_DB
from ostiary.gateway.auth import AccessRules
from ostiary.gateway.auth.desk import DeviceDesk, new_link
from ostiary.gateway.auth.noting import Noted, unnoted


def make_link(home: Path, environ: Mapping[str, str], url: str) -> str:
    """A link that signs one browser in, once, within ten minutes; empty if no page is served.

    Raises StoreError, ConfigInvalid."""
    gateway = _gateway(home, environ)
    if not gateway.control_ui.enabled:
        return ""
    with connect_gateway_db(home / GATEWAY_DB, _key(home)) as books:
        return new_link(books.links, url, _rules(gateway), time.time())


@asynccontextmanager
async def open_desk(home: Path, environ: Mapping[str, str], noted: Noted = unnoted) -> AsyncIterator[DeviceDesk]:
    """The devices of this house. A gateway that runs hears of a change within a second. `noted` is told what was done.

    Raises StoreError, ConfigInvalid."""
    rules = _rules(_gateway(home, environ))
    async with open_gateway_db(home / GATEWAY_DB, _key(home)) as books:
        yield DeviceDesk(books, now=time.time, rules=lambda: rules, on_change=lambda: None, noted=noted)


def own_tls(home: Path, environ: Mapping[str, str], url: str) -> ssl.SSLContext | None:
    """To speak to the gateway of this very house: its own certificate is believed and no other. None without TLS."""
    if not url.startswith(("https:", "wss:")):
        return None
    tls = _gateway(home, environ).tls
    certificate = Path(tls.cert_path).expanduser() if tls.cert_path else home / "tls" / "cert.pem"
    context = ssl.create_default_context(cafile=certificate)
    # The address may be any of this machine's; the certificate is compared whole.
    context.check_hostname = False
    return context


def _gateway(home: Path, environ: Mapping[str, str]) -> Gateway:
    return load(home, environ).config.gateway


def _rules(gateway: Gateway) -> AccessRules:
    return AccessRules(mode=gateway.auth.mode, base_path=gateway.control_ui.base_path)


def _key(home: Path) -> bytes:
    from ostiary.assembly.keys import store_key

    return store_key(home)
