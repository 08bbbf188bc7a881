"""Homes of every kind: odd names, other owners, old data, full disks, numbers and ports that others have by now."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from tests.acceptance.attached import Attached, command
from tests.acceptance.home_processes import lent_folders, processes_of, wait_until
from workers.embedded import EmbeddedError, attach, ensure_reader_login
from workers.guard.account import server_account
from workers.guard.binaries import copy_postgres, postgres_programs
from workers.guard.home import Home
from workers.guard.place import place_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
is_root = os.geteuid() == 0

_NAMES = [
    b"a b/" + "手冊 – ümläut".encode() + b"/#1?%41&'\"$HOME;*/" + b"x" * 120,
    b"no utf-8 \xff\xfe",
]


@pytest.mark.parametrize("name", _NAMES, ids=["long, with spaces and signs", "bytes"])
def test_any_path_and_any_locale_will_do(made_home: Path, tmp_folder: Path, name: bytes) -> None:
    home = tmp_folder / os.fsdecode(name)
    home.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", made_home, home], check=True)
    shutil.rmtree(home / "postgres")  # made anew under this name
    attached = Attached(home, temporal=True, environment={"LC_ALL": "xx_YY.nonsense", "LANG": "zz"})
    services = attached.attached()
    with psycopg.connect(services["database_url"]) as connection:
        assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)
    assert services["temporal_address"]
    attached.leave()
    assert processes_of(home) == {}


def test_a_home_and_its_secrets_are_for_its_owner(lent_home: Path) -> None:
    with attach(lent_home, temporal=False):
        modes = {name: _mode(lent_home / name) for name in ("services.json", "postgres.password")}
        written = json.loads((lent_home / "services.json").read_text())
    assert _mode(lent_home) == 0o700
    assert modes == {"services.json": 0o600, "postgres.password": 0o600}
    assert {"database_url", "reader_url", "temporal_address"} <= written.keys()


def test_everything_listens_on_loopback_only(home: Path) -> None:
    with attach(home):
        assert _listening_addresses(processes_of(home).keys()) == {"0100007F"}


def test_postgres_wants_the_password(home: Path) -> None:
    with attach(home, temporal=False) as services, pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(services.database_url.replace("headwater:", "headwater:wrong", 1))


def test_the_readers_login_reads_one_schema_and_writes_nothing(home: Path) -> None:
    with attach(home, temporal=False) as services:
        with psycopg.connect(services.database_url, autocommit=True) as owner:
            for statement in (
                "CREATE ROLE mine_reader", "CREATE SCHEMA mine", "GRANT USAGE ON SCHEMA mine TO mine_reader",
                "CREATE TABLE mine.open AS SELECT 1 AS n", "GRANT SELECT ON mine.open TO mine_reader",
                "CREATE TABLE mine.closed AS SELECT 1 AS n",
            ):  # fmt: skip
                owner.execute(statement)
        for _again in range(2):
            assert ensure_reader_login(services.database_url, "mine") == services.reader_url
        with psycopg.connect(services.reader_url, autocommit=True) as reader:
            assert reader.execute("SELECT n FROM mine.open").fetchone() == (1,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute("SELECT n FROM mine.closed")
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                reader.execute("CREATE TEMPORARY TABLE t (n int)")


async def test_temporal_keeps_a_week_and_knows_the_search_attributes(home: Path) -> None:
    with attach(home) as services:
        assert services.temporal_address
        client = await Client.connect(services.temporal_address)
        described = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace="default"))
        known = await client.operator_service.list_search_attributes(ListSearchAttributesRequest(namespace="default"))
    assert described.config.workflow_execution_retention_ttl.ToTimedelta().days == 7
    assert {"HeadwaterTenant", "HeadwaterCorpus", "HeadwaterPhase"} <= known.custom_attributes.keys()


def test_a_stale_pid_file_whose_number_is_somebody_elses_is_no_obstacle(home: Path) -> None:
    account = server_account(home / "postgres")
    stranger = subprocess.Popen(["sleep", "300"], user=account.uid if account else None)
    try:
        (home / "postgres" / "postmaster.pid").write_text(f"{stranger.pid}\n{home}/postgres\n1\n5432\n\n127.0.0.1\n\n")
        with attach(home, temporal=False) as services:
            psycopg.connect(services.database_url).close()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_ports_that_are_taken_are_picked_anew(home: Path) -> None:
    with attach(home) as services:
        before = services
    ports = json.loads((home / "ports.json").read_text()).values()
    with closing(_Listeners(ports)), attach(home) as services:
        psycopg.connect(services.database_url).close()
        assert services.database_url != before.database_url
        assert services.temporal_address != before.temporal_address


def test_a_home_of_another_major_version_says_what_to_do(home: Path) -> None:
    (home / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedError, match=r"made by PostgreSQL 17, and this installation brings 18: move"):
        _attach(home)
    assert processes_of(home) == {}


@pytest.mark.parametrize("kept", [None, 0, 7], ids=["gone", "empty", "shortened"])
def test_a_lost_password_file_is_made_anew(home: Path, kept: int | None) -> None:
    with attach(home, temporal=False) as services, psycopg.connect(services.database_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE kept (n int)")
        owner.execute("CREATE ROLE headwater_reader")
        ensure_reader_login(services.database_url, "headwater")
    if kept is None:
        (home / "postgres.password").unlink()
    else:
        os.truncate(home / "postgres.password", kept)
    with attach(home, temporal=False) as services:
        with psycopg.connect(services.database_url) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
        psycopg.connect(ensure_reader_login(services.database_url, "headwater")).close()


@pytest.mark.parametrize("kept", [0, 3])
@pytest.mark.parametrize("name", ["ports.json", "guard.json", "services.json"])
def test_a_file_that_a_power_cut_shortened_is_written_anew(home: Path, name: str, kept: int) -> None:
    """A killed guard leaves all of them behind; the one that ends takes two away."""
    file = home / name
    file.write_text('{"postgres": 1, "trouble": "", "database_url": "", "temporal_address": null}'[:kept])
    with attach(home, temporal=False) as services:
        psycopg.connect(services.database_url).close()
        assert services.trouble() is None
        assert json.loads(file.read_text())
    assert json.loads((home / "ports.json").read_text()).keys() == {"postgres"}


@pytest.mark.parametrize("name", ["guard.json", "ports.json"])
def test_a_file_that_is_lost_while_the_servers_run_disturbs_nobody(home: Path, name: str) -> None:
    with attach(home, temporal=False) as services:
        os.truncate(home / name, 0)
        assert services.trouble() is None
        with attach(home, temporal=True) as both:
            assert both.database_url == services.database_url
            assert both.temporal_address


def test_a_home_that_is_no_folder_says_so(tmp_folder: Path) -> None:
    in_the_way = tmp_folder / "file"
    in_the_way.touch()
    for home in (in_the_way, in_the_way / "below"):
        with pytest.raises(EmbeddedError, match="set HEADWATER_HOME"):
            _attach(home)


@pytest.mark.skipif(is_root, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_says_so(tmp_folder: Path) -> None:
    tmp_folder.chmod(0o500)
    with pytest.raises(EmbeddedError, match="cannot be written by this user"):
        _attach(tmp_folder / "home")


def test_a_full_disk_says_so_and_the_home_works_once_there_is_room(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(20_000_000))
    with pytest.raises(EmbeddedError, match=r"disk that holds .* is full; free some space"):
        _attach(small_disk / "home")
    assert processes_of(small_disk) == {}
    filler.unlink()
    with command(small_disk / "home") as services:
        psycopg.connect(services["database_url"]).close()


def test_a_disk_that_fills_up_fails_the_statement_and_not_the_server(small_disk: Path) -> None:
    with (
        attach(small_disk / "home", temporal=False) as services,
        psycopg.connect(services.database_url, autocommit=True) as connection,
    ):
        with pytest.raises(psycopg.errors.DiskFull):
            connection.execute("CREATE TABLE big AS SELECT repeat(i::text, 1000) FROM generate_series(1, 1000000) i")
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(not is_root, reason="only root lends its data to another account")
def test_root_lends_postgres_a_folder_and_says_so_once(lent_home: Path) -> None:
    first, second = Attached(lent_home), Attached(lent_home)
    notices = first.attached()["notices"] + second.attached()["notices"]
    lent = Path((lent_home / "postgres.location").read_text())
    first.leave()
    second.leave()
    assert len(notices) == 1 and str(lent) in notices[0]
    assert lent.stat().st_uid != 0 and lent.parent.parent == Path("/var/lib/headwater")
    assert processes_of(lent_home) == {}


@pytest.mark.skipif(not is_root, reason="only root lends its data to another account")
@pytest.mark.parametrize("lost", [None, 3], ids=["empty", "shortened"])
def test_a_lent_folder_is_found_without_its_address(lent_home: Path, lost: int | None) -> None:
    with attach(lent_home, temporal=False) as services, psycopg.connect(services.database_url) as owner:
        owner.execute("CREATE TABLE kept (n int)")
    record = lent_home / "postgres.location"
    told = record.read_text()
    os.truncate(record, 0 if lost is None else len(told) - lost)
    with attach(lent_home, temporal=False) as services, psycopg.connect(services.database_url) as owner:
        assert owner.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    assert record.read_text() == told


@pytest.mark.parametrize(
    "told", ["", "/", "/var/lib/headw", "/var/lib/headwater/postgres", "/tmp/0123456789abcdef/postgres"]
)
def test_a_spoilt_record_names_nothing_that_tests_would_delete(tmp_path: Path, told: str) -> None:
    record = tmp_path / "postgres.location"
    record.write_text("/var/lib/headwater/0123456789abcdef/postgres")
    assert lent_folders(tmp_path) == [Path("/var/lib/headwater/0123456789abcdef")]
    record.write_text(told)
    assert lent_folders(tmp_path) == []


@pytest.mark.skipif(not is_root, reason="only root lends programs to another account")
def test_root_lends_postgres_programs_that_its_account_cannot_reach(tmp_folder: Path) -> None:
    closed = tmp_folder / "closed"
    closed.mkdir(mode=0o700)
    unreachable = copy_postgres(postgres_programs(), closed / "programs")
    place = place_of(Home(closed), unreachable, shared=tmp_folder / "shared")
    assert place.account
    subprocess.run(
        [place.programs.program("initdb"), "--version"],
        user=place.account.uid,
        group=place.account.gid,
        extra_groups=[],
        check=True,
    )


@pytest.mark.skipif(
    not is_root, reason="only root can become somebody else; as anybody else all of these tests are this one"
)
def test_an_ordinary_user_needs_nothing_else(tmp_folder: Path) -> None:
    account = server_account(tmp_folder)
    python = Path("/usr/bin/python3")
    assert account
    if not python.exists() or _version_of(python) != sys.version_info[:2]:
        pytest.skip("this Python belongs to root, and there is no other of its version")
    os.chown(tmp_folder, account.uid, account.gid)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    attached = Attached(tmp_folder / "home", temporal=True, python=python, user=account.uid, environment={"PATH": path})
    services = attached.attached()
    psycopg.connect(services["database_url"]).close()
    assert services["notices"] == []
    assert {Path(f"/proc/{pid}").stat().st_uid for pid in processes_of(tmp_folder / "home")} == {account.uid}
    attached.leave()
    assert processes_of(tmp_folder) == {}


@pytest.fixture
def small_disk(tmp_folder: Path) -> Iterator[Path]:
    """A file system of 60 MB: room for a home, and not for much in it."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=60m,mode=711", "tmpfs", tmp_folder], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    try:
        (tmp_folder / "home").mkdir(mode=0o711)
        yield tmp_folder
    finally:
        wait_until(lambda: not processes_of(tmp_folder), "everything on the small disk has ended")
        subprocess.run(["umount", tmp_folder], check=True)


