"""The browser in the configuration. Names are OpenClaw's wherever the meaning is the same."""

from ostiary.assembly.config.section import key, section


@section
class Browser:
    """A real Chromium for the assistant. It always runs fenced, headless, without a history, and through the egress rules."""

    enabled: bool = key(True, "Offer the browser tool. Needs the extra ostiary[browser], Chromium and bubblewrap.")
    executable_path: str = key("", "The program to run. Empty: the Chromium or Chrome that is installed.")
    idle_seconds: int = key(300, "A conversation's pages are closed after this long without use.", minimum=10, maximum=86_400)
    max_sessions: int = key(4, "Conversations that may have pages open at the same time.", minimum=1, maximum=32)
    memory_mb: int = key(
        1536, "All pages together may take this much; beyond it the largest is ended.", minimum=512, maximum=65_536
    )
