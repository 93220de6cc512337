"""Who may come in: place, secrets, devices, browsers. One gate for HTTP and sockets; every rule lives in one file here."""

from ostiary.gateway.auth.callers import (
    ALL_SCOPES,
    Caller,
    Connect,
    DeviceProof,
    NeedsPairing,
    Refused,
    Scope,
    may_grant,
    owner,
    spelled_out,
)
from ostiary.gateway.auth.gate import Gate, caller_of, require
from ostiary.gateway.auth.headers import download_headers, security_headers
from ostiary.gateway.auth.place import is_local, is_loopback_host
from ostiary.gateway.auth.rules import AccessRules, FailureRules, failure_rules
from ostiary.gateway.auth.secret import check_secret_strength

__all__ = [
    "ALL_SCOPES",
    "AccessRules",
    "Caller",
    "Connect",
    "DeviceProof",
    "FailureRules",
    "Gate",
    "NeedsPairing",
    "Refused",
    "Scope",
    "caller_of",
    "check_secret_strength",
    "download_headers",
    "failure_rules",
    "is_local",
    "is_loopback_host",
    "may_grant",
    "owner",
    "require",
    "security_headers",
    "spelled_out",
]