class _Listeners:
    """Strangers on these ports."""

    def __init__(self, ports: Iterable[int]) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", port)) for port in ports]

    def close(self) -> None:
        for listener in self._sockets:
            listener.close()


def _attach(home: Path) -> None:
    with attach(home, temporal=False):
        pytest.fail("attached")


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def _listening_addresses(pids: Iterable[int]) -> set[str]:
    """The kernel's way of writing them: 127.0.0.1 is 0100007F."""
    links = [os.readlink(link) for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir()]
    rows = [
        line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in links}


def _version_of(python: Path) -> tuple[int, ...]:
    asked = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, check=True)
    return tuple(map(int, asked.stdout.split()))


@pytest.mark.skipif(not is_root, reason="only root lends programs to another account")
def test_folders_made_for_another_account_can_be_passed_through(tmp_folder: Path) -> None:
    closed = tmp_folder / "closed"
    closed.mkdir(mode=0o700)
    shared = tmp_folder / "var" / "lib" / "headwater"
    before = os.umask(0o077)
    try:
        place_of(Home(closed), copy_postgres(postgres_programs(), closed / "programs"), shared=shared)
    finally:
        os.umask(before)
    assert {folder.stat().st_mode & 0o777 for folder in (shared, *shared.parents[:2])} == {0o755}
