"""What every command gets: the settings, read once, and the streams."""

import logging
from dataclasses import dataclass
from functools import cached_property

import click

from workers.cli.console import Output
from workers.settings import Settings, load_settings
from workers.telemetry import configure_logging


@dataclass
class Invocation:
    """One run of the command line."""

    output: Output
    debug: bool = False

    @cached_property
    def settings(self) -> Settings:
        """Read when first asked for, so that `--help` and `doctor` work with settings that are wrong."""
        return load_settings()

    def start_logging(self, *, level: int = logging.WARNING) -> None:
        """Logs on stderr: warnings for a command that ends by itself, events for one that stays."""
        configure_logging(
            self.settings.log_format,
            level=min(level, logging.INFO) if self.debug else level,
            colour=self.output.err.is_terminal and not self.output.err.no_color,
        )


pass_invocation = click.make_pass_decorator(Invocation)
