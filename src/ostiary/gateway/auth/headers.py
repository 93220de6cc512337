"""What every page of ours tells the browser: nothing from elsewhere, no inline script, no frame, no referrer."""

from ostiary.gateway.asgi import Header

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "media-src 'self' blob:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
)
_COMMON: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(self), payment=(), usb=()"),
    (b"x-robots-tag", b"noindex, nofollow"),
)


def security_headers(*, trusted_types: bool = False) -> tuple[Header, ...]:
    """For pages, scripts and styles. `trusted_types`: the page never sets HTML from a string, and the browser holds it to that.

    No Strict-Transport-Security: it would bind every other port of the same host, and that is not ours to decide."""
    policy = [part for part in _POLICY if trusted_types or not part.startswith("require-trusted-types")]
    return ((b"content-security-policy", "; ".join(policy).encode("ascii")), *_COMMON)


def download_headers() -> tuple[Header, ...]:
    """For what strangers wrote: even opened by itself it is a dead document of an origin of its own."""
    return ((b"content-security-policy", b"default-src 'none'; sandbox"), *_COMMON)
