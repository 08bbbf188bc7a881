"""Where the console script begins: before anything heavy is imported, so that Ctrl-C never meets a half-loaded module."""

import sys


def main() -> None:
    """Run one command and exit with its status."""
    try:
        from workers.cli.app import run

        status = run()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
