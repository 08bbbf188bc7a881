"""`headwater --help` is the reference: everything in it is described, and nothing else is accepted."""

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from workers.cli.app import debug_first, headwater, run


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))


COMMANDS = dict(_commands(headwater))


def test_these_are_the_commands() -> None:
    assert sorted(name for name, command in COMMANDS.items() if not isinstance(command, click.Group)) == [
        "config",
        "connector add drive",
        "connector list",
        "connector remove",
        "connector test",
        "doctor",
        "evaluate",
        "gc",
        "generation list",
        "generation pin",
        "generation rollback",
        "generation unpin",
        "migrate",
        "reindex",
        "rename",
        "schedule list",
        "schedule pause",
        "schedule remove",
        "schedule resume",
        "schedule set",
        "search",
        "source delete",
        "source grant",
        "source propagate",
        "source revoke",
        "source show",
        "status",
        "sync connector",
        "sync folder",
        "up",
        "worker",
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_does(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert command.short_help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts[0]}"
        else:
            # An argument has no help of its own: the text names it.
            assert (parameter.metavar or "?") in command.help


@pytest.mark.parametrize("parameter", headwater.params, ids=lambda parameter: parameter.opts[0])
def test_a_general_option_says_what_it_does(parameter: click.Parameter) -> None:
    assert isinstance(parameter, click.Option)
    assert parameter.help


@pytest.mark.parametrize(
    "name",
    sorted(set(COMMANDS) - {"up", "worker", "sync", "source", "generation", "connector", "connector add", "schedule"}),
)
def test_a_command_that_ends_takes_json(name: str) -> None:
    assert "--json" in [option for parameter in COMMANDS[name].params for option in parameter.opts]


@pytest.mark.parametrize("option", ["--boost", "--language"])
def test_what_is_not_built_is_not_accepted(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "q", "--corpus", "t/r/c", "--as", "a", option, "1"]) == 2
    assert f"No such option '{option}'" in capsys.readouterr().err


def test_the_help_lists_every_command() -> None:
    shown = CliRunner().invoke(headwater, ["--help"]).output
    for name in headwater.commands:
        assert f"\n  {name} " in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_it(shell: str) -> None:
    shown = CliRunner().invoke(
        headwater,
        prog_name="headwater",
        env={"_HEADWATER_COMPLETE": f"{shell}_source"},
        complete_var="_HEADWATER_COMPLETE",
    )
    assert "_HEADWATER_COMPLETE" in shown.output


@pytest.mark.parametrize("arguments", [[], ["sync"], ["source"]])
def test_without_a_command_the_help_is_shown_as_wrong_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert "Usage: headwater" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["status", "--debug"], ["--debug", "status"]),
        (["--debug", "status"], ["--debug", "status"]),
        (["status"], ["status"]),
        (["search", "--as", "a", "--", "--debug"], ["search", "--as", "a", "--", "--debug"]),
    ],
)
def test_debug_may_stand_anywhere_before_the_arguments_end(given: list[str], read: list[str]) -> None:
    assert debug_first(given) == read


def test_a_traceback_is_shown_with_debug_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "--state", "failed"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert run(["status", "--state", "failed", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err
