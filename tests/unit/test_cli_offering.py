"""A command that is not there: the one that was meant is named, where one is alike."""

import pytest

from workers.cli.app import run


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("serach x", "`headwater search`"),
        ("sync /srv/docs", "`headwater sync folder /srv/docs`"),
        ("sync .", "`headwater sync folder .`"),
        ("sync foldr x", "`headwater sync folder`"),
        ("sync team", "`headwater sync folder team` or `headwater sync connector team`"),
        ("pin", "`headwater generation pin`"),
        ("generation lst", "`headwater generation list`"),
        ("source grnt x", "`headwater source grant`"),
        ("connector add drvie x", "`headwater connector add drive`"),
    ],
)
def test_what_was_meant_is_offered(typed: str, offered: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(typed.split()) == 2
    assert f"(did you mean {offered}?); see 'headwater" in capsys.readouterr().err


def test_a_path_with_a_space_is_offered_as_a_shell_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sync", "/srv/my docs"]) == 2
    assert "`headwater sync folder '/srv/my docs'`" in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["zzz", "generation bck"])
def test_where_nothing_is_alike_nothing_is_offered(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(typed.split()) == 2
    told = capsys.readouterr().err
    assert f"No such command '{typed.split()[-1]}'; see 'headwater" in told
