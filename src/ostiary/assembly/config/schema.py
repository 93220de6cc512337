"""The whole configuration. Names are OpenClaw's wherever the meaning is the same."""

from collections.abc import Mapping
from typing import Literal

from ostiary.assembly.config.agents import Agents, Binding
from ostiary.assembly.config.browser import Browser
from ostiary.assembly.config.control import Control
from ostiary.assembly.config.conversation import Channel, Commands, Messages, Session
from ostiary.assembly.config.hooks import Hooks
from ostiary.assembly.config.memory import Memory
from ostiary.assembly.config.providers import Auth, Models
from ostiary.assembly.config.secret import SecretSource
from ostiary.assembly.config.section import key, section
from ostiary.assembly.config.telemetry import Telemetry
from ostiary.assembly.config.tools import Tools
from ostiary.assembly.config.vault import Vault

VERSION = 1

HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"

Posture = Literal["personal", "open", "team", "vault"]


@section
class RateLimit:
    """What wrong tokens cost."""

    max_attempts: int = key(10, "Wrong tries of one address before it has to wait.", minimum=1, maximum=1000)
    window_ms: int = key(60_000, "Within this time.", minimum=1000, maximum=86_400_000)
    lockout_ms: int = key(300_000, "How long it has to wait.", minimum=1000, maximum=86_400_000)


@section
class GatewayAuth:
    """Who may speak to the gateway."""

    mode: Literal["token", "password"] = key("token", "What clients show.")
    token: SecretSource | None = key(None, "The token. Absent: one is made at the first start and kept in the credential store.")
    password: SecretSource | None = key(None, "The password.")
    rate_limit: RateLimit = key(factory=RateLimit)


@section
class Endpoint:
    """One HTTP interface."""

    enabled: bool = key(False, "Serve it.")


@section
class Endpoints:
    """Interfaces that other programs speak."""

    chat_completions: Endpoint = key(factory=Endpoint, help="POST /v1/chat/completions")
    responses: Endpoint = key(factory=Endpoint, help="POST /v1/responses")
    embeddings: Endpoint = key(factory=Endpoint, help="POST /v1/embeddings")


@section
class Http:
    """HTTP."""

    endpoints: Endpoints = key(factory=Endpoints)


@section
class ControlUi:
    """The web page."""

    enabled: bool = key(True, "Serve it.")
    base_path: str = key("/", "Where.", pattern=r"/\S*")


@section
class Tls:
    """Encryption of connections to the gateway."""

    enabled: bool = key(False, "Speak TLS.")
    cert_path: str = key("", "The certificate's file.")
    key_path: str = key("", "Its key's file.")


@section
class Gateway:
    """The process that listens."""

    port: int = key(18789, "The port.", minimum=0, maximum=65535)
    bind: Literal["loopback", "lan", "tailnet", "auto"] = key(
        "loopback", "Who can reach it: this machine, the local network, the tailnet."
    )
    auth: GatewayAuth = key(factory=GatewayAuth)
    http: Http = key(factory=Http)
    control_ui: ControlUi = key(factory=ControlUi)
    tls: Tls = key(factory=Tls)
    allowed_hosts: tuple[str, ...] = key(
        (), "Further names it may be called by, as the Host header of a proxy or a name in your network.", pattern=HOST
    )
    trusted_proxies: tuple[str, ...] = key((), "Addresses whose X-Forwarded-For is believed.", advanced=True)
    max_body_bytes: int = key(10_485_760, "A larger request is refused.", minimum=1024, maximum=1_073_741_824)
    body_timeout_ms: int = key(
        30_000, "A request whose body takes longer to arrive is refused.", minimum=100, maximum=600_000, advanced=True
    )
    max_payload_bytes: int = key(
        1_048_576, "A larger WebSocket frame closes the socket.", minimum=1024, maximum=104_857_600, advanced=True
    )
    max_buffered_bytes: int = key(1_048_576, "A slower client is dropped.", minimum=1024, maximum=104_857_600, advanced=True)
    tick_interval_ms: int = key(30_000, "How often clients get a sign of life.", minimum=1000, maximum=600_000, advanced=True)
    ping_interval_ms: int = key(
        30_000,
        "How often a socket is asked whether its client is still there. One that does not answer in the same time is dropped.",
        minimum=100,
        maximum=600_000,
        advanced=True,
    )
    drain_seconds: int = key(20, "How long stopping waits for running turns.", minimum=0, maximum=3600)


@section
class Logging:
    """What is written down about the running."""

    level: Literal["debug", "info", "warning", "error"] = key("info", "The least important line that is written.")
    file: str = key("", "Where. Empty: logs/ostiary.log in the state directory.")
    redact_sensitive: Literal["tools", "all"] = key("all", "What secrets are removed from. It cannot be switched off.")
    max_bytes: int = key(10_485_760, "The file is turned over at this size.", minimum=65_536, maximum=1_073_741_824)
    keep: int = key(5, "Old files that are kept.", minimum=0, maximum=100)


@section
class PluginEntry:
    """One plugin."""

    enabled: bool = key(True, "Load it.")
    config: object = key(factory=dict, help="The plugin's own keys; the plugin checks them.")


@section
class Plugins:
    """Plugins."""

    enabled: bool = key(True, "Load plugins at all.")
    allow: tuple[str, ...] = key((), "If any are named, only these; enabled: false allows none.")
    deny: tuple[str, ...] = key((), "Never these.")
    entries: Mapping[str, PluginEntry] = key(factory=dict, help="By id.")
    slots: Mapping[str, str] = key(factory=dict, help="Which plugin takes a slot, such as memory; none switches it off.")


@section
class Config:
    """One configuration, complete and valid."""

    schema: str = key("", "For editors; ignored.", name="$schema", advanced=True)
    version: int = key(VERSION, "The version of this format.", minimum=0, maximum=VERSION)
    posture: Posture = key("personal", "The preset that everything absent from the file is taken from.")
    env: Mapping[str, SecretSource] = key(
        factory=dict, help="Environment variables for references; the process's own come first."
    )
    gateway: Gateway = key(factory=Gateway)
    agents: Agents = key(factory=Agents)
    bindings: tuple[Binding, ...] = key((), "Which agent takes which messages.")
    session: Session = key(factory=Session)
    messages: Messages = key(factory=Messages)
    channels: Mapping[str, Channel] = key(factory=dict, help="By id, such as telegram.")
    commands: Commands = key(factory=Commands)
    control: Control = key(factory=Control)
    models: Models = key(factory=Models)
    auth: Auth = key(factory=Auth)
    tools: Tools = key(factory=Tools)
    browser: Browser = key(factory=Browser)
    memory: Memory = key(factory=Memory)
    vault: Vault = key(factory=Vault)
    logging: Logging = key(factory=Logging)
    telemetry: Telemetry = key(factory=Telemetry)
    plugins: Plugins = key(factory=Plugins)
    hooks: Hooks = key(factory=Hooks)
