"""One page of a move, as `RepointSource` and `RenameSources` take it: the store first, then the handlers of hosts."""

from dataclasses import dataclass
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.contracts import Done
    from activities.contracts.repoint import MovedPage, MovePage, NoteFailedMove, failed_rename
    from headwater import errors
    from headwater.contracts import FailedRename
    from headwater.contracts.repoint import MoveLayerInput
    from headwater.models import Authorization, Scope
    from workflows.act import act
    from workflows.failures import cause_of
    from workflows.handlers import call_handler

# By the type that an activity raises; what is missing here has the code of the root.
CODES: Final = {
    each.__name__: each.code
    for each in (
        errors.AccessError,
        errors.LimitError,
        errors.PermanentError,
        errors.ScopeError,
        errors.StoreError,
        errors.ValidationError,
    )
} | {"InvalidInput": errors.ValidationError.code, "MoveRefused": errors.PermanentError.code}


@dataclass(frozen=True)
class Mover:
    """Moves pages under one request, in the name of whoever asked for it."""

    scope: Scope
    request_no: int
    authorization: Authorization
    requested_by: str | None

    async def page(
        self,
        from_id: str,
        to_id: str,
        *,
        step: str,
        page_size: int,
        after: str | None = None,
        max_records: int | None = None,
        is_prefix: bool = False,
        passes_over: bool = False,
    ) -> tuple[MovedPage, dict[str, int]]:
        """What the page did, and how many records each handler changed.

        Handlers are called for the first page of a move, whatever it found, and for those after it that did something.
        """
        wanted = MovePage(
            scope=self.scope,
            request_no=self.request_no,
            step=step,
            from_id=from_id,
            to_id=to_id,
            is_prefix=is_prefix,
            authorization=self.authorization,
            page_size=page_size,
            max_records=max_records,
            after=after,
            passes_over=passes_over,
            requested_by=self.requested_by,
        )
        moved = await act("move_page", wanted, MovedPage, summary=step)
        if after is not None and not moved.had_work:
            return moved, {}
        told = MoveLayerInput(
            scope=self.scope, from_id=from_id, to_id=to_id, is_prefix=is_prefix, after=after or None, until=moved.until
        )
        return moved, {
            handler.kind: await call_handler(
                handler, told, task="move", did="changed", stays="What was moved stays moved."
            )
            for handler in moved.handlers
        }

    async def note_failure(self, failure: FailedRename, *, step: str) -> None:
        """Audits that a pair was not moved. ``step`` is completed by the run: sent again, a request may fail again."""
        noted = NoteFailedMove(
            scope=self.scope,
            request_no=self.request_no,
            step=f"{step} failed in {workflow.info().run_id}",
            failure=failure,
            requested_by=self.requested_by,
        )
        await act("note_failed_move", noted, Done)


def is_failure(error: BaseException) -> bool:
    """Whether a page failed, rather than was cancelled."""
    return isinstance(error, ActivityError | ApplicationError) and not is_cancelled_exception(error)


def failed_by(error: BaseException, from_id: str, to_id: str) -> FailedRename:
    cause = cause_of(error)
    code = CODES.get(cause.type or "", errors.HeadwaterError.code)
    return failed_rename(from_id, to_id, cause.message, code)
