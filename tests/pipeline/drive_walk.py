"""Rounds of a random walk: deeds, trouble, a sync of every connector, and a comparison of all that anybody finds."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ActivityError, ApplicationError

from activities.store import Store
from headwater import Retriever
from headwater.contracts import SyncResult
from tests.drive.faults import Fault
from tests.drive.serving import RunningDrive, running_drive
from tests.pipeline.drive_company import OUTSIDER, PEOPLE, ROBOT, Company, Wanted
from tests.pipeline.drive_deeds import BusyCompany
from tests.pipeline.drive_shelf import connect, found_texts, make_corpus
from tests.pipeline.drive_watch import Truth, Watch, Window
from tests.pipeline.harness import SPEC, Pipeline
from tests.pipeline.worker_process import WorkerProcess

DEEDS_A_ROUND: Final = 9
STEPS_A_KILL: Final = 100
SYNC_S: Final = 300  # far longer than it takes: a machine may be busy
GRANT_LASTS: Final = timedelta(seconds=3)
METHODS: Final = (
    "drive.changes.list", "drive.changes.getStartPageToken", "drive.files.list", "drive.files.get",
    "drive.files.get:media", "drive.files.export", "drive.permissions.list", "drive.drives.*", "exportLink",
)  # fmt: skip
REFUSALS: Final = (
    (503, "backendError"), (500, "internalError"), (429, "rateLimitExceeded"), (403, "userRateLimitExceeded"),
)  # fmt: skip

ENDS_WITHOUT_DRIVE: Final = (
    "SharedDriveGone",
    "SourceUnavailable: What answered when asked to read shared drive",  # the refusal was cut short
    "SourceUnavailable: There is no shared drive",  # all was dropped, and then the feed's place was forgotten
)

Syncs = Sequence[asyncio.Task[SyncResult]]
Trouble = Callable[[], Coroutine[Any, Any, None]]


@dataclass
class Walk:
    """A company, the workers of its connectors, and everybody who watches."""

    company: BusyCompany
    drive: RunningDrive
    pipeline: Pipeline
    worker: WorkerProcess
    watch: Watch
    window: Window
    reader: Retriever
    folder: Path
    steps: int = 0
    _kills: int = 0
    _did: list[str] = field(default_factory=list)
    _troubles: list[Trouble] = field(default_factory=list)

    async def round(self) -> None:
        """Some deeds, trouble on the way, and a sync of every connector: then all is as Drive says."""
        self.drive.log.clear()
        for _ in range(DEEDS_A_ROUND):
            self._step()
        self._lose_or_regain_drive()
        await self._trouble()
        await self._settle()
        assert self.watch.faults == [], self._told(self.watch.faults)

    def _step(self) -> None:
        """One deed. What is allowed after it may be shown from then on."""
        with self.company.world.lock:
            self.company.step()
            self._note()
        self.steps += 1

    def _lose_or_regain_drive(self) -> None:
        company = self.company
        if company.may_lose_drive and company.chance.random() < (0.5 if company.is_drive_lost else 0.2):
            with company.world.lock:
                (company.regain_drive if company.is_drive_lost else company.lose_drive)()
                self._note()

    def _note(self) -> None:
        self.window.note(self.company.truth(), self.company.texts())

    # Trouble.

    async def _trouble(self) -> None:
        """Each kind once, in any order, before one comes again. Kills take long, and are spread over the walk."""
        if not self._troubles:
            self._troubles = [
                self.peace, self.fail, self.fail, self.forget_tokens, self.change_meanwhile, self.change_meanwhile,
                self.lose_consent, self.outlive_a_grant, self.list_everything,
            ]  # fmt: skip
            self.company.chance.shuffle(self._troubles)
        if self.steps >= (self._kills + 0.5) * STEPS_A_KILL:
            self._kills += 1
            self._troubles.append(self.kill)
        trouble = self._troubles.pop()
        self._did.append(trouble.__name__)
        await trouble()

    async def peace(self) -> None:
        """Nothing goes wrong."""

    async def fail(self) -> None:
        """A call fails: it is refused, or its answer is cut short, or never comes to its end."""
        chance = self.company.chance
        method, nth = chance.choice(METHODS), chance.randrange(1, 4)
        status, reason = chance.choice(REFUSALS)
        refused = Fault(method, nth=nth, status=status, reason=reason, vocabulary=chance.choice(("errors", "details")))
        broken = (Fault(method, nth=nth, lost_at_bytes=20), Fault(method, nth=nth, cut_at_bytes=20))
        self.drive.faults.add(chance.choice((refused, refused, *broken)))
        await self._results(await self._begin())
        self.drive.faults.clear()

    async def forget_tokens(self) -> None:
        """Drive knows nothing of where a feed was left."""
        status = self.company.chance.choice((400, 410))
        self.drive.faults.add(Fault("drive.changes.list", status=status, reason="invalid"))
        await self._results(await self._begin())
        self.drive.faults.clear()

    async def list_everything(self) -> None:
        await self._results(await self._begin(full=True))

    async def change_meanwhile(self) -> None:
        """People go on while the connectors read."""
        syncs = await self._begin()
        for _ in range(DEEDS_A_ROUND):
            await self._requests(self.company.chance.randrange(1, 8), of=syncs)
            self._step()
        await self._results(syncs)

    async def kill(self) -> None:
        """``kill -9`` of the workers in the middle of a sync; others take over."""
        syncs = await self._begin()
        await self._requests(self.company.chance.randrange(1, 30), of=syncs)
        self.worker.kill()
        self._step()
        await self.worker.start()
        await self._results(syncs)

    async def lose_consent(self) -> None:
        """The robot is let in no more, in the middle of a sync: the connectors stop and say so, and nothing is lost."""
        syncs = await self._begin()
        await self._requests(self.company.chance.randrange(1, 20), of=syncs)
        self.drive.tokens.revoke(ROBOT)
        await self._ends(syncs)
        before = await self._found()
        ends = await self._ends(await self._begin())
        is_told = [end.startswith("SourceUnavailable") for end in ends]
        assert is_told == [True] * len(self.company.connectors), self._told(
            [f"without consent the syncs ended with {ends}"]
        )
        after, truth = await self._found(), self.company.truth()
        lost = [(email, *set(before[email]) - set(after[email])) for email in PEOPLE]
        assert not [each for email, *ids in lost for each in ids if each in truth[email]], self._told(map(str, lost))
        self.drive.tokens.consent(ROBOT)
        self.drive.authorized_user_file(self.folder, ROBOT)

    async def outlive_a_grant(self) -> None:
        """Somebody may read a document for a moment: the moment is over when it is, whatever no connector knows of it."""
        world = self.company.world
        ends = world.clock.now() + GRANT_LASTS
        if held := sorted(self.company.held()):
            with world.lock:
                world.share(self.company.chance.choice(held), OUTSIDER, expires=ends)
                self._note()
            await self._settle()
            await _until(lambda: world.clock.now() > ends)
            await self._compare()

    # Syncs.

    async def _begin(self, **fields: Any) -> Syncs:
        """A sync of every connector, all at once."""
        handles = [await self.pipeline.start(wanted, **fields) for wanted in self.company.connectors]
        return [asyncio.create_task(handle.result()) for handle in handles]

    async def _results(self, syncs: Syncs) -> None:
        """All did well; but for those that find a shared drive gone, which the next pass confirms."""
        ends = await self._ends(syncs)
        if self.company.is_drive_lost:
            ends = [end for end in ends if not end.startswith(ENDS_WITHOUT_DRIVE)]
        assert ends == [], self._told(ends)

    async def _ends(self, syncs: Syncs) -> list[str]:
        """The error that each ended with; nothing of one that did well."""
        async with asyncio.timeout(SYNC_S):
            ends = await asyncio.gather(*syncs, return_exceptions=True)
        return [_told_by(end) for end in ends if isinstance(end, BaseException)]

    async def _requests(self, count: int, *, of: Syncs) -> None:
        """Returns when Drive was asked so many times more, or the syncs have ended."""
        log = self.drive.log
        wanted = len(log.of()) + count
        await _until(lambda: len(log.of()) >= wanted or all(sync.done() for sync in of))

    async def _settle(self) -> None:
        """Nothing happens any more, and all is synced: twice where a drive is gone, which is not believed at once.

        One after the other: what two connectors hand over while both are at work is read by the next pass.
        """
        for _ in range(2 if self.company.is_drive_lost else 1):
            for wanted in self.company.chance.sample(self.company.connectors, len(self.company.connectors)):
                handle = await self.pipeline.start(wanted)
                await self._results([asyncio.create_task(handle.result())])
        self.window.close(await self._compare())

    async def _compare(self) -> Truth:
        """What everybody finds is what Drive lets them read. A grant may end while they are asked: then once more."""
        while True:
            truth = self.company.truth()
            found = await self._found()
            if self.company.truth() == truth:
                break
        wrong = [
            f"{email} finds {found[email].get(each)!r}, not {truth[email].get(each)!r}: {self.company.described(each)}"
            for email in PEOPLE
            for each in sorted({*found[email], *truth[email]})
            if found[email].get(each) != truth[email].get(each)
        ]
        states = self.pipeline.states()
        for each in sorted({each for email in PEOPLE for each in found[email].keys() ^ truth[email].keys()}):
            calls = [f"{call.method} {call.status}" for call in self.drive.log.of(file_id=each)]
            wrong.append(f"{each} is {states.get(f'drive:{each}')}; asked for in this round: {', '.join(calls)}")
        assert wrong == [], self._told(wrong)
        return truth

    async def _found(self) -> Truth:
        return await asyncio.to_thread(
            lambda: {email: found_texts(self.reader, self.company.world, email) for email in PEOPLE}
        )

    def _told(self, wrong: Any) -> str:
        return "\n".join([f"Seed {self.company.seed}, step {self.steps}, after {', '.join(self._did)}:", *wrong])


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(SYNC_S):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.005)


def _told_by(error: BaseException) -> str:
    cause: BaseException | None = error.cause if isinstance(error, WorkflowFailureError) else error
    while isinstance(cause, ActivityError):
        cause = cause.cause
    return f"{cause.type}: {cause.message}" if isinstance(cause, ApplicationError) else repr(cause)


@asynccontextmanager
async def running_walk(
    company: BusyCompany, dsn: str, client: Client, temporal: str, folder: Path
) -> AsyncIterator[Walk]:
    """A walk that begins with connectors that have synced nothing."""
    window = Window()
    with (
        Store.open(dsn) as store,
        running_drive(company.world) as drive,
        Retriever.connect(dsn, embedder=SPEC) as reader,
    ):
        scope_id = make_corpus(store)
        credentials = drive.authorized_user_file(folder, ROBOT)
        for wanted in company.connectors:
            connect(store, scope_id, wanted.name, drive, credentials=credentials, **_settings(company, wanted))
        async with WorkerProcess(dsn, temporal, folder / "journal") as worker:
            with Watch(dsn, company.world, window) as watch:
                yield Walk(company, drive, Pipeline(store, client), worker, watch, window, reader, folder)


def _settings(company: Company, wanted: Wanted) -> dict[str, Any]:
    settings: dict[str, Any] = {"discoverable_as_everyone": company.everyone_finds}
    if wanted.folders:
        settings["folder_ids"] = list(wanted.folders)
    return settings | ({"drive_id": wanted.drive_id} if wanted.drive_id else {})
