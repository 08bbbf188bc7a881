"""From an error to a sentence and an exit status."""

import click
import pytest

from headwater.errors import HeadwaterError, LimitError, StoreError, ValidationError
from workers.cli.app import run
from workers.cli.errors import CommandFailed, Interrupted, WrongUsage, arguments, exit_status, sentence_of
from workers.guard.errors import ServiceError
from workers.settings import SettingsError


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CommandFailed("x"), 1),
        (StoreError("x"), 1),
        (ServiceError("x"), 1),
        (RuntimeError("x"), 1),
        (OSError(28, "No space left on device"), 1),
        (WrongUsage("x"), 2),
        (SettingsError("x"), 2),
        (click.UsageError("x"), 2),
        (Interrupted("x"), 130),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
)
def test_each_kind_of_error_has_its_exit_status(error: BaseException, status: int) -> None:
    assert exit_status(error) == status


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (HeadwaterError("Do this\nor that."), "Do this or that."),
        (ServiceError("The disk is full; free some."), "The disk is full; free some."),
        (click.UsageError("Missing option '--as'."), "Missing option '--as'; see 'headwater --help'."),
        (KeyboardInterrupt(), "Interrupted."),
        (
            OSError(13, "Permission denied", "/srv/x"),
            "The system refused: Permission denied (/srv/x); run again with --debug to see where.",
        ),
    ],
)
def test_an_error_is_one_sentence(error: BaseException, sentence: str) -> None:
    assert sentence_of(error) == sentence


def test_an_unforeseen_error_shows_its_type_and_nothing_it_quotes() -> None:
    sentence = sentence_of(KeyError("password=hidden"))
    assert "KeyError" in sentence
    assert "--debug" in sentence
    assert "hidden" not in sentence


@pytest.mark.parametrize("error", [ValidationError("no such grant"), LimitError("too many")])
def test_what_the_library_says_about_an_argument_is_wrong_usage(error: HeadwaterError) -> None:
    with pytest.raises(WrongUsage, match=str(error)), arguments():
        raise error


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("top_k must be from 1 to 32, not 99.", "--top-k must be from 1 to 32, not 99."),
        ("scopes names more than 8 corpora.", "--corpus names more than 8 corpora."),
        ("source_ids.0: source_id '' must be short.", "ID '' must be short."),
        ("authorization.group_ids: too many.", "--group: too many."),
        ("A filter of top_k stays.", "A filter of top_k stays."),
    ],
)
def test_what_the_library_calls_its_argument_is_the_option_that_was_typed(said: str, typed: str) -> None:
    with pytest.raises(WrongUsage) as raised, arguments():
        raise LimitError(said)
    assert str(raised.value) == typed


@pytest.mark.parametrize(
    ("who", "said"),
    [(("--as", ""), "--as must be 1 to 256 characters"), (("--as", "a", "--group", ""), "--group must be 1 to 256")],
)
def test_a_name_that_cannot_be_one_is_told_by_its_option(
    who: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", "q", "--corpus", "t/r/c", *who]) == 2
    assert said in capsys.readouterr().err
