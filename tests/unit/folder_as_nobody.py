"""File permissions in tests: root may read everything, so such a test runs as nobody for a moment."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_NOBODY = 65534


@contextmanager
def as_nobody() -> Iterator[None]:
    """Within it, file modes count, whoever runs the tests."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def public_folder() -> Iterator[Path]:
    """A temporary folder that nobody can reach; pytest's own are closed to other users."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        locked = Path(path, "probe")
        locked.mkdir(mode=0)
        with as_nobody():
            try:
                os.listdir(locked)
            except PermissionError:
                pass
            else:
                pytest.skip("this system gives every user access to every folder")
        locked.rmdir()
        yield Path(path)
