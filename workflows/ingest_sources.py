"""`IngestSources`: documents that a host pushes become what readers see, all of a request together.

Accept them as a page, prepare it, embed it, publish it, say what became of each. From the second step on only ids travel.
"""

from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts import PageRef, PreparedPage
    from activities.contracts.ingest import AcceptedIngest, AcceptIngest, EndIngest
    from headwater.contracts import IngestSourcesInput, IngestSourcesResult
    from workflows.act import act
    from workflows.embed_page import embed_page
    from workflows.inputs import parse_input
    from workflows.once import once
    from workflows.publish_staged import publish_staged


@workflow.defn(name="IngestSources")
class IngestSources:
    @workflow.run
    async def run(self, raw: Any = None) -> IngestSourcesResult:
        request = parse_input(IngestSourcesInput, raw)
        return await once(
            request, IngestSourcesResult, lambda request_no: _ingest(request, request_no), makes_corpus=True
        )


async def _ingest(request: IngestSourcesInput, request_no: int) -> IngestSourcesResult:
    asked = AcceptIngest(
        scope=request.scope, request_no=request_no, requested_by=request.requested_by, sources=request.sources
    )
    accepted = await act("accept_ingest", asked, AcceptedIngest)
    page = PageRef(page_id=accepted.page_id, tenant_id=request.scope.tenant_id)
    prepared = await act("prepare_page", page, PreparedPage)
    await embed_page(page, prepared.batches)
    published = await publish_staged(page, lambda batches: embed_page(page, batches))
    return await act("end_ingest", EndIngest(**dict(page), generation=published.generation), IngestSourcesResult)
