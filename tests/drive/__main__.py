"""`python -m tests.drive [--port N] [--credentials FOLDER]`: a small office on an emulated Drive, until Ctrl-C.

It listens on this machine's loopback alone and prints what connects Headwater to it.
"""

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Final

try:
    from tests.drive.sample import DIRECTOR, INTERN, ROBOT, Sample, sample
    from tests.drive.serving import RunningDrive, running_drive
except ModuleNotFoundError as error:
    sys.exit(
        f"python -m tests.drive: {error.name} is missing. `make venv-dev` installs it; then run .venv/bin/python -m tests.drive."
    )

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
CORPUS: Final = "acme/docs/office"
HIGHEST_PORT: Final = 65_535


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves until a signal; the exit status is 1, with one sentence, where it cannot."""
    options = _parser().parse_args(arguments)
    stopped = Event()
    for number in SIGNALS:
        signal.signal(number, lambda *_: stopped.set())
    office = sample()
    with ExitStack() as stack:
        folder = stack.enter_context(_folder(options.credentials))
        try:
            drive = stack.enter_context(running_drive(office.world, port=options.port))
        except OSError as error:
            sys.exit(f"python -m tests.drive: cannot listen on 127.0.0.1:{options.port} ({error.strerror}).")
        print(told(office, drive, folder), flush=True)
        stopped.wait()


def told(office: Sample, drive: RunningDrive, folder: Path) -> str:
    """Where it is, and the commands that connect to it. Writes the credentials that these name."""
    key = drive.service_account_file(folder, ROBOT, may_impersonate=(DIRECTOR,))
    person = drive.authorized_user_file(folder, DIRECTOR)
    add = f"headwater connector add drive {{}} --corpus {CORPUS} --root-url {drive.url} --credentials"
    lines = [
        f"An emulated Drive at {drive.url}, until Ctrl-C. Its requests: {drive.url}/control/requests",
        "",
        f"The folder Handbook of {DIRECTOR}, as the service account {ROBOT}:",
        f"  {add.format('handbook')} {key} --folder-id {office.handbook_id}",
        "The shared drive Engineering:",
        f"  {add.format('engineering')} {key} --drive-id {office.engineering_id}",
        f"All that {DIRECTOR} sees, as the person or in the person's name:",
        f"  {add.format('director')} {person}",
        f"  {add.format('director')} {key} --subject {DIRECTOR}",
        "Then:",
        "  headwater connector test handbook",
        "  headwater sync connector handbook",
        f"  headwater search 'How many days of holidays?' --corpus {CORPUS} --as {INTERN} --group staff@example.test",
        "",
        "Access tokens, to change things with drive/v3 itself:",
        *(f"  {drive.token(user.email)}  {user.email}" for user in office.world.users.values()),
    ]
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.drive", description="A small office on an emulated Drive, until Ctrl-C."
    )
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="where to listen; any free port unless given"
    )
    parser.add_argument(
        "--credentials",
        type=Path,
        metavar="FOLDER",
        help="where to write the keys; by default a folder that is deleted at the end",
    )
    return parser


def _port(written: str) -> int:
    if written.isascii() and written.isdigit() and int(written) <= HIGHEST_PORT:
        return int(written)
    raise argparse.ArgumentTypeError(f"{written} is no port: give a number up to {HIGHEST_PORT}")


@contextmanager
def _folder(wanted: Path | None) -> Iterator[Path]:
    if wanted is None:
        with tempfile.TemporaryDirectory(prefix="headwater-drive-") as made:
            yield Path(made)
        return
    wanted.mkdir(parents=True, exist_ok=True)
    yield wanted.resolve()


if __name__ == "__main__":
    main()
