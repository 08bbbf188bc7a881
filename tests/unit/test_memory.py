"""A memory for tests keeps what the store's does."""

from datetime import datetime

import pytest

from headwater.connectors import ExpiringGrant, Forgotten, Link
from headwater.testing import MemoryInMemory, check_memory


def test_a_memory_without_a_store_keeps_the_contract() -> None:
    check_memory(MemoryInMemory())


def test_a_memory_that_breaks_a_promise_is_named() -> None:
    class Forgetful(MemoryInMemory):
        def due(self, *, limit: int) -> list[Link]:
            return []

    with pytest.raises(AssertionError, match="something due must be found"):
        check_memory(Forgetful())


def test_what_a_record_is_changed_to_later_is_not_remembered() -> None:
    record = {"name": "a", "nested": [1]}
    memory = MemoryInMemory()
    memory.write([Link("a", "", record)])
    record["name"] = "b"
    assert memory.links(["a"])["a"][0].record == {"name": "a", "nested": [1]}


def test_a_restored_memory_remembers_what_was_copied() -> None:
    memory = MemoryInMemory()
    memory.write([Link("a", "")])
    before = memory.copy()
    memory.write([Forgotten("a"), Link("b", "")])
    memory.restore(before)
    assert memory.all_links() == before.all_links() == [Link("a", "")]


def test_an_escaped_backslash_before_u0000_is_no_nul() -> None:
    memory = MemoryInMemory()
    memory.write([Link("a", "", {"name": "\\u0000"})])
    assert memory.links(["a"])["a"][0].record == {"name": "\\u0000"}


def test_a_grant_without_an_offset_never_ends_nor_lasts() -> None:
    with pytest.raises(ValueError, match="offset from UTC"):
        ExpiringGrant("principal", "ann", datetime(2026, 1, 1))
