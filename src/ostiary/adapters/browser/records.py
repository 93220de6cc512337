"""What is asked of the browser and what comes back."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from ostiary.contracts.records import dataclass

Act = Literal["open", "read", "click", "type", "screenshot", "back", "close"]

PAGE_BYTES = 6000
"""How much of a page's outline one answer holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyAddress:
    """The egress proxy: `http://127.0.0.1:<port>` or `unix:<path>`, with the credential it asks for, if any."""

    url: str
    username: str = ""
    password: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One action. `page` is the part of a long outline to show, counted from 1."""

    act: Act
    url: str = ""
    ref: str = ""
    text: str = ""
    submit: bool = False
    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """What a person would see of an element: its role, its name, and where it leads (a link, a form) if anywhere."""

    role: str
    name: str
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is there after an action. All of it is the page's word but `notes`, which are ours: dialogs dismissed,
    downloads refused, tabs closed."""

    url: str = ""
    title: str = ""
    text: str = ""
    page: int = 1
    pages: int = 1
    tabs: int = 0
    notes: tuple[str, ...] = ()
    image: bytes = b""
    media_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a click or a typing is about right now."""

    url: str
    element: Element


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Every one holds; none means "unlimited". Seconds unless said otherwise."""

    rooms: int = 4
    tabs: int = 3
    dialogs: int = 10
    idle: float = 300.0
    start: float = 40.0
    load: float = 20.0
    settle: float = 2.0
    look: float = 6.0
    act: float = 5.0
    order: float = 45.0
    judge: float = 10.0
    memory_bytes: int = 1536 * 1024**2
    temporary_bytes: int = 512 * 1024**2
    image_bytes: int = 1024 * 1024
    connections: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`executable` empty: the Chromium of the system. `fences_network` False leaves the network namespace shared, so that a
    test can see what Chromium's own settings hold back without the kernel's help; no configuration leads there."""

    executable: str = ""
    limits: Limits = field(default_factory=Limits)
    fences_network: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
