"""The one environment of commands: nothing of the host, and of the caller's only what cannot change which code runs."""

import re
from collections.abc import Mapping

from ostiary.contracts.errors import ToolError
from ostiary.contracts.sandbox import Command, SandboxProfile

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROXY_PORT = 3128

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_LONGEST = 32 * 1024
_MOST = 256
# Loaders, shells, interpreters and tools that run or load what a variable names.
_REFUSED = re.compile(
    "LD_.*|DYLD_.*|GIT_.*|SSH_.*|PYTHON.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|NODE_.*|NPM_.*|LUA_.*|PHP.*|JAVA_.*|_JAVA_.*|JDK_.*|MAVEN_.*|"
    "GRADLE_.*|CLASSPATH|DOTNET_.*|CORECLR_.*|R_.*|ERL_.*|GO(FLAGS|ROOT|PATH|PROXY|ENV)|RUSTC.*|CARGO_.*|CC|CXX|CPP|AR|MAKE(FLAGS|FILES)|"
    "CFLAGS|LDFLAGS|BASH.*|SHELLOPTS|ENV|ZDOTDIR|FPATH|IFS|PS[0-4]|PROMPT_COMMAND|CDPATH|GLOBIGNORE|SHELL|EDITOR|VISUAL|.*PAGER|LESS.*|"
    "BROWSER|GCONV_PATH|LOCPATH|NLSPATH|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN|MALLOC_.*|GLIBC_TUNABLES|TCMALLOC.*|ASAN_.*|OPENSSL_.*|SSL_.*|"
    "CURL_.*|WGETRC|TAR_OPTIONS|POSIXLY_CORRECT|XDG_.*|DBUS_.*|SYSTEMD_.*|.*_PROXY|TMPDIR|PATH|HOME|USER|LOGNAME|LANG|LC_.*|TERM.*|PWD|OLDPWD",
    re.IGNORECASE,
)


Environment = Mapping[str, str]


def inside(command: Command, profile: SandboxProfile) -> Environment:
    """All that a command sees. Raises ToolError for a variable that may not be given."""
    _check(command.env)
    made = {
        "PATH": PATH,
        "HOME": home(profile),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color" if command.pty else "dumb",
        "TMPDIR": "/tmp",  # noqa: S108 - of the run alone
        # Caches are no documents: outside the workspace they end with the run.
        "XDG_CACHE_HOME": "/tmp/.cache",  # noqa: S108
    }
    if profile.network == "proxy":
        address = f"http://127.0.0.1:{PROXY_PORT}"
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            made[name] = made[name.upper()] = address
        made["no_proxy"] = made["NO_PROXY"] = "localhost,127.0.0.1,::1"
    return {**command.env, **made}


def home(profile: SandboxProfile) -> str:
    """The writable mount that holds the working directory, else the run's temporary directory."""
    writable = [mount.target.rstrip("/") for mount in profile.mounts if mount.writable]
    holding = [target for target in writable if (profile.workdir + "/").startswith(target + "/")]
    return max(holding, key=len, default="/tmp")  # noqa: S108


def _check(env: Mapping[str, str]) -> None:
    if len(env) > _MOST:
        raise ToolError(f"At most {_MOST} environment variables can be given.")
    for name, value in env.items():
        if not _NAME.fullmatch(name):
            raise ToolError(f"{name[:40]!r} is no name of an environment variable.")
        if _REFUSED.fullmatch(name):
            raise ToolError(f"The variable {name} may not be set: it can change which program runs, or the sandbox sets it.")
        if "\0" in value or len(value) > _LONGEST:
            raise ToolError(f"The value of {name} is too long or not text.")
