"""The mock as npm installs it, once for every version of `package.json`, beside what pytest keeps from run to run."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PACKAGE: Final = Path(__file__).with_name("package.json")
NODE_MIN: Final = 18  # Debian 12's
_INSTALL_S: Final = 300
_MODULES: Final = "node_modules"
# No lock file: it would hold addresses. `package.json` pins what the mock brings too.
_INSTALL: Final = (
    "install",
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--no-update-notifier",
    "--prefer-offline",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
)


class Unavailable(Exception):
    """The mock cannot be had here, and why."""


@dataclass(frozen=True, slots=True)
class Installed:
    node: Path
    folder: Path
    """Holds `node_modules`."""

    def versions(self) -> dict[str, set[str]]:
        """The numbers of every package that is there, by its name."""
        found: dict[str, set[str]] = {}
        for file in (self.folder / _MODULES).rglob("package.json"):
            if _is_of_package(file):
                package = json.loads(file.read_text("utf-8"))
                found.setdefault(package["name"], set()).add(package["version"])
        return found


def install(cache: Path) -> Installed:
    """The mock in a folder below ``cache``, installed if it is not there yet. Raises `Unavailable`."""
    node, npm = _program("node"), _program("npm")
    _check_version(node)
    wanted = PACKAGE.read_bytes()
    folder = cache / f"drive-mock-{hashlib.sha256(wanted).hexdigest()[:16]}"
    with _alone(cache / "drive-mock.lock"):
        if not folder.is_dir():
            _install(npm, wanted, folder, draft=cache / "drive-mock-new")
    return Installed(node, folder)


def pinned() -> dict[str, set[str]]:
    """What `package.json` names, by name and number."""
    package: Mapping[str, Any] = json.loads(PACKAGE.read_text("utf-8"))
    found = {name: {version} for name, version in package["dependencies"].items()}
    for name, version in _leaves(package["overrides"]):
        found.setdefault(name, set()).add(version)
    return found


def _leaves(overrides: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A package that stands for itself and for what is below it has its own number under a dot."""
    for name, value in overrides.items():
        if isinstance(value, str):
            yield name, value
            continue
        for below, version in value.items():
            yield name if below == "." else below, version


def _program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise Unavailable(f"{name} is not installed: google-drive-mock needs Node.js {NODE_MIN} and npm.")
    return Path(found)


def _check_version(node: Path) -> None:
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    number = re.match(r"v(\d+)\.", told)
    if number is None or int(number[1]) < NODE_MIN:
        raise Unavailable(
            f"{node} is {told.strip() or 'no Node.js'}: google-drive-mock needs Node.js {NODE_MIN} or later."
        )


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time: the others wait, and then find it installed."""
    with open(lock, "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _install(npm: Path, package: bytes, folder: Path, *, draft: Path) -> None:
    """All of it or nothing: an installation that was broken off never gets the folder's name."""
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    (draft / PACKAGE.name).write_bytes(package)
    try:
        done = subprocess.run(
            [npm, *_INSTALL],
            cwd=draft,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_INSTALL_S,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"npm did not install google-drive-mock within {_INSTALL_S} s.") from None
    if done.returncode != 0:
        raise Unavailable(f"npm cannot install google-drive-mock (offline?): {_why(done.stderr)}")
    os.rename(draft, folder)


def _why(said: str) -> str:
    """npm's code for what went wrong. The rest of its words hold addresses."""
    code = re.search(r"(?m)^npm (?:ERR!|error) code (\S+)", said)
    return code[1] if code else "it did not say why."


def _is_of_package(file: Path) -> bool:
    """Not one of those that lie inside packages, as examples or to name a folder's kind."""
    parent = file.parent.parent
    return parent.name == _MODULES or (parent.name.startswith("@") and parent.parent.name == _MODULES)


__all__ = ["NODE_MIN", "PACKAGE", "Installed", "Unavailable", "install", "pinned"]
