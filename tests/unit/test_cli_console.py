"""What reaches a terminal."""

import pytest

from workers.cli.console import plain, printable


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


def test_a_cell_is_one_line() -> None:
    assert plain("a\n b\t\tc").plain == "a b c"
    assert plain(None).plain == ""
