"""Options that several commands have, so that they read alike everywhere."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

with_corpus: Final = click.option(
    "--corpus", required=True, metavar="T/R/C", help="The corpus, as TENANT/RESOURCE/CORPUS."
)
with_json: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def with_principal(command: Command) -> Command:
    """``--as`` and ``--group``: who asks, as the caller asserts it."""
    as_option = click.option(
        "--as", "principal", required=True, metavar="PRINCIPAL", help="Who asks, as the grants name them."
    )
    group_option = click.option(
        "--group", "groups", multiple=True, metavar="GROUP", help="A group of whoever asks. May be repeated."
    )
    return as_option(group_option(command))


def with_legs(command: Command) -> Command:
    """How passages are found and ordered: ``lexical``, ``fusion``, ``rerank`` and ``exact``."""
    options = (
        click.option(
            "--lexical",
            type=click.Choice(["off", "fts", "bm25"]),
            default="bm25",
            show_default=True,
            help="How passages are found by their words, beside their meaning.",
        ),
        click.option(
            "--fusion",
            type=click.Choice(["rrf", "weighted"]),
            default="rrf",
            show_default=True,
            help="What makes one order of both: their ranks, or half of each one's score.",
        ),
        click.option(
            "--rerank", metavar="SPEC", help="Put what is found in a better order: local, tei:URL, … (README)."
        ),
        click.option(
            "--exact", is_flag=True, help="Compare every passage, also of a large corpus, whose index may miss some."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
