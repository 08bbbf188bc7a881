"""Asking Headwater's workflows from Python: one method for each, with the input's fields and a typed answer.

Needs the extra ``client``, which brings Temporal's SDK. Workers do the work; this only asks for it.
"""

from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar
from uuid import UUID

import pydantic
from pydantic import BaseModel

from headwater.contracts import (
    CollectGarbageInput,
    CollectGarbageResult,
    DeleteSourcesInput,
    DeleteSourcesResult,
    IngestSource,
    IngestSourcesInput,
    IngestSourcesResult,
    PropagateDeletionInput,
    PropagateDeletionResult,
    ReindexCorpusInput,
    ReindexCorpusResult,
    ReindexProgress,
    RenameSourcesInput,
    RenameSourcesResult,
    RepointResult,
    RepointSourceInput,
    SetGenerationInput,
    SetGenerationResult,
    SetSourceAccessInput,
    SetSourceAccessResult,
    SourceGrants,
    SyncCorpusInput,
    SyncResult,
    WorkflowInput,
)
from headwater.contracts.deletion import Reason
from headwater.contracts.shared import first_fault
from headwater.errors import PermanentError, ValidationError
from headwater.ids import check_schema
from headwater.models import Authorization, Scope
from headwater.workflow_ids import scope_workflow_id, sync_workflow_id, workflow_id_of

