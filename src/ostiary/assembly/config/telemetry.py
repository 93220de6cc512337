"""Traces for other programs, in the configuration."""

from collections.abc import Mapping

from ostiary.assembly.config.secret import SecretSource
from ostiary.assembly.config.section import key, section


@section
class Telemetry:
    """OpenTelemetry traces: which turn called which model and tool, and for how long. Never what was said."""

    enabled: bool = key(False, "Send traces. Needs the extra ostiary[telemetry], and a restart.")
    endpoint: str = key(
        "http://127.0.0.1:4318/v1/traces", "Where a collector takes OTLP over HTTP.", pattern=r"https?://[^\s/]+(/\S*)?"
    )
    headers: Mapping[str, SecretSource] = key(factory=dict, help="Sent along, such as Authorization.")
    service_name: str = key("ostiary", "What the traces are filed under.", pattern=r"\S.{0,99}")
