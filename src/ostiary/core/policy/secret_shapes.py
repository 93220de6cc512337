"""What credentials look like: the common providers' keys, private keys, tokens in headers, URLs and assignments.

Every shape has a literal anchor, so that text without it costs one fast search. Every pattern begins with a literal, of a name
its rarest letters, starts only where a word starts and repeats possessively: no text makes it look at a character more than a
few times.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from operator import ne
from typing import Final

from ostiary.contracts.records import dataclass

Accept = Callable[[bytes], bool]

_WORD = rb"[A-Za-z0-9_-]"
_EXAMPLES = (
    *(b"example", b"sample", b"placeholder", b"dummy", b"fake", b"your", b"changeme", b"change-me", b"change_me", b"redacted"),
    *(
        b"xxxx",
        b"todo",
        b"insert",
        b"replace",
        b"foobar",
        b"0123456789",
        b"1234567890",
        b"...",
        b"***",
        b"${",
        b"{{",
        b"aaaaaaaa",
    ),
    *(b"00000000", b"11111111", b"abcdefghij", b"&lt;"),
)
_EXAMPLE = re.compile(b"|".join(map(re.escape, _EXAMPLES)))
_PIECES = re.compile(rb"[A-Za-z0-9]+")
_CLASSES = bytes(
    (b"l"[0] if 97 <= c <= 122 else b"u"[0] if 65 <= c <= 90 else b"d"[0] if 48 <= c <= 57 else b"s"[0]) for c in range(256)
)
_NUMBERED_WORD = re.compile(rb"[A-Za-z]+[0-9]{1,4}|v?[0-9]+")
_CAPITALS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
LONG_RUN: Final = 20
BEFORE_RUN: Final = 40
_SHORTEST_RANDOM = 8
SHORTEST_LETTERS: Final = 16
"""No value without digits is taken for a secret, unless it has so many letters in one run."""
_SIGN_AND_DIGIT = frozenset(b"sd")
_SIGNS = frozenset(b"!@#$%^&*?~+=|\\")
_JWT_OF_THE_DOCS = b"eyJzdWIiOiIxMjM0NTY3ODkw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """`anchor` is in every match. Of a match `group` is the secret; `accept` has the last word.

    `reach` is how far a match goes on at most, of what is looked for piece by piece; there it begins with the anchor.
    `in_run`: the anchor stands in, or up to `BEFORE_RUN` characters before, a run of `LONG_RUN` word characters."""

    kind: str
    anchor: bytes
    source: bytes
    accept: Accept | None = None
    group: str | int = 0
    reach: int = 0
    in_run: bool = True

    @property
    def pattern(self) -> "re.Pattern[bytes]":
        return compiled(self.source)


@cache
def compiled(source: bytes) -> "re.Pattern[bytes]":
    # Compiled when its anchor first turns up: most never do.
    return re.compile(source)


def is_no_example(found: bytes) -> bool:
    return _EXAMPLE.search(found.lower()) is None


def is_random(found: bytes) -> bool:
    """Whether a text was drawn, not written: letters and digits mixed as no word, name, path or version mixes them."""
    return is_no_example(found) and _looks_drawn(found)


def _looks_drawn(found: bytes) -> bool:
    if len(found) < _SHORTEST_RANDOM:
        return False
    pieces: list[bytes] = _PIECES.findall(found)
    drawn = sum(len(piece) for piece in pieces if _is_drawn(piece))
    return 2 * drawn >= len(found) or drawn >= 16


def _is_drawn(piece: bytes) -> bool:
    """One run of letters and digits. Words, camel case, version numbers and dates are not; hex and base62 are.

    Cut where capitals and digits begin, names give syllables of some length and drawn text mostly short ones."""
    if len(piece) < 6:
        return False
    classes = piece.translate(_CLASSES)
    digits = classes.count(b"d")
    if not digits:
        return _is_mixed_case(piece, classes)
    if _NUMBERED_WORD.fullmatch(piece):
        return False
    if 3 * len(_CAPITALS.findall(piece)) > len(piece) and len(piece) >= 8:
        return True
    if b"u" in classes and b"l" in classes:
        return False
    return (digits >= 4 and len(piece) >= 12) or sum(map(ne, classes, classes[1:])) >= 3


def _is_mixed_case(piece: bytes, classes: bytes) -> bool:
    """Letters alone: cut at the capitals, names give syllables of some length, drawn letters mostly single ones."""
    if len(piece) < SHORTEST_LETTERS or b"u" not in classes or b"l" not in classes:
        return False
    return 3.2 * len(_CAPITALS.findall(piece)) >= len(piece)


def is_password(found: bytes) -> bool:
    """A value given to a name such as password: also what a person chose, if it has signs, digits and letters."""
    if len(found) < 6 or not is_no_example(found) or found[:1] in b"$%/~.<{(&|" or found.count(b":") > 2 or b"://" in found[:12]:
        return False
    kinds = set(found.translate(_CLASSES))
    is_mixed = len(found) >= _SHORTEST_RANDOM and kinds >= _SIGN_AND_DIGIT and not kinds.isdisjoint(b"lu")
    if is_mixed and not _SIGNS.isdisjoint(found) and not _looks_like_code(found):
        return True
    return _looks_drawn(found)


def _looks_like_code(found: bytes) -> bool:
    return b"==" in found or b"&&" in found or b"=>" in found or b"||" in found or b"?." in found or found.count(b"*") > 2


_DEFAULT_PASSWORDS = frozenset(
    b"pass password passwd passwort secret user username root admin guest postgres mysql redis rabbit mongo token changeme"
    b" x-oauth-basic x-access-token oauth2 pw pwd test".split()
)


def is_url_password(found: bytes) -> bool:
    return (
        len(found) >= 3
        and found.lower() not in _DEFAULT_PASSWORDS
        and is_no_example(found)
        and found[:1] not in b"$<{[%*"
        and found.lower() not in (b"bar", b"baz", b"foo", b"qux")
        and not (found.isdigit() and len(found) <= 5)
    )


def is_header_value(found: bytes) -> bool:
    return is_no_example(found) and (_looks_drawn(found) or (len(found) >= 16 and found.endswith(b"=")))


def is_jwt(found: bytes) -> bool:
    return _JWT_OF_THE_DOCS not in found


# Keys that are a prefix, a dash or underline, then one unbroken run of letters and digits: found by that run.
PREFIXES: Final[Mapping[bytes, str]] = {
    **dict.fromkeys((b"ghp", b"gho", b"ghu", b"ghs", b"ghr", b"github_pat"), "github"),
    **dict.fromkeys((b"sk_live", b"sk_test", b"rk_live", b"rk_test", b"whsec"), "stripe"),
    **dict.fromkeys((b"shpat", b"shpca", b"shppa", b"shpss"), "shopify"),
    **dict.fromkeys((b"dop_v1", b"doo_v1", b"dor_v1"), "digitalocean"),
    **dict.fromkeys((b"hf", b"api_org"), "huggingface"),
    **dict.fromkeys((b"sq0atp", b"sq0csp"), "square"),
    **dict.fromkeys((b"lsv2_pt", b"lsv2_sk"), "langsmith"),
    **dict.fromkeys((b"glsa", b"glc"), "grafana"),
    **dict.fromkeys((b"sntrys", b"sntryu"), "sentry"),
    **dict.fromkeys((b"phc", b"phx"), "posthog"),
    **dict.fromkeys((b"odt", b"ol"), "ostiary"),
    b"npm": "npm",
    b"gsk": "groq",
    b"r8": "replicate",
    b"xai": "xai",
    b"pplx": "perplexity",
    b"tvly": "tavily",
    b"lin_api": "linear",
    b"ntn": "notion",
    b"figd": "figma",
    b"nvapi": "nvidia",
    b"csk": "cerebras",
    b"tgp_v1": "together",
    b"rubygems": "rubygems",
    b"PMAK": "postman",
    b"HRKU": "heroku",
    b"dapi": "databricks",
    b"fw": "fireworks",
    b"key": "mailgun",
    b"secret": "notion",
}
AFTER_PREFIX: Final = rb"[_-][A-Za-z0-9_-]{20,512}+"

# Small letters, and a nought for every digit: the engine counts up to one letter much faster than up to one of ten.
FOLD: Final = bytes(48 if 48 <= c <= 57 else c for c in bytes(range(256)).lower())
_TOKEN_VALUE = rb"(?=[a-z_.~+/:-]{0,40}+[0=])(?P<secret>[a-z0_.~+/=:-]{8,4096}+)"
# Between a name and its value: the rest of the name, quotes, brackets, spaces, one sign of assignment.
_GOES_ON = rb"(?P<rest>[a-z0_-]{0,14}+)['\"`\]]{0,2}+[ \t]{0,3}+[:=][=>]?+(?<!:>)[ \t]{0,3}+(?:[a-z]{0,2}+['\"`])?"
# A digit soon, or many letters: what has neither was written by a person and is no secret.
_VALUE = rb"(?=[^\s\"'`,;<>(){}\[\]0]{0,23}+0|[a-z+/]{24})(?P<secret>[^\s\"'`,;<>(){}\[\]]{6,256}+)"
# A first look at both, for most mentions of a name are only that: up to seven characters lie between the sign and the value.
_SIGN = rb"[a-z0_-]{0,14}+['\"`\] \t]{0,5}+[:=]"
LONGEST_ASSIGNMENT: Final = 320
FIRST_LOOK: Final = rb"(?=" + _SIGN + rb"(?![^0]{31}(?<![a-z+/]{17}[^0]{7})))"
# A name that goes on like this tells about a secret and does not hold one.
ABOUT: Final = re.compile(
    rb"s?[_-]?(?:path|file|url|uri|name|type|count|limit|len|expir|ttl|dir|env|ref|size|index|budget|usage|window|"
    rb"manager|provider|class|format|pattern|regex|policy|hint|label|field|header|prefix|sha\d|digest|fingerprint|iz)"
)


def _assignment(keyword: bytes, name: bytes = b"") -> bytes:
    """`name` looks back at more of the name."""
    return keyword + FIRST_LOOK + name + _GOES_ON + _VALUE


def _key(kind: str, prefix: bytes, rest: bytes, accept: Accept | None = is_no_example) -> Shape:
    """`prefix` where a word begins; the literal comes first because that is what the engine searches fastest for."""
    plain = re.escape(prefix)
    return Shape(kind=kind, anchor=prefix, source=plain + rb"(?<!" + _WORD + plain + rb")" + rest, accept=accept)


def _named(kind: str, anchor: bytes, source: bytes, accept: Accept = is_password) -> Shape:
    """A value after its name."""
    return Shape(kind=kind, anchor=anchor, source=source, accept=accept, group="secret", reach=LONGEST_ASSIGNMENT, in_run=False)


SHAPES: Final[tuple[Shape, ...]] = (
    _key("openai", b"sk-", rb"[A-Za-z0-9_-]{20,512}+", accept=is_random),
    _key("google", b"AIza", rb"[A-Za-z0-9_-]{35}+"),
    _key("google", b"ya29.", rb"(?=(?:[A-Za-z0-9]{1,4}\.)?[A-Za-z0-9_-]{20})[A-Za-z0-9_.-]{20,2048}+"),
    _key("google", b"GOCSPX-", rb"[A-Za-z0-9_-]{20,64}+"),
    _key("aws", b"AKIA", rb"[A-Z2-7]{16}+(?!" + _WORD + rb")"),
    _key("aws", b"ASIA", rb"[A-Z2-7]{16}+(?!" + _WORD + rb")"),
    _key("gitlab", b"glpat-", rb"(?=[A-Za-z0-9_-]{20})[A-Za-z0-9_.-]{20,320}+"),
    _key("slack", b"xox", rb"[abeoprs][.-](?=[A-Za-z0-9-]{20})[A-Za-z0-9.-]{20,512}+", accept=is_random),
    _key("slack", b"xapp-", rb"[A-Za-z0-9-]{20,512}+", accept=is_random),
    _key("twilio", b"SK", rb"[0-9a-f]{32}+(?![A-Za-z0-9])", accept=None),
    _key("sendgrid", b"SG.", rb"[A-Za-z0-9_-]{20,40}+\.[A-Za-z0-9_-]{16,64}+"),
    _key("pypi", b"pypi-AgE", rb"[A-Za-z0-9_-]{40,512}+", accept=None),
    _key("vault", b"hvs.", rb"[A-Za-z0-9_-]{20,256}+"),
    _key("age", b"AGE-SECRET-KEY-1", rb"[A-Z0-9]{50,64}+", accept=None),
    _key("jwt", b"eyJ", rb"[A-Za-z0-9_-]{17,4096}+\.eyJ[A-Za-z0-9_-]{8,16384}+\.[A-Za-z0-9_-]{8,4096}+", accept=is_jwt),
    Shape(
        kind="slack",
        anchor=b"hooks.slack.com/",
        source=rb"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/]{24,128}+)",
        accept=is_no_example,
        group="secret",
        in_run=False,
    ),
    Shape(
        kind="discord",
        anchor=b"/api/webhooks/",
        source=rb"/api/webhooks/(?P<secret>[0-9]{15,22}+/[A-Za-z0-9_-]{40,100}+)",
        accept=is_no_example,
        group="secret",
    ),
    Shape(
        kind="telegram",
        anchor=b":AA",
        source=rb":AA(?<=[0-9]{8}:AA)[A-Za-z0-9_-]{30,40}+(?!" + _WORD + rb")",
        accept=is_no_example,
    ),
)
# Private keys are found by what all of them say in their first line, in folded text: the engine flies from v to v.
PRIVATE: Final = Shape(kind="private-key", anchor=b"private", source=rb"vate(?<=private)(?: key|-lines:)", in_run=False)
BEFORE_NAME: Final = 60
PRIVATE_KEYS: Final = (
    Shape(
        kind="private-key",
        anchor=b"-----BEGIN ",
        in_run=False,
        source=rb"-----BEGIN (?:(?!PRIVATE)[A-Z0-9]{2,12}+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        rb"(?=(?:\s|\\+[nr]|[|>\"'])*(?:[A-Z][A-Za-z-]{2,20}+: ?[^\n\\]{0,90}+(?:\s|\\+[nr])+){0,4}[A-Za-z0-9+/=]{16})"
        rb"(?:(?:[^-]|-(?!----)){0,32768}-----END [A-Z0-9 ]{8,40}+-----"
        rb"|(?:[A-Za-z0-9+/=]{16,}+|(?:\s|\\+[nr])+(?=[A-Za-z0-9+/=]{16})|(?:[A-Z][A-Za-z-]{2,20}+: ?[^\n\\]{0,90}+))*)",
    ),
    Shape(
        kind="putty",
        anchor=b"Private-Lines:",
        group="secret",
        in_run=False,
        source=rb"Private-Lines: ?[0-9]{1,3}+\s{1,2}(?P<secret>(?:[A-Za-z0-9+/=]{1,80}+\s{1,2})+)",
    ),
)
# Not one of them because it is found by its end, a sign that is rarer than its beginning.
URL_PASSWORD: Final = Shape(
    kind="url-password",
    anchor=b"://",
    group="secret",
    in_run=False,
    source=rb"://[^\s/:@\"'<>`\[\]]{0,80}+:(?P<secret>[^\s/@\"'<>`]{1,256}+)@",
    accept=is_url_password,
)
LONGEST_URL: Final = 340
# Values after their names, as a header or an assignment gives them: looked for in folded text.
HEADERS: Final = (
    _named(
        "authorization",
        b"authorization",
        rb"z(?<=authoriz)ation['\"]?[ \t]{0,3}[:=][ \t]{0,3}['\"]?"
        rb"(?:(?:basic|bearer|token|apikey|api-key|digest|key)[ \t]{1,3})?" + _TOKEN_VALUE,
        is_header_value,
    ),
    _named("authorization", b"bearer", rb"bearer[ \t]{1,3}" + _TOKEN_VALUE, is_header_value),
)
ASSIGNED: Final = (
    _named("password", b"p", _assignment(rb"p(?:wd|ass(?:w(?:or)?d|phrase))")),
    _named("secret", b"cret", _assignment(rb"cret(?<=secret)")),
    _named("token", b"ken", _assignment(rb"k(?<=tok)en")),
    _named(
        "key",
        b"key",
        _assignment(
            rb"key(?=" + _SIGN + rb")(?<=[a-z_.-]key)",
            rb"(?:(?<=apikey)|(?<=api.key)|(?<=access.key)|(?<=accesskey)|(?<=private.key)|(?<=accountkey)|"
            rb"(?<=account.key)|(?<=signing.key)|(?<=master.key)|(?<=encryption.key)|(?<=auth.key)|(?<=authkey)|(?<=service.key))",
        ),
    ),
)
# Not one of them because it has no anchor: it is looked for where a long run has its length.
DISCORD: Final = Shape(
    kind="discord",
    anchor=b"",
    source=rb"[MNO](?<![A-Za-z0-9_.-].)[A-Za-z0-9]{22,27}+\.[A-Za-z0-9_-]{6,7}+\.[A-Za-z0-9_-]{27,45}+",
)
