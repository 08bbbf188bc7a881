"""Activities `begin_pass`, `advance_checkpoint` and `end_pass`: the frame around one walk over a connector."""

from temporalio import activity

from activities.containment import contained
from activities.contracts import AdvancedCheckpoint, BeginPass, BegunPass, EndedPass, EndPass, PageRef, Pass
from activities.store import Store
from activities.store.connectors import find_connector
from activities.store.pages import lease
from activities.store.pages.withheld import withheld_reasons
from headwater.contracts import SyncFailure
from headwater.errors import ValidationError


class PassKeeper:
    """Takes, moves and gives back the lease of a connector."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @activity.defn(name="begin_pass", no_thread_cancel_exception=True)
    @contained
    def begin_pass(self, wanted: BeginPass) -> BegunPass:
        connector = find_connector(self._store, wanted.scope, wanted.connector)
        if connector is None:
            raise ValidationError(
                f"Corpus {wanted.scope} has no connector {wanted.connector}: `headwater sync folder PATH --name {wanted.connector}` or "
                f"`headwater connector add drive {wanted.connector}` makes it, with --corpus {wanted.scope}."
            )
        taken = lease.begin_pass(
            self._store,
            connector.connector_id,
            owner=wanted.workflow_id,
            run=f"{wanted.run_id}/{wanted.begun}",
            full=wanted.full,
            actor=wanted.requested_by,
        )
        in_pass = Pass(
            connector_id=connector.connector_id,
            pass_no=taken.pass_no,
            fence=taken.fence,
            full=wanted.full,
            tenant_id=wanted.scope.tenant_id,
        )
        return BegunPass(in_pass=in_pass, next_seq=taken.next_seq)

    @activity.defn(name="advance_checkpoint", no_thread_cancel_exception=True)
    @contained
    def advance_checkpoint(self, page: PageRef) -> AdvancedCheckpoint:
        assert page.fence is not None, "only a pass has a checkpoint"
        return AdvancedCheckpoint(version=lease.advance(self._store, page.page_id, fence=page.fence))

    @activity.defn(name="end_pass", no_thread_cancel_exception=True)
    @contained
    def end_pass(self, ended: EndPass) -> EndedPass:
        end = lease.end_pass(
            self._store,
            ended.in_pass.connector_id,
            fence=ended.in_pass.fence,
            pass_no=ended.in_pass.pass_no,
            paused=ended.paused,
            error=ended.error,
            forget_cursor=ended.forget_cursor,
        )
        withheld = withheld_reasons(self._store, ended.in_pass.connector_id)
        failures = [SyncFailure(source_id=i, state=state, reason=reason) for i, state, reason in end.failures]
        return EndedPass(generation=end.generation, failed=end.failed, failures=failures, withheld=withheld)
