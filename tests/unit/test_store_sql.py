"""SQL from files: names are put in quoted, once, and every block can be found."""

from importlib import resources

import pytest

from activities.store.sql import fill, queries

FILES = sorted(
    file.name.removesuffix(".sql") for file in resources.files("activities.store").joinpath("queries").iterdir()
)


def test_names_are_quoted_and_not_read_again() -> None:
    text = "CREATE TABLE {schema}.x; GRANT SELECT ON {schema}.x TO {reader}; SELECT '{other}'"
    assert fill(text, 'a"{reader}') == (
        'CREATE TABLE "a""{reader}".x; GRANT SELECT ON "a""{reader}".x TO "a""{reader}_reader"; SELECT \'{other}\''
    )


def test_a_percent_sign_in_a_name_is_no_parameter() -> None:
    assert b'FROM "100%%".' in queries("100%", "scopes")["live_build"]


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_made_of_named_statements(name: str) -> None:
    blocks = queries("headwater", name)
    assert blocks
    for block in blocks.values():
        statements = [line for line in block.decode().splitlines() if not line.startswith("--")]
        assert statements and b"{schema}" not in block and statements[-1].rstrip().endswith(";")
