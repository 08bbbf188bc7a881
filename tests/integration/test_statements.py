"""Every statement of the store fits the schema: a slip in a rarely used one is found here, not at three in the morning."""

import re
from pathlib import Path

import pytest
from psycopg.pq import ExecStatus

import activities.store
from activities.store import Store
from activities.store.sql import queries

FILES = sorted(path.stem for path in (Path(activities.store.__file__).parent / "queries").glob("*.sql"))
PLANNED = re.compile(rb"(--.*\n|\s)*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")


@pytest.mark.parametrize("file", FILES)
def test_every_statement_can_be_planned(store: Store, file: str) -> None:
    planned = 0
    for name, text in queries(store.schema, file).items():
        if PLANNED.match(text) is None:
            continue
        numbered = text
        for number, parameter in enumerate(dict.fromkeys(re.findall(rb"%\(\w+\)s", text)), start=1):
            numbered = numbered.replace(parameter, b"$%d" % number)
        with store.connection() as connection:
            # The simple protocol: planning needs no values, and the extended one insists on them.
            answer = connection.pgconn.exec_(b"EXPLAIN (GENERIC_PLAN) " + numbered.replace(b"%%", b"%"))
            assert answer.status == ExecStatus.TUPLES_OK, f"{name}: {answer.error_message.decode()}"
        planned += 1
    assert planned
