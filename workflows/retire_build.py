"""`RetireBuild`: a build that readers were moved away from is kept for a while, then may be dropped."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts import Done
    from activities.contracts.reindex import RetireBuildInput, RetiredBuild
    from workflows.act import act


@workflow.defn(name="RetireBuild")
class RetireBuild:
    @workflow.run
    async def run(self, ended: RetireBuildInput) -> Done:
        """A build that is shown again meanwhile is left alone; one that ended later than thought is kept for longer."""
        left_s = ended.after_s
        while left_s > 0:
            await workflow.sleep(timedelta(seconds=left_s))
            left_s = (await act("retire_build", ended, RetiredBuild)).left_s
        if ended.after_s <= 0:
            await act("retire_build", ended, RetiredBuild)
        return Done()
