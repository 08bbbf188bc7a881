"""Why a workflow failed, without what Temporal wrapped around it."""

from temporalio.exceptions import ApplicationError, is_cancelled_exception


def cause_of(error: BaseException, *, cancelled: str = "The workflow was cancelled.") -> ApplicationError:
    """The innermost cause, as it was said where it happened; ``cancelled`` if somebody cancelled."""
    if is_cancelled_exception(error):
        return ApplicationError(cancelled, type="Cancelled", non_retryable=True)
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ApplicationError):
        return ApplicationError(error.message, *error.details, type=error.type, non_retryable=True)
    return ApplicationError(str(error), type=type(error).__name__, non_retryable=True)
