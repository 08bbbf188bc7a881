"""Publishing a page that is staged, for whichever build readers see by then."""

from collections.abc import Awaitable, Callable

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts import PageRef, PreparedPage, PublishedPage
    from workflows.act import act


async def publish_staged(page: PageRef, embed: Callable[[int], Awaitable[None]]) -> PublishedPage:
    """What publishing did. ``embed`` gives so many batches of the page their vectors.

    Where a re-index was flipped to since the page was staged, its documents belong into the build that readers see now: they
    are staged again for that one, and embedded.
    """
    published = await act("publish_page", page, PublishedPage)
    while published.is_stale_build:
        prepared = await act("restage_page", page, PreparedPage)
        await embed(prepared.batches)
        published = await act("publish_page", page, PublishedPage)
    return published
