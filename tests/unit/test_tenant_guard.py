"""A worker that serves some tenants does nothing for the others, whichever step it is asked for."""

from typing import Any

import pytest
from pydantic import BaseModel
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities import contracts
from activities.contracts import BatchRef, BeginPass, EndPass, ListPage, PageRef, Pass
from headwater.models import Scope
from workers.tenant_guard import tenant_guards, tenant_of


def _inputs(tenant: str) -> list[BaseModel]:
    in_pass = Pass(connector_id=1, pass_no=1, fence=1, tenant_id=tenant)
    return [
        ListPage(in_pass=in_pass, seq=1, page_size=100),
        PageRef(in_pass=in_pass, page_id=1),
        BatchRef(in_pass=in_pass, page_id=1, batch_no=1),
        EndPass(in_pass=in_pass),
    ]


def _begin(tenant: str) -> BeginPass:
    scope = Scope(tenant_id=tenant, resource_id="docs", corpus_id="handbook")
    return BeginPass(scope=scope, connector="docs", workflow_id="w", run_id="r")


class _Work(ActivityInboundInterceptor):
    """Where an activity would be done."""

    def __init__(self) -> None:
        self.done = 0

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self.done += 1
        return "done"


async def _ask(work: _Work, *arguments: object) -> Any:
    (guard,) = tenant_guards(["t1", "t2"])
    asked = ExecuteActivityInput(fn=lambda *_: None, args=arguments, executor=None, headers={})
    return await guard.intercept_activity(work).execute_activity(asked)


@pytest.mark.parametrize("argument", [_begin("t1"), *_inputs("t2")], ids=lambda argument: type(argument).__name__)
async def test_its_own_tenants_are_served(argument: BaseModel) -> None:
    work = _Work()
    assert await _ask(work, argument) == "done"
    assert work.done == 1


@pytest.mark.parametrize("argument", [_begin("t3"), *_inputs("t3")], ids=lambda argument: type(argument).__name__)
async def test_another_tenants_task_fails_for_good_before_anything_is_done(argument: BaseModel) -> None:
    work = _Work()
    with pytest.raises(ApplicationError, match=r"does not serve tenant t3; see HEADWATER_TENANTS\.$") as refused:
        await _ask(work, argument)
    assert (refused.value.type, refused.value.non_retryable, work.done) == ("AccessError", True, 0)


@pytest.mark.parametrize("arguments", [(_inputs("")[0],), ("text",), ()], ids=["a pass of before", "text", "nothing"])
async def test_a_task_that_names_no_tenant_is_refused(arguments: tuple[object, ...]) -> None:
    work = _Work()
    with pytest.raises(ApplicationError, match=r"names none: start its workflow again\.$") as refused:
        await _ask(work, *arguments)
    assert (refused.value.type, refused.value.non_retryable, work.done) == ("AccessError", True, 0)


def test_a_worker_for_everybody_is_not_slowed_down() -> None:
    assert tenant_guards([]) == []


def test_every_input_of_an_activity_names_its_tenant() -> None:
    """A new one that does not would be refused by every worker with a limit."""
    known = {BeginPass, *map(type, _inputs("t1"))}
    named = {
        each
        for each in vars(contracts).values()
        if isinstance(each, type) and "in_pass" in vars(each).get("__annotations__", {})
    }
    assert named - known == {contracts.BegunPass}  # what begin_pass answers
    assert [tenant_of(each) for each in (_begin("t1"), *_inputs("t1"))] == ["t1"] * 5
