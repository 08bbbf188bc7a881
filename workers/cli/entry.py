"""Where the console script begins: before anything heavy is imported, so that Ctrl-C never meets a half-loaded module."""

import contextlib
import os
import sys


def main() -> None:
    """Run one command and exit with its status."""
    try:
        from workers.cli.app import run

        status = run()
    except KeyboardInterrupt:
        status = 130
    if "temporalio.bridge" in sys.modules:
        # Threads of Temporal's core may still log. One that does so while the interpreter ends aborts it, and the status
        # of a finished command becomes 134. Everything of ours is closed by now.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    sys.exit(status)
