"""What `docker-compose.yml` and `deploy/` promise, checked without a container engine."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from workers.guard.binaries import postgres_programs

CHECKOUT: Final = Path(__file__).parent.parent.parent
COMPOSE: Final = CHECKOUT / "deploy/compose"
TOOLS: Final = Path(sys.executable).parent
PASSWORDS: Final = {"HEADWATER_POSTGRES_PASSWORD": "of-headwater", "TEMPORAL_POSTGRES_PASSWORD": "of-temporal"}


def compose_config(**environment: str) -> "subprocess.CompletedProcess[str]":
    mine = {"PATH": os.environ["PATH"], **environment}
    # `--env-file` of nothing: a developer's own .env stays out of the test.
    return subprocess.run(
        [TOOLS / "docker-compose", "--env-file", os.devnull, "--file", "docker-compose.yml", "config", "--format", "json"],
        cwd=CHECKOUT, env=mine, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services, as compose understands the file."""
    resolved = compose_config(**PASSWORDS)
    assert resolved.returncode == 0, resolved.stderr
    return dict(json.loads(resolved.stdout)["services"])


def test_every_service_waits_for_what_it_needs(services: dict[str, Any]) -> None:
    waits = {
        name: {needed: on["condition"].removeprefix("service_") for needed, on in service.get("depends_on", {}).items()}
        for name, service in services.items()
    }

    assert waits == {
        "postgres": {},
        "temporal-schema": {"postgres": "healthy"},
        "temporal": {"temporal-schema": "completed_successfully"},
        "temporal-namespace": {"temporal": "healthy"},
        "temporal-ui": {"temporal": "healthy"},
        "migrate": {"postgres": "healthy"},
        "worker": {"migrate": "completed_successfully", "temporal-namespace": "completed_successfully"},
    }
    for needs in waits.values():
        for needed, condition in needs.items():
            assert condition != "healthy" or services[needed]["healthcheck"]["test"]


def test_images_have_numbers_and_none_sets_temporal_up_by_itself(services: dict[str, Any]) -> None:
    images = {service["image"] for service in services.values()}

    assert all(re.search(r":\d+\.\d+\.\d+", image) for image in images), images
    assert not any("auto-setup" in image for image in images)


def test_nothing_listens_beyond_this_machine(services: dict[str, Any]) -> None:
    published = [port for service in services.values() for port in service.get("ports", [])]

    assert {port["target"] for port in published} == {5432, 7233, 8080}
    assert {port["host_ip"] for port in published} == {"127.0.0.1"}


@pytest.mark.parametrize("missing", sorted(PASSWORDS))
def test_a_missing_password_is_a_sentence_that_names_it(missing: str) -> None:
    refused = compose_config(**{name: value for name, value in PASSWORDS.items() if name != missing})

    assert refused.returncode != 0
    assert f"put {missing} into .env, see deploy/README.md" in refused.stderr


def test_passwords_are_not_committed() -> None:
    ignored = subprocess.run(["git", "check-ignore", "--quiet", ".env"], cwd=CHECKOUT, check=False)

    assert ignored.returncode == 0
    for file in [CHECKOUT / "docker-compose.yml", *COMPOSE.iterdir()]:
        assert not re.search(r"PASSWORD(=|: )['\"]?\w", file.read_text("utf-8")), file


def test_workers_cannot_gain_rights_or_write_to_the_image(services: dict[str, Any]) -> None:
    for name in ("migrate", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]
    assert [volume["read_only"] for volume in services["worker"]["volumes"]] == [True]


def test_the_dockerfile_passes_its_linter_and_ends_as_an_ordinary_user() -> None:
    dockerfile = CHECKOUT / "deploy/Dockerfile"

    linted = subprocess.run([TOOLS / "hadolint", dockerfile], capture_output=True, encoding="utf-8", check=False)

    assert (linted.returncode, linted.stdout) == (0, "")
    users = re.findall(r"^USER (\S+)$", dockerfile.read_text("utf-8"), re.MULTILINE)
    assert users == ["10001:10001"]


def test_scripts_of_containers_may_be_run() -> None:
    scripts = [CHECKOUT / "deploy/install.sh", *COMPOSE.glob("*.sh")]

    assert len(scripts) == 4
    for script in scripts:
        assert script.stat().st_mode & stat.S_IXOTH, script
        subprocess.run(["sh", "-n", script], check=True)


