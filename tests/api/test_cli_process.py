"""The command line as a process: pipes, interrupts, help and completion."""

import json
import os
import subprocess
import sys

import pytest
import shtab

import prvcore as prv
from prvcore import _cli as cli
from tests.support.command_line import EPSILON, SETTING, curve


@pytest.mark.slow
def test_as_a_module_and_as_a_program(tmp_path):
    outputs = [
        subprocess.run(
            [*program, *EPSILON, "--json"],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        ).stdout
        for program in (
            [sys.executable, "-m", "prvcore"],
            [sys.executable, "-c", "import sys, prvcore.cli; sys.exit(prvcore.cli.main())"],
        )
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])["lower"] == curve().epsilon(1e-7).lower


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["curve", *SETTING], ["--print-completion", "bash"]])
def test_a_reader_that_stops_is_no_error(arguments, tmp_path):
    read, write = os.pipe()
    os.close(read)
    try:
        found = subprocess.run(
            [sys.executable, "-m", "prvcore", *arguments],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
    finally:
        os.close(write)
    assert (found.returncode, found.stderr) == (1, "")


def test_an_interrupt_is_quiet(capsys, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(prv, "compose", interrupted)
    assert cli.main(EPSILON) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pipes of other processes")
def test_a_reader_that_stops_reading(tmp_path):
    program = [sys.executable, "-m", "prvcore", *EPSILON]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


@pytest.mark.slow
def test_completion(capsys):
    shells = shtab.SUPPORTED_SHELLS
    for shell in shells:
        with pytest.raises(SystemExit) as stop:
            cli.main(["--print-completion", shell])
        assert stop.value.code == 0
        assert "noise-multiplier" in capsys.readouterr().out


COMMANDS = tuple(cli._COMMANDS)


@pytest.mark.slow
def test_version_and_help(capsys):
    helps = [[command, "--help"] for command in COMMANDS]
    for arguments in (["--version"], ["--help"], *helps):
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        assert stop.value.code == 0
        assert "prvcore" in capsys.readouterr().out


def test_without_shtab_the_error_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit):
        cli.main(["--print-completion", "bash"])
    assert "pip install 'prvcore[completion]'" in capsys.readouterr().err
