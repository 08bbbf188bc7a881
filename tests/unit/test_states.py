"""One list of source states: whoever cannot import it names the same ones."""

import re
from importlib import resources
from typing import get_args, get_type_hints

import pytest

from activities.parsers import ParsedDocument, ParseFailure, wire
from activities.store.sql import queries
from headwater.states import FAILED, HEALTHY, Freshness, SourceState

MIGRATION = resources.files("activities.store").joinpath("migrations", "0001_spine.sql").read_text("utf-8")
INGESTION = MIGRATION.partition("CREATE TABLE {schema}.ingestion")[2].partition(");\n")[0]


def quoted(text: str) -> set[str]:
    return set(re.findall(r"'([a-z_]+)'", text))


@pytest.mark.parametrize(("column", "names"), [("state", SourceState), ("freshness", Freshness)])
def test_the_table_takes_these_and_no_others(column: str, names: type[SourceState] | type[Freshness]) -> None:
    taken = re.search(rf"\(({column}) IN \(([^)]+)\)", INGESTION)
    assert taken is not None and quoted(taken[2]) == set(names)


def test_the_parser_process_names_the_same_states() -> None:
    failures = get_args(get_type_hints(ParseFailure)["state"])
    assert set(wire._FAILURES) == set(failures) <= FAILED
    assert set(get_args(get_type_hints(ParsedDocument, {"Heading": object})["state"])) <= HEALTHY


def test_the_statements_name_the_same_states() -> None:
    listed = {
        name: [quoted(group) for group in re.findall(r"\bi?n?\.state IN \(([^)]+)\)", statement.decode())]
        for name in ("publish", "lease")
        for statement in queries("headwater", name).values()
        if b".state IN (" in statement
    }
    assert all(states == HEALTHY for states in listed["publish"]) and listed["publish"]
    assert all(states == FAILED for states in listed["lease"]) and listed["lease"]


def test_a_source_is_healthy_or_failed_or_waits() -> None:
    assert set(SourceState) - HEALTHY - FAILED == {SourceState.PENDING, SourceState.DENIED} and not HEALTHY & FAILED
