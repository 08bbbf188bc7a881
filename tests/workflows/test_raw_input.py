"""What cannot even be decoded fails a workflow at once, and says so without repeating any of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from workers.payloads import strict
from workers.served import WORKFLOWS
from workflows import queues

JSON = {"encoding": b"json/plain"}
SCOPE = b'"scope": {"tenant_id": "t1", "resource_id": "docs", "corpus_id": "handbook"}'
PUBLIC = [workflow.__name__ for workflow in WORKFLOWS if workflow.__name__ not in {"RetireBuild", "CollectTick"}]


@pytest.fixture
async def served(skipping: WorkflowEnvironment) -> AsyncIterator[Client]:
    async with Worker(strict(skipping.client), task_queue=queues.CONTROL, workflows=WORKFLOWS):
        yield skipping.client


async def said(client: Client, workflow: str, arguments: Sequence[RawValue]) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        async with asyncio.timeout(20):
            await client.execute_workflow(workflow, args=arguments, id=f"raw:{workflow}", task_queue=queues.CONTROL)
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


@pytest.mark.parametrize(
    "data",
    [
        b'{"secret": "half of a pair: \\ud800", ' + SCOPE + b"}",
        b'{"secret": ' + b"[" * 250 + b"]" * 250 + b", " + SCOPE + b"}",
        b'{"secret": ' + b"9" * 5_000 + b", " + SCOPE + b"}",
        b"\xff\xfe secret",
        b'{"secret": ',
        b"",
    ],
    ids=["surrogate", "nesting", "digits", "not UTF-8", "cut off", "empty"],
)
@pytest.mark.parametrize("workflow", ["IngestSources", "SyncCorpus"], ids=["one argument", "two"])
async def test_what_cannot_be_decoded_is_invalid_input_and_is_not_repeated(
    served: Client, workflow: str, data: bytes
) -> None:
    error = await said(served, workflow, [RawValue(Payload(metadata=JSON, data=data))])
    assert (error.type, error.message.partition(":")[0]) == ("InvalidInput", "input")
    assert "secret" not in str(error)


@pytest.mark.parametrize("workflow", PUBLIC)
async def test_every_public_workflow_names_the_input_that_is_missing(served: Client, workflow: str) -> None:
    assert (await said(served, workflow, [])).type == "InvalidInput"
