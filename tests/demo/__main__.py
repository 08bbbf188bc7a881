"""`make demo`, or `python -m tests.demo [--docs FOLDER] [--workplace FOLDER]`."""

import argparse
import fcntl
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.demo import handbook, own_folder
from tests.demo.commands import DemoFailure, Headwater
from tests.demo.narration import Narration

CHECKOUT = Path(__file__).parent.parent.parent
INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOCK = "demo.lock"
FORMER_SERVERS_S = 15.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--docs", metavar="FOLDER", help="your own folder in place of the sample handbook")
    parser.add_argument(
        "--workplace", type=Path, default=CHECKOUT / ".demo-home", metavar="FOLDER", help="made anew by each demo"
    )
    arguments = parser.parse_args()
    # Where the reader stands, not where make went.
    docs = Path(arguments.docs).expanduser().absolute() if arguments.docs else None
    if docs is not None and not docs.is_dir():
        print(f"{docs} is not a folder: give one that holds Markdown, text, HTML or PDF files.", file=sys.stderr)
        return 2
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    narration = Narration()
    try:
        with _empty_workplace(arguments.workplace.absolute()) as workplace:
            headwater = Headwater(workplace / "home", narration)
            if docs is None:
                handbook.tell(headwater, narration, workplace)
            else:
                own_folder.tell(headwater, narration, docs)
    except DemoFailure as failure:
        print(f"\nThe demo failed: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; everything that was started has been stopped.", file=sys.stderr)
        return INTERRUPTED
    _say_where_to_go(narration, headwater)
    return 0


@contextmanager
def _empty_workplace(workplace: Path) -> Iterator[Path]:
    """The folder, emptied, and nobody else's until the end."""
    workplace.mkdir(parents=True, exist_ok=True)
    with _alone(workplace / LOCK):
        # A demo that was killed leaves servers that stop by themselves; a living command is not ours to stop.
        for lock in ("users.lock", "guard.lock"):
            if (workplace / "home" / lock).exists():
                with _alone(workplace / "home" / lock, patience_s=FORMER_SERVERS_S):
                    pass
        for entry in workplace.iterdir():
            if entry.name != LOCK:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        # PostgreSQL does not run as root: where its account may pass through the home, the data stay in it, and
        # whoever deletes the folder has deleted all of the demo.
        home = workplace / "home"
        home.mkdir()
        home.chmod(0o711 if os.geteuid() == 0 else 0o700)
        yield workplace


@contextmanager
def _alone(lock: Path, *, patience_s: float = 0) -> Iterator[None]:
    held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience_s
    try:
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise DemoFailure(
                        f"another demo, or a command that it left behind, is at work in {lock.parent}: stop it first."
                    ) from None
            time.sleep(0.1)
        yield
    finally:
        os.close(held)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # Once is enough: a second Ctrl-C must not end us while we stop what we started.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _say_where_to_go(narration: Narration, headwater: Headwater) -> None:
    program = os.path.relpath(headwater.program)
    home = shlex.quote(os.path.relpath(headwater.home))
    narration.step("Where to go next")
    narration.say("Look around in what the demo made:")
    narration.say(f"    HEADWATER_HOME={home} {program} status")
    narration.say("Your own folder, tried out and forgotten:")
    narration.say("    make demo DOCS=~/Documents")
    narration.say("Your own folder, for good (in ~/.headwater):")
    narration.say(f"    {program} sync folder ~/Documents --corpus me/home/documents --grant user:me")
    narration.say(f"    {program} search 'your question' --corpus me/home/documents --as me")
    narration.say("How it works, and what it does not do yet: README.md")


if __name__ == "__main__":
    sys.exit(main())
