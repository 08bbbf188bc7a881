"""What another service asks us to wait is waited by Temporal, beyond what its own backoff would be."""

from concurrent.futures import ThreadPoolExecutor

from temporalio import activity, workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.containment import contained
from headwater.connectors import Throttled
from workflows.policies import POLICIES

POLICY = POLICIES["list_page"]
ASKED_S = 600


class Throttling:
    @activity.defn(name="throttling")
    @contained
    def ask(self) -> int:
        attempt = activity.info().attempt
        if attempt < 3:
            raise Throttled("Fewer calls.", retry_after_s=ASKED_S if attempt == 1 else None)
        return attempt


@workflow.defn(name="Asking", sandboxed=False)
class Asking:
    @workflow.run
    async def run(self) -> float:
        began = workflow.now()
        await workflow.execute_activity(
            "throttling", start_to_close_timeout=POLICY.start_to_close, retry_policy=POLICY.retry
        )
        return (workflow.now() - began).total_seconds()


async def test_a_throttle_is_waited_out_as_told_and_otherwise_as_the_policy_says(skipping: WorkflowEnvironment) -> None:
    assert POLICY.retry.maximum_interval is not None and POLICY.retry.maximum_interval.total_seconds() < ASKED_S
    with ThreadPoolExecutor(1) as pool:
        async with Worker(
            skipping.client, task_queue="q", workflows=[Asking], activities=[Throttling().ask], activity_executor=pool
        ):
            took_s: float = await skipping.client.execute_workflow(
                "Asking", id="asking", task_queue="q", result_type=float
            )
    assert ASKED_S <= took_s < ASKED_S + POLICY.retry.maximum_interval.total_seconds()
