"""All embed batches of a page, a fixed number at once: pending activities weigh on a history."""

import asyncio
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts import BatchRef, EmbeddedBatch, PageRef
    from workflows.act import act

BATCHES_IN_FLIGHT: Final = 16


async def embed_page(page: PageRef, batches: int) -> None:
    """Returns when every batch has its vectors; when one fails, or the workflow is cancelled, the others are given up."""
    slots = asyncio.Semaphore(BATCHES_IN_FLIGHT)

    async def embed(batch_no: int) -> None:
        async with slots:
            batch = BatchRef(**dict(page), batch_no=batch_no)
            await act("embed_batch", batch, EmbeddedBatch, summary=f"batch {batch_no}")

    tasks = [asyncio.create_task(embed(batch_no)) for batch_no in range(batches)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
