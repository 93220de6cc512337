"""A pretended gateway that speaks the socket's protocol with scripted answers, for the web app's tests and for working on it.

    python -m tests.browser.fake_gateway --port 8123      prints a sign-in link

What is asked decides what happens: "slow" waits for `release`, "tools" calls tools, "write and run" writes a file and asks
before it runs it, "ask three" asks three like questions, "fail" fails, "echo …" repeats, a command is answered at once. It
checks what it receives as strictly as the original: unknown fields are refused.
"""

from tests.browser.fake_gateway.gateway import FakeGateway, running

__all__ = ["FakeGateway", "running"]
