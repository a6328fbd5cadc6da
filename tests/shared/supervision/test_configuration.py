"""The checked-in supervisord.conf, and the rule that its names are the daemons'."""

import configparser
import os
from pathlib import Path

from supervisor.options import ServerOptions

from shared.messages.base import Service
from shared.supervision.configuration import Supervisor, render

ROOT = Path(__file__).resolve().parents[3]


def parse(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(inline_comment_prefixes=(";",))
    parser.read_string(text)
    return parser


def test_the_checked_in_file_is_the_rendered_one() -> None:
    assert (ROOT / "supervisord.conf").read_text() == render(Supervisor())


def test_there_is_one_program_per_daemon_and_its_command_is_the_daemon_itself() -> None:
    parser = parse(render(Supervisor()))
    programs = {name.removeprefix("program:"): parser[name] for name in parser.sections() if "program:" in name}
    assert set(programs) == {service.value for service in Service}
    for name, program in programs.items():
        assert program["command"] == f"%(here)s/.venv/bin/python -m services.{name}"


def test_there_is_exactly_one_server_since_the_extension_is_made_once_per_server() -> None:
    servers = [name for name in parse(render(Supervisor())).sections() if name.endswith("_http_server")]
    assert servers == ["unix_http_server"]


def test_arguments_reach_the_daemon_unchanged_even_with_blanks_and_percent_signs(tmp_path: Path) -> None:
    run_dir = tmp_path / "a run %dir"
    program = parse(render(Supervisor(run_dir=run_dir, arguments=("--run-dir", str(run_dir)))))["program:pleg"]
    expanded = program["command"].replace("%(here)s", "/x").replace("%%", "%")
    assert expanded == f"/x/.venv/bin/python -m services.pleg --run-dir '{run_dir}'"


def test_supervisord_reads_the_checked_in_file_as_it_was_meant() -> None:
    umask = os.umask(0o022)
    try:
        options = ServerOptions()
        options.realize(["-c", str(ROOT / "supervisord.conf")])
    finally:
        os.umask(umask)
    programs = {group.process_configs[0].name: group.process_configs[0] for group in options.process_group_configs}
    assert set(programs) == {service.value for service in Service}
    for name, program in programs.items():
        assert program.command == f"{ROOT}/.venv/bin/python -m services.{name}"
        assert (program.directory, program.startsecs, program.autostart) == (str(ROOT), 0, True)
    assert [name for name, *_ in options.rpcinterface_factories] == ["supervisor", "octolet"]
