"""One id for each connector's sync, within Temporal's limit."""

from headwater.models import Scope
from headwater.workflow_ids import ID_MAX, sync_workflow_id


def test_a_sync_is_named_by_its_scope_and_connector() -> None:
    assert sync_workflow_id(Scope.parse("t1/docs/handbook"), "shelf") == "sync:t1/docs/handbook:shelf"


def test_a_long_id_ends_in_its_hash_and_stays_distinct() -> None:
    longest = "x" * 64
    ids = {
        sync_workflow_id(Scope(tenant_id=longest, resource_id=longest, corpus_id=longest), "x" * 63 + last)
        for last in "ab"
    }
    assert len(ids) == 2
    assert all(len(id_) <= ID_MAX for id_ in ids)
