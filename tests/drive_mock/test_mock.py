"""The mock is the one that was pinned, ends with whoever started it, and is met where it has nothing to answer."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from select import select

import pytest

from headwater.connectors import Connector, DocumentFault
from headwater.testing import check_connector
from tests.drive_mock.installing import PACKAGE, Installed, pinned
from tests.drive_mock.office import Office, open_office
from tests.drive_mock.servers import mock_server
from tests.drive_mock.serving import RunningMock

CHECKOUT = Path(__file__).parent.parent.parent

# Starts the mock, says its number, and waits to be killed.
HOLDER = """
import sys
from pathlib import Path
from tests.drive_mock.installing import Installed
from tests.drive_mock.serving import running_mock

with running_mock(Installed(Path(sys.argv[1]), Path(sys.argv[2]))) as mock:
    print(mock.pid, flush=True)
    sys.stdin.read()
"""


def test_what_is_installed_is_what_is_pinned(installed: Installed) -> None:
    assert installed.versions() == pinned()


def test_each_pin_is_a_number_and_no_address() -> None:
    for versions in pinned().values():
        for version in versions:
            assert all(part.isdecimal() for part in version.split(".")), version
    assert "://" not in PACKAGE.read_text("utf-8")


def test_the_mock_ends_when_whoever_started_it_is_killed(installed: Installed) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, installed.node, installed.folder],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'retrieval'}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        try:
            mock = os.pidfd_open(int(holder.stdout.readline()))
        finally:
            holder.send_signal(signal.SIGKILL)
    try:
        assert select([mock], [], [], 30)[0]  # readable once the process has ended
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(mock, signal.SIGKILL)
        os.close(mock)


@pytest.fixture
def office(mock: RunningMock, tmp_path: Path) -> Iterator[Office]:
    with mock_server(mock) as server, open_office(server, tmp_path) as opened:
        yield opened


def test_a_document_that_it_cannot_export_is_that_documents_fault(office: Office) -> None:
    """It answers with a page for people where it has no route, which is not Drive's word that something is gone."""
    office.add("note.txt")
    office.add_document("Plan")
    office.follower.sync()
    assert office.follower.names == ["Plan", "note.txt"]
    office.follower.wait = lambda seconds: None  # between its tries

    with pytest.raises(DocumentFault):
        office.follower.fetch("Plan")
    assert office.follower.fetch("note.txt").data == b"Text."


class OfficeCorpus:
    """The office as `check_connector` fills it."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._files: dict[str, str] = {}

    def connect(self) -> Connector:
        return self._office.follower.connect()

    def put(self, name: str, data: bytes) -> None:
        if name in self._files:
            self._office.write(self._files[name], data)
        else:
            self._files[name] = self._office.add(name, data)

    def remove(self, name: str) -> None:
        self._office.trash(self._files.pop(name))


@pytest.mark.long
def test_the_contract_of_connectors_is_kept_on_it(office: Office) -> None:
    """Small pages too, though it tells all changes at once."""
    check_connector(OfficeCorpus(office), memory=office.follower.memory)
