"""A real Chromium behind two fences: its own sandbox, and around it a process that sees no files and one way out.

`browser.running_browser` is the browser as long as the house stands. `process` is the gateway's end, `child` what runs behind
the `fence`; `room` is one conversation's pages, `outline` how a page is read. Traffic leaves through `relay` to the egress
proxy. Nothing is imported here: the tool needs only the `records`.
"""
