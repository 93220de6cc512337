"""The four postures: presets over the ordinary keys. A value in the file beats its posture, which beats the schema.

`personal` serves one owner, sparingly. `open` behaves as OpenClaw users expect. `team` keeps many people apart. `vault`
lets the model touch nothing but the store.
"""

from collections.abc import Mapping
from typing import Any

DEFAULT = "personal"

POSTURES: Mapping[str, Mapping[str, Any]] = {
    "personal": {
        "gateway": {"http": {"endpoints": {"chatCompletions": {"enabled": True}, "responses": {"enabled": True}}}},
        "agents": {
            "defaults": {
                "compaction": {"atTokens": 60_000},
                "sandbox": {"mode": "all", "scope": "agent", "workspaceAccess": "rw"},
            }
        },
        "session": {"historyLimit": 50},
        "control": {"startAwake": False, "sleepAfterMinutes": 30, "freshOnWake": True},
        "messages": {"inbound": {"debounceMs": 500}},
        "tools": {
            "profile": "full",
            "resultMaxBytes": 8192,
            "exec": {"timeoutSec": 30},
            "switches": True,
            "confirm": "danger",
            "taint": {"mode": "ask"},
            # The house's own browser and jobs are fenced and judged by themselves; the machine's are not for the model.
            "sandbox": {"tools": {"deny": ["canvas", "nodes", "gateway"]}},
            # A small model is lost among twenty tools.
            "byProvider": {
                "embedded": {
                    "allow": [
                        *("read", "ls", "write", "edit", "exec", "web_fetch", "session_status"),
                        *("memory_search", "memory_write"),
                    ],
                    "deny": ["apply_patch"],
                }
            },
        },
    },
    "open": {
        "agents": {"defaults": {"sandbox": {"mode": "non-main"}}},
        "commands": {"restart": True},
        "tools": {"profile": "full", "confirm": "never", "taint": {"mode": "off"}},
    },
    "team": {
        "agents": {"defaults": {"sandbox": {"mode": "all"}, "compaction": {"mode": "safeguard"}}},
        "session": {"dmScope": "per-channel-peer"},
        "tools": {
            "profile": "full",
            "deny": ["gateway", "session_status", "skills_install"],
            "confirm": "danger",
            "taint": {"mode": "ask"},
            "elevated": {"enabled": False},
        },
    },
    "vault": {
        "agents": {"defaults": {"sandbox": {"mode": "all", "workspaceAccess": "rw"}}},
        "plugins": {"slots": {"memory": "vault"}},
        "tools": {
            "profile": "minimal",
            "alsoAllow": [
                "vault_read",
                "vault_write",
                "vault_edit",
                "vault_search",
                "vault_get",
                "vault_status",
                "vault_exec",
                "vault_memory_search",
                "vault_memory_get",
                "vault_memory_write",
            ],
            "exec": {"timeoutSec": 300},
            "elevated": {"enabled": False},
        },
    },
}


def preset(name: object) -> Mapping[str, Any]:
    """The posture's values; nothing for an unknown name, which the schema refuses."""
    return POSTURES.get(name, {}) if isinstance(name, str) else {}


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Objects are joined key by key; anything else above replaces what is below."""
    merged = dict(below)
    for name, value in above.items():
        beneath = merged.get(name)
        merged[name] = merge(beneath, value) if isinstance(beneath, Mapping) and isinstance(value, Mapping) else value
    return merged
