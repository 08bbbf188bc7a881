"""The command line: one file for each command. `headwater --help` is the reference."""

from workers.cli.app import main

__all__ = ["main"]
