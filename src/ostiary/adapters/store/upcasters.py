"""How an older event becomes today's: (kind, version) names the function that lifts its plain JSON object one version up.

A release that raises `VERSIONS[kind]` adds one line here and one golden file beside the tests; nothing stored is rewritten.
"""

from collections.abc import Callable, Mapping
from typing import Any

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
