"""`gateway.db`: devices, their tokens, pairing requests, browser sessions, one-time links, answers given before.

One encrypted file beside the bots' stores. Of every secret only the SHA-256 is kept. Every call is one short transaction,
so a gateway and command lines use the file at the same time.
"""

from ostiary.adapters.gateway_db.opening import GatewayDb, SharedGatewayDb, connect_gateway_db, open_gateway_db
from ostiary.adapters.gateway_db.records import Answer, Device, PairingRequest

__all__ = [
    "Answer",
    "Device",
    "GatewayDb",
    "PairingRequest",
    "SharedGatewayDb",
    "connect_gateway_db",
    "open_gateway_db",
]
