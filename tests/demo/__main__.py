"""`make demo` and `make demo-drive`, or `python -m tests.demo [--docs FOLDER | --drive] [--workplace FOLDER]`."""

import argparse
import os
import shlex
import signal
import sys
from pathlib import Path
from types import FrameType

from tests.demo import handbook, own_folder
from tests.demo.commands import Headwater
from tests.demo.failure import DemoFailure
from tests.demo.narration import Narration
from tests.demo.workplace import empty_workplace, home_in

CHECKOUT = Path(__file__).parent.parent.parent
INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--docs", metavar="FOLDER", help="your own folder in place of the sample handbook")
    shown.add_argument("--drive", action="store_true", help="a part of the handbook on an emulated Google Drive")
    parser.add_argument(
        "--workplace", type=Path, default=CHECKOUT / ".demo-home", metavar="FOLDER", help="made anew by each demo"
    )
    arguments = parser.parse_args()
    # Where the reader stands, not where make went.
    docs = Path(arguments.docs).expanduser().absolute() if arguments.docs else None
    if docs is not None and not docs.is_dir():
        print(f"{docs} is not a folder: give one that holds Markdown, HTML, PDF or other text files.", file=sys.stderr)
        return 2
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    narration = Narration()
    try:
        with empty_workplace(arguments.workplace.absolute()) as workplace:
            headwater = Headwater(home_in(workplace), narration)
            narration.aside(f"In what follows, `headwater` stands for {headwater.typed}")
            if arguments.drive:
                # The emulator is a server, and what it needs is in the environment of `make demo-drive` alone.
                from tests.demo import drive

                drive.tell(headwater, narration, workplace)
            elif docs is None:
                handbook.tell(headwater, narration, workplace)
            else:
                own_folder.tell(headwater, narration, docs)
    except DemoFailure as failure:
        print(f"\nThe demo failed: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; everything that was started has been stopped.", file=sys.stderr)
        return INTERRUPTED
    if arguments.drive:
        _say_how_to_add_drive(narration, headwater)
    else:
        _say_where_to_go(narration, headwater, docs)
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # Once is enough: a second Ctrl-C must not end us while we stop what we started.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _say_where_to_go(narration: Narration, headwater: Headwater, docs: Path | None) -> None:
    program = shlex.quote(os.path.relpath(headwater.program))
    narration.step("Where to go next")
    if docs is None:
        corpus, person = handbook.CORPUS, "mara"
        narration.say("Look around in what the demo made:")
        narration.command_line(f"{headwater.typed} status")
    else:
        corpus, person = own_folder.CORPUS, own_folder.PERSON
    narration.say("Ask a question of your own:")
    narration.command_line(f"{headwater.typed} search 'your question' --corpus {corpus} --as {person}")
    if docs is None:
        narration.say("Try your own folder out:")
        narration.command_line("make demo DOCS=~/Documents")
    folder = "~/Documents" if docs is None else shlex.quote(str(docs))
    narration.say(f"{'Your own' if docs is None else 'This very'} folder, for good (in ~/.headwater):")
    narration.command_line(f"{program} sync folder {folder} --corpus me/home/documents --grant user:me")
    narration.command_line(f"{program} search 'your question' --corpus me/home/documents --as me")
    _say_what_is_left(narration, headwater)


def _say_how_to_add_drive(narration: Narration, headwater: Headwater) -> None:
    program = shlex.quote(os.path.relpath(headwater.program))
    narration.step("Where to go next")
    narration.say(
        "A folder of your own Drive, for good (in ~/.headwater): share it, as an editor, with a service account, and"
    )
    add = "connector add drive office --corpus me/home/drive --folder-id ID --credentials KEY.json"
    narration.command_line(f"{program} {add}")
    narration.command_line(f"{program} sync connector office")
    narration.say("The emulated one, to try a connector by hand; it prints what to type:")
    narration.command_line(".venv/bin/python -m tests.drive")
    _say_what_is_left(narration, headwater)


def _say_what_is_left(narration: Narration, headwater: Headwater) -> None:
    narration.say(f"What the demo holds is in {headwater.whereabouts}.")
    narration.say("`make forget` deletes it, as does `make clean`; the next demo begins with deleting it.")
    narration.say("How it works, and what it does not do yet: README.md")
    narration.say(f"All of this took {narration.took_s:.0f} s.")


if __name__ == "__main__":
    sys.exit(main())
