"""All embed batches of a page, a fixed number at once: pending activities weigh on a history."""

import asyncio
from collections.abc import Callable
from typing import Final

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from activities.contracts import BatchRef, EmbeddedBatch, PageRef
    from workflows.act import act

BATCHES_IN_FLIGHT: Final = 16


async def embed_page(
    page: PageRef,
    batches: int,
    *,
    heard: Callable[[EmbeddedBatch], None] = lambda done: None,
    priority: Priority = Priority.default,
) -> None:
    """Returns when every batch has its vectors, and ``heard`` what each of them cost.

    When one fails, or the workflow is cancelled, the others are given up.
    """
    slots = asyncio.Semaphore(BATCHES_IN_FLIGHT)

    async def embed(batch_no: int) -> None:
        async with slots:
            batch = BatchRef(**dict(page), batch_no=batch_no)
            heard(await act("embed_batch", batch, EmbeddedBatch, summary=f"batch {batch_no}", priority=priority))

    tasks = [asyncio.create_task(embed(batch_no)) for batch_no in range(batches)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
