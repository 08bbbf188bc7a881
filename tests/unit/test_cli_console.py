"""What reaches a terminal."""

import pytest

from workers.cli.console import Output, plain, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 漢字 and é\n\ttoo", "plain, 漢字 and é\n\ttoo"),
        ("\x1b[2Jgone", "\ufffd[2Jgone"),
        ("bell\x07 and \x9b31m", "bell\ufffd and \ufffd31m"),
        ("invoice\u202efdp.exe", "invoice\ufffdfdp.exe"),
        ("name\udcff", "name\ufffd"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_text_of_others_cannot_command_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_name_cannot_say_a_line_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    for say in (output.line, output.note, output.warn, output.fail):
        say("  path: evil\ngrants:\r\n  everyone:\u2028True")
    out, err = capsys.readouterr()
    assert out == "  path: evil grants:\ufffd   everyone: True\n"
    assert len(err.splitlines()) == 3


def test_a_cell_is_one_line() -> None:
    assert plain("a\n b\t\tc").plain == "a b c"
    assert plain(None).plain == ""
