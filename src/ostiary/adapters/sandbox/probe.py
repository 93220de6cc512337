"""The canaries: the real command line, run on things it must not reach. A fence is believed when it has held."""

import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ostiary.adapters.sandbox.instructions import leaks
from ostiary.contracts.sandbox import Command, Exit, Mount, SandboxLimits, SandboxProfile

# Shell words alone where possible: each program started would cost a millisecond. It asks and never writes: where there is no
# fence it must do no harm.
_SCRIPT = r"""
[ -e "$outside" ] && echo "leak: a file outside is there"
for place in /* /.[!.]*; do
    [ -n "$known" ] && [ -e "$place" ] || continue
    case " $known " in *" $place "*) ;; *) echo "leak: $place is there" ;; esac
done
[ "$(cat inside)" = "$word" ] && echo "ok: workspace"
[ -w . ] && echo "ok: writable"
for place in / /usr /etc /dev /proc/sys /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern; do
    [ -w "$place" ] && echo "leak: $place is writable"
done
while read -r name value rest; do
    case "$name" in
        CapEff:|CapPrm:|CapBnd:|CapInh:|CapAmb:) [ "$value" = 0000000000000000 ] && caps="$caps." ;;
        NoNewPrivs:) [ "$value" = 1 ] && echo "ok: no new privileges" ;;
        Seccomp:) [ "$value" = 2 ] && echo "ok: filter" ;;
        Uid:) [ "$value" != 0 ] && echo "ok: user" ;;
    esac
done < /proc/self/status
[ "$caps" = ..... ] && echo "ok: no capabilities"
while read -r name rest; do
    case "$name" in Inter-*|face|lo:*) ;; *) echo "leak: network interface $name" ;; esac
done < /proc/net/dev
for file in /proc/[0-9]*/environ; do
    { tr '\0' '\n' < "$file"; } 2>/dev/null | while IFS= read -r line; do
        case "${line%%=*}" in
            PATH|HOME|LANG|TERM|TMPDIR|XDG_CACHE_HOME|PWD|OLDPWD|SHLVL|_|HOSTNAME|container|known|outside|word) ;;
            *) echo "leak: a variable ${line%%=*}" ;;
        esac
    done
done
unshare -U true 2>/dev/null && echo "leak: a user namespace"
echo "ok: done"
"""
_EXPECTED = frozenset(
    f"ok: {each}" for each in ("workspace", "writable", "no new privileges", "filter", "user", "no capabilities", "done")
)
_LIMITS = SandboxLimits(seconds=10.0, output_bytes=16384, memory_bytes=512 * 1024**2, processes=32)

Run = Callable[[Command, SandboxProfile], Awaitable[Exit]]


async def try_canaries(run: Run, state: Path, *, known: tuple[str, ...] = ()) -> None:
    """`known` is all that may be at the top of the tree, where that can be said.

    Raises SandboxUnavailable with what did not hold."""
    with _canaries(state, known) as (command, profile):
        done = await run(command, profile)
    said = frozenset(done.output.decode(errors="replace").splitlines())
    strange = sorted(said - _EXPECTED)
    missing = sorted(_EXPECTED - said)
    if done.code != 0 or strange or missing:
        raise leaks("; ".join([*strange, *(f"not seen: {each}" for each in missing)])[:300] or f"status {done.code}")


@contextmanager
def _canaries(state: Path, known: tuple[str, ...]) -> Iterator[tuple[Command, SandboxProfile]]:
    word = secrets.token_hex(8)
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="canary-", dir=state) as folder:
        outside, inside = Path(folder, "outside"), Path(folder, "workspace")
        outside.write_text(word)
        inside.mkdir()
        (inside / "inside").write_text(word)
        command = Command(argv=("/bin/sh", "-c", _SCRIPT), env={"outside": str(outside), "word": word, "known": " ".join(known)})
        yield (
            command,
            SandboxProfile(
                mounts=(Mount(source=str(inside), target="/workspace", writable=True),), workdir="/workspace", limits=_LIMITS
            ),
        )
