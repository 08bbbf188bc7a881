"""The story on an emulated Google Drive: whoever loses a document there finds it no more. Each step checks its own outcome."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.demo.commands import Headwater
from tests.demo.drive_office import AGNES, INES, MARA, ROBOT, STAFF, TO_FEW, DriveOffice, drive_office
from tests.demo.failure import DemoFailure
from tests.demo.narration import Narration
from tests.drive.serving import RunningDrive, running_drive

CORPUS: Final = "tarnfield/drive/handbook"
CONNECTOR: Final = "office"
LEAVE_QUESTION: Final = "How many days of annual leave do I have?"
PAY_QUESTION: Final = "What is the salary range of a level 4 engineer?"
PARKING_QUESTION: Final = "Where do I park a car in Ghent?"
BICYCLE_QUESTION: Final = "How much does a leased bicycle cost at most?"
BICYCLE: Final = "people/bicycle-scheme.txt"
READS: Final = ("drive.files.*:media", "exportLink", "downloadUri")
_FIRST: Final = re.compile(r"\[(drive:[^#\]]+)#")
_COUNTS: Final = re.compile(r"([\d,]+) (published|unchanged|deleted|failed|chunks? embedded|reused)")


def tell(headwater: Headwater, narration: Narration, workplace: Path) -> None:
    """All of it, with the emulator in this process and the key of its robot in ``workplace``."""
    office = drive_office()
    with running_drive(office.world) as drive:
        narration.step("Start an emulated Google Drive on this machine, in place of the real one")
        narration.say(
            "A folder of ines's, and who may read what is in it. It is shared with an account of Headwater's too:"
        )
        narration.quote("\n".join(office.tree()))
        narration.seen(f"it listens at {drive.url}")
        narration.step("Start PostgreSQL with pgvector, Temporal and the workers, on this machine only")
        with headwater.up():
            narration.seen(f"running; their data are in {headwater.whereabouts}")
            story = _Story(headwater, narration, office, drive)
            story.add(drive.service_account_file(workplace, ROBOT))
            story.bootstrap()
            story.unshare()
            story.move_away()
            story.move_back()
            story.delete()
    narration.step("Everything that was started has been stopped")


@dataclass(frozen=True)
class _Story:
    headwater: Headwater
    narration: Narration
    office: DriveOffice
    drive: RunningDrive

    def add(self, key: Path) -> None:
        self.narration.step("Point a connector at the folder, with the account's key, and see whether it can be read")
        place = ("--folder-id", self.office.handbook, "--credentials", str(key), "--root-url", self.drive.url)
        self.headwater.show("connector", "add", "drive", CONNECTOR, "--corpus", CORPUS, *place)
        self.headwater.show("connector", "test", CONNECTOR)

    def bootstrap(self) -> None:
        self.narration.step("Sync it for the first time: all is listed, read, cut into passages and embedded")
        documents = sum(not self.office.world.file(each).is_folder for each in self.office.files.values())
        counts = self._sync()
        _expect(
            counts["published"] == documents and counts["failed"] == 0,
            f"{documents} published documents were expected, and the sync reports {counts}.",
        )
        self._seen_answer(
            LEAVE_QUESTION, MARA, "people/Leave", "answers mara; it is a Google document, and came as Markdown"
        )
        self._seen_answer(PAY_QUESTION, AGNES, "hr/pay-bands.md", "answers agnes, with whom its folder is shared")
        self._seen_missing(PAY_QUESTION, MARA, TO_FEW, "of the same folder mara finds nothing, as in Drive")

    def unshare(self) -> None:
        self.narration.step("In Drive, ines takes the folder hr from agnes; sync again")
        self.office.world.unshare(self.office.files["hr"], AGNES, by=INES)
        self._sync_without_reading()
        self._ask(PAY_QUESTION, AGNES)
        self._seen_missing(PAY_QUESTION, AGNES, TO_FEW, "agnes finds nothing of the folder any more")
        self._seen_answer(PAY_QUESTION, INES, "hr/pay-bands.md", "still answers ines, who owns it")

    def move_away(self) -> None:
        offices = self._below("offices/")
        self.narration.step("In Drive, ines moves the folder offices out of the handbook; sync again")
        self._seen_answer(PARKING_QUESTION, MARA, "offices/ghent.md", "answers mara before")
        self.office.world.move(self.office.files["offices"], to=self.office.elsewhere, by=INES)
        counts = self._sync_without_reading()
        _expect(
            counts["deleted"] == len(offices),
            f"{len(offices)} deletions were expected, and the sync reports {counts}.",
        )
        self._ask(PARKING_QUESTION, INES)
        self._expect_missing(PARKING_QUESTION, INES, offices)
        self.narration.seen(
            f"all {len(offices)} documents below it are gone: Drive reported one change, that of the folder"
        )

    def move_back(self) -> None:
        offices = self._below("offices/")
        self.narration.step("ines moves it back; sync again")
        self.office.world.move(self.office.files["offices"], to=self.office.handbook, by=INES)
        counts = self._sync()
        _expect(
            counts["published"] == len(offices),
            f"{len(offices)} documents were expected to be back, and the sync reports {counts}.",
        )
        self._seen_answer(PARKING_QUESTION, MARA, "offices/ghent.md", "answers mara again")

    def delete(self) -> None:
        self.narration.step(f"In Drive, ines deletes {BICYCLE}; sync again")
        self._seen_answer(BICYCLE_QUESTION, MARA, BICYCLE, "answers mara before")
        self.office.world.delete(self.office.files[BICYCLE], by=INES)
        counts = self._sync_without_reading()
        _expect(counts["deleted"] == 1, f"One deletion was expected, and the sync reports {counts}.")
        self._ask(BICYCLE_QUESTION, INES)
        self._expect_missing(BICYCLE_QUESTION, INES, [BICYCLE])
        self.narration.seen(
            "nothing of it is found, by ines neither; this is the nearest passage of those that are left"
        )

    def _sync(self) -> dict[str, int]:
        """What the command says it did. How often Drive was asked is said beside it."""
        before = self.drive.log.mark()
        said = self.headwater.show("sync", "connector", CONNECTOR)
        counts = {
            what.removesuffix("s embedded").removesuffix(" embedded"): int(number.replace(",", ""))
            for number, what in _COUNTS.findall(said)
        }
        asked, read = self.drive.log.count(since=before), self._reads(before)
        self.narration.seen(
            f"Drive was asked {asked} times, {read or 'none'} of them for {'a document' if read == 1 else 'documents'}"
        )
        return counts

    def _sync_without_reading(self) -> dict[str, int]:
        before = self.drive.log.mark()
        counts = self._sync()
        _expect(
            self._reads(before) == 0 and counts["chunk"] == 0,
            f"Nothing was to be read or embedded, and the sync reports {counts}.",
        )
        return counts

    def _reads(self, since: int) -> int:
        return sum(self.drive.log.count(method, since=since) for method in READS)

    def _below(self, folder: str) -> list[str]:
        return [path for path in self.office.files if path.startswith(folder)]

    def _ask(self, question: str, person: str) -> str | None:
        """The question and its answer, shown; the document it comes from."""
        told = _FIRST.search(self.headwater.show(*_search(question, person), "--top-k", "1", lines=6))
        return told and told[1]

    def _seen_answer(self, question: str, person: str, path: str, what: str) -> None:
        answered = self._ask(question, person)
        _expect(answered == self._source(path), f"{path} should answer {person}, and {answered or 'nothing'} did.")
        self.narration.seen(f"{path} {what}")

    def _seen_missing(self, question: str, person: str, paths: "tuple[str, ...] | list[str]", what: str) -> None:
        self._expect_missing(question, person, paths)
        self.narration.seen(what)

    def _expect_missing(self, question: str, person: str, paths: "tuple[str, ...] | list[str]") -> None:
        hits = self.headwater.ask(*_search(question, person), "--top-k", "32")["hits"]
        found = [hit["source_id"] for hit in hits]
        kept = [path for path in paths if self._source(path) in found]
        _expect(bool(found) and not kept, f"{person} should find other things than {kept or 'nothing at all'}.")

    def _source(self, path: str) -> str:
        return f"drive:{self.office.files[path]}"


def _search(question: str, person: str) -> tuple[str, ...]:
    return ("search", question, "--corpus", CORPUS, "--as", person, "--group", STAFF)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise DemoFailure(otherwise)
