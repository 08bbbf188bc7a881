"""The command line: one file for each command. `headwater --help` is the reference."""

from workers.cli.entry import main

__all__ = ["main"]
