"""The text of supervisord's configuration file, for the checked-in one and for those that `octolet run` writes."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from shared.messages.base import Service
from shared.supervision.layout import DEFAULT_RUN_DIR, supervisor_pid, supervisor_socket

_HEAD = """\
; {origin}
[supervisord]
nodaemon=true
user=root
; output goes to standard output and error, where the service manager of the machine collects it
logfile=/dev/null
logfile_maxbytes=0
loglevel={loglevel}
pidfile={pid}

; exactly one: the extension below is made once per server
[unix_http_server]
file={socket}
chmod=0700

[supervisorctl]
serverurl=unix://{socket}

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

; restarts at once and without end, shared memory, hang detection: shared/supervision/plugin.py
[rpcinterface:octolet]
supervisor.rpcinterface_factory=shared.supervision.plugin:make_rpcinterface
run_dir={run_dir}
preload={preload}
hang_s={hang_s:g}
package={package}
"""

_PROGRAM = """
[program:{name}]
command={python} -m {package}.{name}{arguments}
directory={directory}
startsecs=0
autorestart=true
stopwaitsecs=5
stdout_logfile=NONE
stderr_logfile=NONE
"""


@dataclass(frozen=True, kw_only=True)
class Supervisor:
    """What a configuration file is made from. `python` and `directory` may hold supervisord's `%(here)s`."""

    run_dir: Path = DEFAULT_RUN_DIR
    python: str = "%(here)s/.venv/bin/python"
    directory: str = "%(here)s"
    programs: tuple[str, ...] = tuple(service.value for service in Service)
    package: str = "services"
    arguments: tuple[str, ...] = ()
    settings_dir: Path | None = None
    """where `<program>.json` must be: a daemon whose file is gone must not come back with the defaults"""
    preload: bool = True
    hang_s: float = 30.0
    loglevel: str = "info"
    origin: str = "Written by `python -m shared.supervision.configuration`; a test compares it with that."


def render(supervisor: Supervisor) -> str:
    """The whole file."""
    head = _HEAD.format(
        origin=supervisor.origin,
        loglevel=supervisor.loglevel,
        pid=_literal(supervisor_pid(supervisor.run_dir)),
        socket=_literal(supervisor_socket(supervisor.run_dir)),
        run_dir=_literal(supervisor.run_dir),
        preload=str(supervisor.preload).lower(),
        hang_s=supervisor.hang_s,
        package=supervisor.package,
    )
    programs = (
        _PROGRAM.format(
            name=name,
            python=supervisor.python,
            package=supervisor.package,
            directory=supervisor.directory,
            arguments="".join(f" {_quoted(argument)}" for argument in _arguments(supervisor, name)),
        )
        for name in supervisor.programs
    )
    return head + "".join(programs)


def _arguments(supervisor: Supervisor, name: str) -> tuple[str, ...]:
    if supervisor.settings_dir is None:
        return supervisor.arguments
    return (*supervisor.arguments, "--settings", str(supervisor.settings_dir / f"{name}.json"))


def _literal(value: object) -> str:
    """Text that supervisord's expansion of `%(...)s` leaves as it is."""
    return str(value).replace("%", "%%")


def _quoted(argument: str) -> str:
    """For a command, which supervisord splits as a shell does after it has expanded it."""
    return _literal(shlex.quote(argument))


if __name__ == "__main__":
    print(render(Supervisor()), end="")