def test_temporal_gets_databases_of_its_own(postgres: str, services: dict[str, Any]) -> None:
    given = services["postgres"]["environment"]
    server = conninfo_to_dict(postgres)
    environment = {
        "PATH": f"{postgres_programs().program('psql').parent}:{os.environ['PATH']}",
        "PGHOST": str(server["host"]),
        "PGPORT": str(server["port"]),
        "PGPASSWORD": str(server["password"]),
        "POSTGRES_USER": given["POSTGRES_USER"],
        "POSTGRES_DB": "postgres",
        "TEMPORAL_POSTGRES_PASSWORD": given["TEMPORAL_POSTGRES_PASSWORD"],
    }
    try:
        subprocess.run([COMPOSE / "create-databases.sh"], env=environment, check=True, capture_output=True)

        for database in ("temporal", "temporal_visibility"):
            own = make_conninfo(
                postgres, user="temporal", password=PASSWORDS["TEMPORAL_POSTGRES_PASSWORD"], dbname=database
            )
            with psycopg.connect(own) as connection:
                connection.execute("CREATE TABLE may_do_so (id int)")
                row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
                assert row == (False,)
    finally:
        with psycopg.connect(postgres, autocommit=True) as admin:
            admin.execute("DROP DATABASE IF EXISTS temporal")
            admin.execute("DROP DATABASE IF EXISTS temporal_visibility")
            admin.execute("DROP ROLE IF EXISTS temporal")


@pytest.mark.parametrize(("failing", "status"), [("setup-schema", 0), ("update-schema", 1)])
def test_the_schema_step_fails_only_when_the_schema_is_not_up_to_date(
    failing: str, status: int, services: dict[str, Any], tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    tool = tmp_path / "temporal-sql-tool"
    tool.write_text(f'#!/bin/sh\necho "$@" >> {calls}\ncase "$*" in *{failing}*) exit 1 ;; esac\n')
    tool.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **services["temporal-schema"]["environment"]}

    done = subprocess.run([COMPOSE / "temporal-schema.sh"], env=environment, check=False, capture_output=True)

    assert done.returncode == status, done.stderr
    said = calls.read_text()
    assert "--plugin postgres12 --ep postgres --port 5432 --user temporal --db temporal setup-schema -v 0.0" in said
    assert PASSWORDS["TEMPORAL_POSTGRES_PASSWORD"] not in said


@pytest.mark.long
def test_the_steps_of_the_dockerfile_install_a_command_that_runs(tmp_path: Path) -> None:
    """The first stage is carried out in a plain folder: what it copies, and what it runs."""
    build, prefix = tmp_path / "build", tmp_path / "opt/headwater"
    build.mkdir()
    stage = (CHECKOUT / "deploy/Dockerfile").read_text("utf-8").split("\nFROM ")[1]
    steps = [line.split(maxsplit=1) for line in stage.splitlines() if line.startswith(("COPY ", "RUN "))]
    assert [step for step, _ in steps].count("RUN") == 1
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    for step, words in steps:
        if step == "COPY":
            *sources, target = words.split()
            _copy(sources, build / target)
        else:
            subprocess.run(["sh", "-c", words.replace("/opt/headwater", str(prefix))], cwd=build, check=True)

    version = subprocess.run(
        [prefix / "bin/headwater", "--version"],
        cwd="/",
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    files = subprocess.run(
        [prefix / "bin/python", "-c", "import activities.store as store; print(*store.__path__)"],
        cwd="/", env=environment, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip

    assert version.stdout == "headwater 0.1.0\n"
    installed = Path(files.stdout.strip())
    assert installed.is_relative_to(prefix)
    assert list(installed.glob("migrations/0001_*.sql")) and list(installed.glob("queries/*.sql"))


def _copy(sources: list[str], target: Path) -> None:
    """COPY as Docker does it, of files that git knows: a folder's contents, or files into a folder."""
    for source in sources:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", source],
            cwd=CHECKOUT, capture_output=True, encoding="utf-8", check=True,
        )  # fmt: skip
        for file in listed.stdout.splitlines():
            below = Path(file).relative_to(source)
            place = target / below if below.parts else (target / Path(file).name if target.suffix == "" else target)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((CHECKOUT / file).read_bytes())
            place.chmod((CHECKOUT / file).stat().st_mode & 0o777)
