"""``PropagateDeletion``: a source and all that rests on it is hidden at once, then removed layer by layer."""

import asyncio
from typing import Any, Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts import Done
    from activities.contracts.deletion import Handler, NoteLayer, Propagate, Propagated, RemovedLayer, RemoveRag
    from headwater.contracts import PropagateDeletionInput, PropagateDeletionResult
    from headwater.contracts.deletion import LayerInput
    from workflows.act import act
    from workflows.handlers import call_handler
    from workflows.inputs import parse_input
    from workflows.once import once

RAG: Final = "rag"


@workflow.defn(name="PropagateDeletion")
class PropagateDeletion:
    """Hiding is one transaction. Each layer is then removed by an activity of its own, which is retried alone.

    A layer that fails for good, or a cancellation, leaves the tombstones in place: sent again, the request goes on with the
    layers that are missing.
    """

    @workflow.run
    async def run(self, raw: Any = None) -> PropagateDeletionResult:
        request = parse_input(PropagateDeletionInput, raw)

        async def work(request_no: int) -> PropagateDeletionResult:
            hidden = await act("propagate_deletion", _propagate(request, request_no), Propagated)
            return PropagateDeletionResult(
                source_id=request.source_id,
                ids=hidden.ids,
                tombstoned=hidden.tombstoned,
                layers=await _remove(request, request_no, hidden),
            )

        return await once(request, PropagateDeletionResult, work)


def _propagate(request: PropagateDeletionInput, request_no: int) -> Propagate:
    return Propagate(
        scope=request.scope,
        request_no=request_no,
        requested_by=request.requested_by,
        source_id=request.source_id,
        authorization=request.authorization,
        reason=request.reason,
    )


async def _remove(request: PropagateDeletionInput, request_no: int, hidden: Propagated) -> dict[str, int]:
    """The counts of all layers, in their order. One that fails stops no other."""
    asked = _asked(request, hidden)

    async def layer(handler: Handler | None) -> int:
        kind = handler.kind if handler else RAG
        if kind in hidden.layers:
            return hidden.layers[kind]
        if handler is None:
            removal = RemoveRag(scope=request.scope, request_no=request_no)
            count = (await act("remove_rag", removal, RemovedLayer)).count
        else:
            count = await call_handler(
                handler, asked, task="deletion", did="removed", stays="What was hidden stays hidden."
            )
        noted = NoteLayer(tenant_id=request.scope.tenant_id, request_no=request_no, kind=kind, count=count)
        await act("note_layer", noted, Done)
        return count

    handlers = (None, *hidden.handlers)
    ended = await asyncio.gather(*map(layer, handlers), return_exceptions=True)
    for each in ended:
        if isinstance(each, BaseException):
            raise each
    return {
        handler.kind if handler else RAG: count
        for handler, count in zip(handlers, ended, strict=True)
        if isinstance(count, int)
    }


def _asked(request: PropagateDeletionInput, hidden: Propagated) -> LayerInput:
    """What a host's handler is told. Of what is held, or was only corrected, nothing is to be removed."""
    kept = set() if request.reason == "legal_hold" else set(hidden.held)
    if request.reason == "corrected":
        kept.add(0)
    return LayerInput(
        scope=request.scope,
        source_id=request.source_id,
        ids=tuple(each for place, each in enumerate(hidden.ids) if place not in kept),
        reason=request.reason,
    )
