"""`octolet run`: checks everything, writes each daemon's settings, and becomes the supervisor.

Nothing is started before every flag, file, setting and precondition was found right. The process is replaced by
supervisord, so that the pid stays: a service manager that starts, watches and stops this process has the whole node.
"""

import fcntl
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from shared.checkpoint import write_atomic
from shared.cli.checks import problems
from shared.cli.options import RUN_DIR_HELP, default_run_dir
from shared.cli.version import KUBERNETES_VERSION
from shared.config import Config
from shared.config.arguments import Arguments, parse_arguments
from shared.config.defaults import external_form
from shared.config.flags import FLAGS, Standing
from shared.config.resolve import resolve_arguments
from shared.config.settings import unused, write_settings
from shared.errors import Invalid
from shared.messages.base import Service
from shared.service.settings import settings_path
from shared.supervision.configuration import Supervisor, render

CONFIGURATION_FILE: Final = "supervisord.conf"
EFFECTIVE_FILE: Final = "config.json"
_DEBUG_VERBOSITY: Final = 4
"""`--v` from which on the daemons log each step (the kubelet's own convention for debug level)"""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What `octolet run` takes beside the kubelet's flags."""

    run_dir: Path
    check: bool = False
    preload: bool = True


def main(argv: Sequence[str]) -> int:
    """Does not return when all is well: the process becomes supervisord. Raises Invalid for wrong flags or files."""
    options, rest = split_options(argv)
    arguments = parse_arguments(rest)
    if "help" in arguments.given:
        print(usage())
        return 0
    if arguments.flags.get("version", "false") != "false":
        print(f"Kubernetes {KUBERNETES_VERSION}")
        return 0
    config = resolve_arguments(arguments)
    found = problems(config, options.run_dir)
    for problem in found:
        print(f"octolet run: {problem}", file=sys.stderr)
    if found:
        return 1
    _explain(config, arguments)
    if options.check:
        print("the configuration is right", file=sys.stderr)
        return 0
    prepare(config, options)
    _take_lock_file(config)
    _limit(config)
    return _become_supervisor(options.run_dir / CONFIGURATION_FILE)


def split_options(argv: Sequence[str]) -> tuple[Options, list[str]]:
    """Our own options, and the words that are the kubelet's. Raises Invalid."""
    run_dir, check, preload, rest = default_run_dir(), False, True, []
    words = list(argv)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name == "--run-dir":
            if not equals and not words:
                raise Invalid("flag needs an argument: --run-dir")
            run_dir = Path(value if equals else words.pop(0))
        elif word == "--check":
            check = True
        elif word == "--no-preload":
            preload = False
        else:
            rest.append(word)
    return Options(run_dir=run_dir.absolute(), check=check, preload=preload), rest


def prepare(config: Config, options: Options) -> None:
    """Write the daemons' settings, the effective configuration and supervisord's file. Raises Invalid or OSError."""
    run_dir = options.run_dir
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    run_dir.chmod(0o700)
    write_settings(config, run_dir)
    effective = {"configuration": effective_form(config), "flags": config.flags, "origins": config.origins}
    write_atomic(run_dir / EFFECTIVE_FILE, msgspec.json.encode(effective))
    write_atomic(run_dir / CONFIGURATION_FILE, render(supervisor_for(config, options)).encode())


def supervisor_for(config: Config, options: Options) -> Supervisor:
    """The supervisor's configuration for this one."""
    arguments = ["--run-dir", str(options.run_dir)]
    if config.get("logging.verbosity") >= _DEBUG_VERBOSITY:
        arguments += ["--log-level", "debug"]
    if config.get("logging.format") == "json":
        arguments += ["--log-format", "json"]
    return Supervisor(
        run_dir=options.run_dir,
        python=sys.executable,
        directory="/",
        arguments=tuple(arguments),
        settings_dir=settings_path(options.run_dir, Service.SERVER).parent,
        preload=options.preload,
        origin="Written by `octolet run` at each start.",
    )


def effective_form(config: Config) -> dict[str, Any]:
    """The effective KubeletConfiguration as upstream shows it."""
    return external_form(config.values, config.flags["cert_dir"])


def usage() -> str:
    """All flags, those of the configuration file apart."""
    own = ["--run-dir DIR", "--check", "--no-preload"]
    abouts = [RUN_DIR_HELP, "check everything, start nothing", "an interpreter of its own for each daemon"]
    lines = ["usage: octolet run [flags]", "", "octolet's own:"]
    lines += [f"  {flag:<16} {about}" for flag, about in zip(own, abouts, strict=True)]
    for standing, title in (
        (Standing.CURRENT, "the kubelet's:"),
        (Standing.MOVED, "the kubelet's, better set in the file given by --config:"),
        (Standing.DEPRECATED, "accepted, without effect:"),
    ):
        lines += ["", title]
        for flag in FLAGS.values():
            if flag.standing is standing:
                sets = f"  sets {flag.path}" if flag.path else ""
                lines.append(f"  --{flag.name} <{flag.form}>{sets}")
    return "\n".join(lines)


def _explain(config: Config, arguments: Arguments) -> None:
    """What an operator finds in the log of a start: warnings, the effective configuration, the flags."""
    for warning in config.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    idle = unused(config)
    if idle:
        print(f"warning: accepted, but without effect so far: {', '.join(idle)}", file=sys.stderr)
    shown = effective_form(config)
    if "staticPodURLHeader" in shown:
        shown["staticPodURLHeader"] = {name: ["<masked>"] for name in shown["staticPodURLHeader"]}
    print(f"Effective KubeletConfiguration:\n{yaml.safe_dump(shown, sort_keys=True)}", end="", file=sys.stderr)
    if config.get("logging.verbosity") >= 1:
        for name in arguments.given:
            flag = FLAGS[name]
            value = arguments.fields[flag.path] if flag.path else arguments.flags[flag.attribute]
            print(f'FLAG: --{name}="{value}"', file=sys.stderr)


def _take_lock_file(config: Config) -> None:
    """`--lock-file`: wait for it, then hold it for the life of this process, supervisord included."""
    path = config.flags["lock_file"]
    if path:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.set_inheritable(fd, True)


def _limit(config: Config) -> None:
    """Open files and the out-of-memory score, which the daemons inherit. A refusal is only said, as upstream does."""
    files = config.get("maxOpenFiles")
    try:
        hard = max(files, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    except (OSError, ValueError) as error:
        print(f"warning: cannot set the limit of open files to {files}: {error}", file=sys.stderr)
    score = config.get("oomScoreAdj")
    try:
        Path("/proc/self/oom_score_adj").write_text(str(score))
    except OSError as error:
        print(f"warning: cannot set oom_score_adj to {score}: {error.strerror}", file=sys.stderr)


def _become_supervisor(configuration: Path) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "shared.supervision", "-c", str(configuration)])
