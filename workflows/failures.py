"""Why a workflow failed, without what Temporal wrapped around it."""

from collections.abc import Iterator
from contextlib import contextmanager

from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception


def cause_of(error: BaseException, *, cancelled: str = "The workflow was cancelled.") -> ApplicationError:
    """The innermost cause, as it was said where it happened; ``cancelled`` if somebody cancelled."""
    if is_cancelled_exception(error):
        return ApplicationError(cancelled, type="Cancelled", non_retryable=True)
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ApplicationError):
        return ApplicationError(error.message, *error.details, type=error.type, non_retryable=True)
    return ApplicationError(str(error), type=type(error).__name__, non_retryable=True)


@contextmanager
def told_by_cause() -> Iterator[None]:
    """An activity that fails in here fails the workflow with its cause. A cancellation stays one."""
    try:
        yield
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        raise cause_of(error) from None
