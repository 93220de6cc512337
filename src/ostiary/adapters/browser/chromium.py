"""Which Chromium, and how it is told to keep still and speak to the proxy alone.

Everything here is the second fence: the first is the network namespace that has no way out but the proxy.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from ostiary.contracts.errors import SandboxUnavailable

# The programs themselves: what lies in /usr/bin is often a script that reads settings and keys from /etc.
CANDIDATES = (
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/opt/chromium/chrome",
)
POLICY = Path(__file__).parent / "policy.json"
POLICY_PLACES = ("/etc/chromium/policies/managed/house.json", "/etc/opt/chrome/policies/managed/house.json")

# Playwright's own defaults that help tests and here only help a hostile page.
DROPPED = ("--disable-popup-blocking", "--disable-ipc-flooding-protection", "--unsafely-disable-devtools-self-xss-warnings")


def flags(memory_bytes: int) -> list[str]:
    """Chromium's command line besides what playwright gives it. Never `--no-sandbox`."""
    return [
        # Names are looked up by the proxy alone: a lookup is a message too.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--proxy-bypass-list=<-loopback>",
        "--dns-prefetch-disable",
        "--no-pings",
        "--disable-quic",
        # WebRTC speaks UDP past every proxy unless it is told not to.
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-domain-reliability",
        "--disable-client-side-phishing-detection",
        "--disable-sync",
        "--disable-speech-api",
        "--disable-notifications",
        "--disable-remote-fonts",
        "--disable-gpu",
        "--deny-permission-prompts",
        "--mute-audio",
        "--site-per-process",
        "--renderer-process-limit=8",
        f"--js-flags=--max-old-space-size={max(128, memory_bytes // 2**20 // 2)}",
    ]


def find_chromium(configured: str = "") -> Path:
    """The program to run. Raises SandboxUnavailable with what to install."""
    for place in (configured,) if configured else CANDIDATES:
        found = Path(place)
        if found.is_file():
            return found.resolve()
    if configured:
        raise SandboxUnavailable(f"there is no browser at {configured}", hint="Set browser.executablePath, or leave it out.")
    raise SandboxUnavailable("Chromium is not installed", hint="Install it (Debian: apt install chromium).")


def require_parts(configured: str = "") -> Path:
    """Chromium's path when everything the browser needs is there. Raises SandboxUnavailable naming the first that is not."""
    if find_spec("playwright") is None:
        raise SandboxUnavailable("the browser's driver is not installed", hint="Install it: pip install 'ostiary[browser]'.")
    path = find_chromium(configured)
    for program, package in (("bwrap", "bubblewrap"), ("setpriv", "util-linux")):
        if shutil.which(program) is None:
            raise SandboxUnavailable(
                f"{program} is not installed, and no browser runs without its fence", hint=f"Debian: apt install {package}."
            )
    return path
