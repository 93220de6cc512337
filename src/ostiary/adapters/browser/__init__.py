"""A real Chromium behind two fences: its own sandbox, and around it a process that sees no files and one way out.

`running_browser` is the browser as long as the house stands. `process` is the gateway's end, `child` what runs behind the
`fence`; `room` is one conversation's pages, `outline` how a page is read. Traffic leaves through `relay` to the egress proxy.
"""

from ostiary.adapters.browser.browser import Browser, Refuses, running_browser
from ostiary.adapters.browser.chromium import find_chromium, require_parts
from ostiary.adapters.browser.records import Bound, Element, Limits, Order, ProxyAddress, Settings, View

__all__ = [
    "Bound",
    "Browser",
    "Element",
    "Limits",
    "Order",
    "ProxyAddress",
    "Refuses",
    "Settings",
    "View",
    "find_chromium",
    "require_parts",
    "running_browser",
]
