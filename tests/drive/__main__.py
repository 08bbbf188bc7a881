"""`python -m tests.drive [--port N]`: a small office on an emulated Drive, until Ctrl-C."""

import argparse
import signal
from threading import Event

from tests.drive.sample import sample
from tests.drive.serving import running_drive

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.drive", description=__doc__)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="where to listen; any free port unless given")
    port = parser.parse_args().port
    stopped = Event()
    for number in SIGNALS:
        signal.signal(number, lambda *_: stopped.set())
    office = sample()
    with running_drive(office.world, port=port) as drive:
        print(f"url       {drive.url}")
        print(f"folder    {office.handbook_id} (Handbook)")
        print(f"drive     {office.engineering_id} (Engineering)")
        for user in office.world.users.values():
            print(f"token     {drive.token(user.email)} ({user.email})")
        print(f"requests  {drive.url}/control/requests", flush=True)
        stopped.wait()


if __name__ == "__main__":
    main()
