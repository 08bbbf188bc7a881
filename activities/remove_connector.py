"""Activities of `RemoveConnector`: its lease, what it sweeps or leaves behind, and the end of its rows."""

from temporalio import activity

from activities.containment import contained
from activities.contracts import BeginPass, BegunPass, ListedPage, ListPage, Pass
from activities.contracts.connectors import DropConnector, KeepSources, KeptSources, RemovedConnector
from activities.heartbeat import heartbeating
from activities.store import Store, connector_removal
from activities.store.connectors import connector_by_id, find_connector
from activities.store.pages import listing
from activities.store.pages.listing import Draft, NewPage, StoredPage
from activities.store.scopes import live_build_of
from headwater.errors import ValidationError


class ConnectorRemover:
    """Ends connectors."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @activity.defn(name="begin_removal", no_thread_cancel_exception=True)
    @contained
    def begin_removal(self, wanted: BeginPass) -> BegunPass:
        connector = find_connector(self._store, wanted.scope, wanted.connector)
        if connector is None:
            raise ValidationError(
                f"Corpus {wanted.scope} has no connector {wanted.connector}: there is nothing to remove."
            )
        taken = connector_removal.begin_removal(
            self._store,
            connector.connector_id,
            owner=wanted.workflow_id,
            run=wanted.run_id,
            actor=wanted.requested_by,
        )
        in_pass = Pass(
            connector_id=connector.connector_id,
            pass_no=taken.pass_no,
            fence=taken.fence,
            full=True,
            tenant_id=wanted.scope.tenant_id,
        )
        return BegunPass(in_pass=in_pass, next_seq=taken.next_seq)

    @activity.defn(name="sweep_page", no_thread_cancel_exception=True)
    @contained
    def sweep_page(self, wanted: ListPage) -> ListedPage:
        """A page of what the pass did not see, which is everything. Publishing it deletes as a sync would."""
        run = wanted.in_pass
        stored = listing.find_page(self._store, connector_id=run.connector_id, pass_no=run.pass_no, seq=wanted.seq)
        if stored is None:
            stored = self._swept(wanted)
        return ListedPage(page_id=stored.page_id, is_last=stored.is_last, items=stored.items)

    @activity.defn(name="keep_sources", no_thread_cancel_exception=True)
    @contained
    def keep_sources(self, wanted: KeepSources) -> KeptSources:
        run = wanted.in_pass
        row = connector_by_id(self._store, run.connector_id)
        after = connector_removal.keep_page(
            self._store,
            run.connector_id,
            fence=run.fence,
            scope_id=row.scope_id,
            name=row.name,
            after=wanted.after,
        )
        return KeptSources(after=after)

    @activity.defn(name="drop_connector", no_thread_cancel_exception=True)
    @contained
    def drop_connector(self, wanted: DropConnector) -> RemovedConnector:
        run = wanted.in_pass
        with heartbeating():
            removed = connector_removal.drop_connector(
                self._store,
                run.connector_id,
                fence=run.fence,
                deleted=wanted.deleted,
                actor=wanted.requested_by,
            )
        return RemovedConnector(kept=removed.kept, deleted=removed.deleted)

    def _swept(self, wanted: ListPage) -> StoredPage:
        run, store = wanted.in_pass, self._store
        begins = listing.position(
            store, connector_id=run.connector_id, pass_no=run.pass_no, seq=wanted.seq, fence=run.fence
        )
        row = connector_by_id(store, run.connector_id)
        return listing.record_page(
            store,
            NewPage(
                connector_id=run.connector_id,
                scope_id=row.scope_id,
                build_id=live_build_of(store, row.scope_id).build_id,
                pass_no=run.pass_no,
                seq=wanted.seq,
                fence=run.fence,
                rule_version=row.rule_version,
                page_size=wanted.page_size,
                sweep_after=begins.sweep_after,
                draft=Draft(cursor=begins.cursor, is_complete=True),
            ),
        )
