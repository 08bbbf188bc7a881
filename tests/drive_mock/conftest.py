"""Each test that asks for an `office` is run against the emulator and against the mock."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drive_mock.installing import Installed, Unavailable, install
from tests.drive_mock.office import Office, open_office
from tests.drive_mock.servers import emulated_server, mock_server
from tests.drive_mock.serving import RunningMock, running_mock


@pytest.fixture(scope="session")
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The mock, for this and later runs. Without it tests are skipped, but not in CI, whose script installs Node."""
    kept = request.config.cache
    cache = kept.mkdir("drive-mock") if kept is not None else tmp_path_factory.mktemp("drive-mock")
    try:
        return install(cache)
    except Unavailable as why:
        if os.environ.get("CI") == "true":
            pytest.fail(str(why), pytrace=False)
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def mock(installed: Installed) -> Iterator[RunningMock]:
    with running_mock(installed) as running:
        yield running


@pytest.fixture(params=["emulator", "mock"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    is_mock = request.param == "mock"
    server = mock_server(request.getfixturevalue("mock")) if is_mock else emulated_server()
    with server as served, open_office(served, tmp_path) as opened:
        yield opened
