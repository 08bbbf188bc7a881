"""A deletion handler of a host: removes what it derived itself when a source is propagated.

Start it beside Headwater's workers, and name it to them:

    TEMPORAL_ADDRESS=localhost:7233 python deletion_handler.py /srv/wiki
    HEADWATER_DELETION_HANDLERS=wiki=my-wiki:remove_wiki_pages headwater worker

It needs Temporal's SDK and nothing of Headwater: any language will do. It may be called twice with the same ids, so what is
gone already must count the same as nothing. Raise an error, and it is called again until it succeeds.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

TASK_QUEUE = "my-wiki"


class Wiki:
    """A folder with one page for each source it was made from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def page(self, source_id: str) -> Path:
        return self._folder / f"{quote(source_id, safe='')}.html"

    @activity.defn(name="remove_wiki_pages")
    async def remove(self, asked: dict[str, Any]) -> int:
        """How many pages were removed. ``asked`` holds scope, source_id, ids and reason."""
        if asked["reason"] == "legal_hold":
            return 0  # hidden, but to be kept
        pages = [page for page in map(self.page, asked["ids"]) if page.exists()]
        for page in pages:
            page.unlink()
        return len(pages)


def worker(client: Client, wiki: Wiki) -> Worker:
    return Worker(client, task_queue=TASK_QUEUE, activities=[wiki.remove])


async def main() -> None:
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"))
    await worker(client, Wiki(Path(sys.argv[1]))).run()


if __name__ == "__main__":
    asyncio.run(main())