if TYPE_CHECKING:
    from temporalio.client import Client, TLSConfig

    from headwater.client.runs import WorkflowRuns
    from headwater.staged_content import Content

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class HeadwaterClient:
    """A host's hand on the workflows. May be shared between tasks; there is nothing to close.

    A ``request_id`` names what is asked: sent again, also by another process, it gets the first answer and nothing is done
    twice. A cancelled call leaves its workflow running. Methods raise the library's errors, `TransientError` where the
    same call may work later.
    """

    runs: "WorkflowRuns"
    dsn: str | None = field(repr=False)  # it holds a password
    schema: str
    requested_by: str | None

    @classmethod
    async def connect(
        cls,
        dsn: str | None,
        temporal_address: str | None = None,
        *,
        client: "Client | None" = None,
        namespace: str = "default",
        tls: "bool | TLSConfig | None" = None,
        api_key: str | None = None,
        schema: str = "headwater",
        requested_by: str | None = None,
    ) -> Self:
        """A client for the Temporal server at ``temporal_address``, or over the Temporal ``client`` that you have.

        ``dsn`` is for `stage` alone, and its login needs the role ``<schema>_host``; ``None`` where nothing is staged.
        ``requested_by`` is written into the audit with all that is asked.
        """
        check_schema(schema)
        try:
            from headwater.client import runs as workflow_runs
        except ModuleNotFoundError as error:
            raise PermanentError(
                "headwater.client needs a package that is not installed: run pip install 'headwater[client]'."
            ) from error
        if (temporal_address is None) == (client is None):
            raise ValidationError("Give either temporal_address or client.")
        if client is not None and (namespace != "default" or tls is not None or api_key is not None):
            raise ValidationError("namespace, tls and api_key are those of the client that you made: leave them out.")
        if temporal_address is not None:
            client = await workflow_runs.connect(temporal_address, namespace=namespace, tls=tls, api_key=api_key)
        assert client is not None
        return cls(workflow_runs.WorkflowRuns(client), dsn, schema, requested_by)

    def on_behalf_of(self, requested_by: str) -> Self:
        """The same client, whose requests are audited under another name."""
        return replace(self, requested_by=requested_by)

    async def sync_corpus(
        self,
        scope: Scope,
        connector: str,
        *,
        full: bool = False,
        max_pages: int | None = None,
        page_size: int = 100,
        on_invalid_cursor: Literal["resync", "fail"] = "resync",
    ) -> SyncResult:
        """Bring a corpus up to date with a connector: what a pass did that began after this call.

        A sync of this connector that is under way finishes first. ``max_pages`` stops a run of this call's own early; where
        the origin does not know its cursor any more, such a run lists everything anew, or fails with ``on_invalid_cursor="fail"``.
        """
        fields = {
            "connector": connector,
            "full": full,
            "max_pages": max_pages,
            "page_size": page_size,
            "on_invalid_cursor": on_invalid_cursor,
        }
        wanted = self._checked(SyncCorpusInput, scope, fields)
        answer = await self.runs.synced("SyncCorpus", wanted, workflow_id=sync_workflow_id(scope, connector))
        return SyncResult.model_validate(answer)

    async def nudge(self, scope: Scope, connector: str) -> None:
        """Say that a connector's origin may have changed, as its webhook tells you. Returns at once.

        A sync begins, or the one under way makes one more pass. Nothing of a notification is passed on: a pass looks for itself.
        """
        wanted = self._checked(SyncCorpusInput, scope, {"connector": connector})
        await self.runs.signalled("SyncCorpus", wanted, workflow_id=sync_workflow_id(scope, connector), signal="nudge")

    async def ingest_sources(
        self, scope: Scope, sources: Sequence[IngestSource], *, request_id: str
    ) -> IngestSourcesResult:
        """Publish documents of your own, at most 200, which readers see together or not at all."""
        fields = {"request_id": request_id, "sources": sources}
        return await self._ask("IngestSources", IngestSourcesInput, IngestSourcesResult, scope, fields)

    async def set_source_access(
        self, scope: Scope, grants: Sequence[SourceGrants], *, request_id: str
    ) -> SetSourceAccessResult:
        """Replace all grants of each source. A stored ``access_version`` that is not lower is left, as a
        conflict, unless it has the same set.
        """
        fields = {"request_id": request_id, "grants": grants}
        return await self._ask("SetSourceAccess", SetSourceAccessInput, SetSourceAccessResult, scope, fields)

    async def delete_sources(self, scope: Scope, source_ids: Sequence[str], *, request_id: str) -> DeleteSourcesResult:
        """Delete sources. What was derived from them stays; see `propagate_deletion`."""
        fields = {"request_id": request_id, "source_ids": source_ids}
        return await self._ask("DeleteSources", DeleteSourcesInput, DeleteSourcesResult, scope, fields)

    async def propagate_deletion(
        self,
        scope: Scope,
        source_id: str,
        *,
        authorization: Authorization,
        request_id: str,
        reason: Reason = "forgotten",
    ) -> PropagateDeletionResult:
        """Hide a source and all that rests on it, at once, and have it removed wherever it went."""
        fields = {
            "request_id": request_id,
            "source_id": source_id,
            "authorization": authorization,
            "reason": reason,
        }
        return await self._ask("PropagateDeletion", PropagateDeletionInput, PropagateDeletionResult, scope, fields)

    async def repoint_source(
        self,
        scope: Scope,
        from_id: str,
        to_id: str,
        *,
        authorization: Authorization,
        request_id: str,
        page_size: int | None = None,
        max_records: int | None = None,
        cursor: str | None = None,
    ) -> RepointResult:
        """One page of moving a source to another id. While the answer has a ``cursor``, ask again with it."""
        fields = {
            "request_id": request_id,
            "from": from_id,
            "to": to_id,
            "authorization": authorization,
            "page_size": page_size,
            "max_records": max_records,
            "cursor": cursor,
        }
        return await self._ask("RepointSource", RepointSourceInput, RepointResult, scope, fields)

    async def rename_sources(
        self,
        scope: Scope,
        *,
        authorization: Authorization,
        request_id: str,
        renames: Sequence[tuple[str, str]] | None = None,
        prefix: tuple[str, str] | None = None,
        continue_on_error: bool = False,
    ) -> RenameSourcesResult:
        """Move many sources, each whole: pairs of (from, to), or all whose id begins with a prefix: ("old/", "new/")."""
        fields = {
            "request_id": request_id,
            "authorization": authorization,
            "renames": None if renames is None else [dict(zip(("from", "to"), each, strict=True)) for each in renames],
            "prefix": None if prefix is None else dict(zip(("from", "to"), prefix, strict=True)),
            "continue_on_error": continue_on_error,
        }
        return await self._ask("RenameSources", RenameSourcesInput, RenameSourcesResult, scope, fields)

    async def reindex_corpus(
        self,
        scope: Scope,
        *,
        embedder: str | None = None,
        chunker: str | None = None,
        language: str | None = None,
        retire_after_s: int | None = None,
    ) -> ReindexCorpusResult:
        """Build the corpus anew with another embedder, chunker or language and show that, while readers stay on the old one.
        Takes its time. Where none of them is given, embedder and chunker are those of the workers; the language stays.

        A re-index for the same that a client started is joined; any other that is under way is a `TransientError`.
        """
        fields = {"embedder": embedder, "chunker": chunker, "language": language, "retire_after_s": retire_after_s}
        wanted = self._checked(ReindexCorpusInput, scope, fields)
        answer = await self.runs.joined(
            "ReindexCorpus",
            wanted,
            workflow_id=scope_workflow_id("ReindexCorpus", scope),
            asked_for=repr(tuple(fields.values())),
        )
        return ReindexCorpusResult.model_validate(answer)

    async def reindex_progress(self, scope: Scope) -> ReindexProgress | None:
        """Where the corpus's last re-index is; ``None`` where there was none."""
        found = await self.runs.query("progress", workflow_id=scope_workflow_id("ReindexCorpus", scope))
        return None if found is None else ReindexProgress.model_validate(found)

    async def abort_reindex(self, scope: Scope) -> bool:
        """Give up the re-index that is under way, and what it has built. False where there is none."""
        return await self.runs.update("abort", workflow_id=scope_workflow_id("ReindexCorpus", scope))

    async def set_generation(
        self, scope: Scope, *, generation: int | None = None, pin: bool | None = None
    ) -> SetGenerationResult:
        """Show readers a generation that is retained, or pin them to what they see, or let them go on to the newest."""
        fields = {"generation": generation, "pin": pin}
        return await self._ask("SetGeneration", SetGenerationInput, SetGenerationResult, scope, fields)

    async def collect_garbage(
        self, scope: Scope, *, keep_generations: int | None = None, older_than_s: int | None = None
    ) -> CollectGarbageResult:
        """Free what no reader can be shown any more. Without limits of your own, those of the workers."""
        fields = {"keep_generations": keep_generations, "older_than_s": older_than_s}
        return await self._ask("CollectGarbage", CollectGarbageInput, CollectGarbageResult, scope, fields)

    async def stage(self, scope: Scope, media_type: str, content: "Content | AsyncIterable[bytes]") -> UUID:
        """Hand in content that is too large for a request: bytes, a binary file, or an iterable of bytes.

        The id it returns goes into ``IngestSource(staged=…)`` within a day. Of a file one part at a time is in memory.
        """
        if self.dsn is None:
            raise ValidationError("This client was connected without a dsn: content is staged in the database.")
        from headwater.staged_content import stage_content_async, staging_connection

        async with await staging_connection(self.dsn) as connection:
            staged = await stage_content_async(
                connection, content, scope=scope, media_type=media_type, schema=self.schema
            )
        return staged.id

    async def _ask(
        self,
        workflow: str,
        model: type[WorkflowInput],
        answer: type[Answer],
        scope: Scope,
        fields: Mapping[str, Any],
    ) -> Answer:
        wanted = self._checked(model, scope, fields)
        workflow_id = workflow_id_of(workflow, scope, wanted.get("request_id"))
        return answer.model_validate(await self.runs.answer(workflow, wanted, workflow_id=workflow_id))

    def _checked(self, model: type[WorkflowInput], scope: Scope, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the workflow gets, looked at here as it will be there."""
        said = {"scope": scope, "requested_by": self.requested_by, **fields}
        wanted = {name: _json(value) for name, value in said.items() if value is not None}
        try:
            model.model_validate(wanted)
        except pydantic.ValidationError as error:
            raise first_fault(error) from None
        return wanted


def _json(value: Any) -> Any:
    """``value`` as JSON has it: of models what they hold, under the names of the contract."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return [_json(each) for each in value] if isinstance(value, list | tuple) else value
