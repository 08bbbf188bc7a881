"""The end of a connector, and the trial of one: what is done in which order, and what is given back when it fails."""

import asyncio
import uuid
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from activities.contracts.connectors import RemovedConnector, TriedConnector
from headwater.models import Scope
from tests.workflows.scripted_connectors import ConnectorScript
from workflows import queues
from workflows.remove_connector import CANCELLED, PAGES_A_RUN

SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook").model_dump()


async def start(client: Client, workflow: str, **fields: Any) -> WorkflowHandle[Any, Any]:
    """By name and with raw JSON, as a host in any language would."""
    return await client.start_workflow(
        workflow, {"scope": SCOPE, "connector": "shelf", **fields}, id=f"{uuid.uuid4()}", task_queue=queues.CONTROL
    )


async def removed(client: Client, sources: str) -> RemovedConnector:
    handle = await start(client, "RemoveConnector", sources=sources, requested_by="ops")
    return RemovedConnector.model_validate(await handle.result())


async def failure_of(handle: WorkflowHandle[Any, Any]) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


async def test_what_it_holds_is_swept_before_it_goes(skipping: WorkflowEnvironment) -> None:
    script = ConnectorScript(pages=2)
    async with script.served(skipping.client):
        assert await removed(skipping.client, "delete") == RemovedConnector(kept=3, deleted=20, had_schedule=True)
    page = ["sweep_page", "publish_page", "advance_checkpoint"]
    assert script.calls == ["begin_removal", *page, *page, "drop_connector", "remove_schedule"]
    assert [(begun.connector, begun.full, begun.requested_by) for begun in script.begun] == [("shelf", True, "ops")]
    assert [(dropped.in_pass.fence, dropped.requested_by) for dropped in script.dropped] == [(9, "ops")]
    assert not script.ended  # its lease went with it


async def test_what_it_holds_is_left_behind_page_by_page(skipping: WorkflowEnvironment) -> None:
    script = ConnectorScript(pages=3)
    async with script.served(skipping.client):
        await removed(skipping.client, "keep")
    assert script.calls == ["begin_removal", *["keep_sources"] * 3, "drop_connector", "remove_schedule"]


async def test_a_page_of_a_build_that_is_not_shown_any_more_is_moved(skipping: WorkflowEnvironment) -> None:
    script = ConnectorScript(stale_builds=1)
    async with script.served(skipping.client):
        assert (await removed(skipping.client, "delete")).deleted == 10
    assert script.calls[1:5] == ["sweep_page", "publish_page", "restage_page", "publish_page"]


@pytest.mark.parametrize("sources", ["keep", "delete"])
async def test_many_pages_go_on_in_a_new_run(skipping: WorkflowEnvironment, sources: str) -> None:
    script = ConnectorScript(pages=PAGES_A_RUN + 2)
    async with script.served(skipping.client):
        handle = await start(skipping.client, "RemoveConnector", sources=sources)
        result = RemovedConnector.model_validate(await handle.result())
        assert (await handle.describe()).history_length < 60  # of the last run
    assert result.deleted == (10 * script.pages if sources == "delete" else 0)
    assert script.calls.count("begin_removal") == script.calls.count("drop_connector") == 1
    assert script.calls.count("sweep_page" if sources == "delete" else "keep_sources") == script.pages


async def test_a_connector_that_is_being_synced_is_named(skipping: WorkflowEnvironment) -> None:
    busy = ApplicationError("The connector is being synced by workflow sync:1.", type="AlreadyRunning")
    script = ConnectorScript(failures={"begin_removal": [busy]})
    async with script.served(skipping.client):
        failure = await failure_of(await start(skipping.client, "RemoveConnector", sources="keep"))
    assert (failure.type, failure.message) == ("AlreadyRunning", busy.message)
    assert not script.ended  # the lease is somebody else's


async def test_a_removal_that_fails_gives_the_lease_back_and_says_why(skipping: WorkflowEnvironment) -> None:
    fault = ApplicationError("It is broken.", type="StoreError")
    script = ConnectorScript(failures={"publish_page": [fault]})
    async with script.served(skipping.client):
        failure = await failure_of(await start(skipping.client, "RemoveConnector", sources="delete"))
    assert failure.message == "It is broken."
    assert [(ended.in_pass.fence, ended.error) for ended in script.ended] == [(9, "It is broken.")]
    assert not script.dropped
    assert "remove_schedule" not in script.calls  # the connector is still there, and synced


async def test_a_schedule_that_temporal_keeps_is_named_when_the_connector_is_gone(
    skipping: WorkflowEnvironment,
) -> None:
    refused = ApplicationError("Temporal refuses to remove schedule x.", type="PermanentError")
    script = ConnectorScript(failures={"remove_schedule": [refused]})
    async with script.served(skipping.client):
        failure = await failure_of(await start(skipping.client, "RemoveConnector", sources="delete"))
    assert failure.message == refused.message
    assert len(script.dropped) == 1
    assert not script.ended


async def test_a_cancelled_removal_gives_the_lease_back(temporal_client: Client) -> None:
    script = ConnectorScript(held="keep_sources")
    async with script.served(temporal_client):
        handle = await start(temporal_client, "RemoveConnector", sources="keep")
        await asyncio.wait_for(script.reached.wait(), 20)
        await handle.cancel()
        script.gate.set()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
    assert [ended.error for ended in script.ended] == [CANCELLED]
    assert not script.dropped


async def test_a_trial_says_what_was_found_or_what_is_wrong(skipping: WorkflowEnvironment) -> None:
    gone = ApplicationError("Folder /srv/docs is gone.", type="SourceUnavailable")
    script = ConnectorScript()
    async with script.served(skipping.client):
        found = await (await start(skipping.client, "TryConnector")).result()
        script.failures["try_connector"] = [gone]
        failure = await failure_of(await start(skipping.client, "TryConnector"))
    assert TriedConnector.model_validate(found) == TriedConnector(kind="folder", listed=3, is_all=True)
    assert (failure.type, failure.message) == ("SourceUnavailable", gone.message)
    assert script.calls == ["try_connector", "try_connector"]


@pytest.mark.parametrize(
    ("workflow", "wrong"),
    [
        ("RemoveConnector", {}),
        ("RemoveConnector", {"sources": "burn"}),
        ("RemoveConnector", {"sources": "keep", "connector": "a b"}),
        ("TryConnector", {"connector": None}),
    ],
)
async def test_what_cannot_be_asked_touches_nothing(
    skipping: WorkflowEnvironment, workflow: str, wrong: dict[str, Any]
) -> None:
    script = ConnectorScript()
    async with script.served(skipping.client):
        failure = await failure_of(await start(skipping.client, workflow, **wrong))
    assert failure.type == "InvalidInput"
    assert not script.calls
