"""What the client makes of what Temporal's SDK raises."""

import asyncio

import pytest
from temporalio.client import WorkflowUpdateRPCTimeoutOrCancelledError

from headwater.client.runs import told
from headwater.errors import TransientError


def fail_an_update(cause: BaseException) -> None:
    """As the SDK does it, whether the server was slow or the caller's task was cancelled."""
    with told("workflow"):
        raise WorkflowUpdateRPCTimeoutOrCancelledError from cause


def test_a_call_that_is_cancelled_ends_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        fail_an_update(asyncio.CancelledError())


def test_an_answer_that_does_not_come_may_be_asked_for_again() -> None:
    with pytest.raises(TransientError, match="ask again"):
        fail_an_update(TimeoutError())
