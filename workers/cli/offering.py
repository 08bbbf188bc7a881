"""A group of commands that names the one which somebody probably meant."""

import shlex
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

import click

ALIKE: Final = 0.6  # of a word's letters, as difflib counts them
PATH_BEGINS: Final = ("/", "./", "../", "~", ".")


class OfferingGroup(click.Group):
    """A command that is not there may be misspelt, or be one of another group: `headwater pin`, `headwater serach`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            offered = self.offers(ctx, name)
            meant = f" (did you mean {' or '.join(f'`{each}`' for each in offered)}?)" if offered else ""
            ctx.fail(f"No such command '{name}'{meant}.")
        return super().resolve_command(ctx, args)

    def offers(self, ctx: click.Context, name: str) -> list[str]:
        """What to type instead, best first, and nothing where nothing is alike."""
        alike = get_close_matches(name, self.commands, n=1, cutoff=ALIKE)
        elsewhere = [path for path in _paths(ctx.find_root()) if path.split()[-1] == name]
        return [f"{ctx.command_path} {each}" for each in alike] or elsewhere[:1]


class SyncGroup(OfferingGroup):
    """What is to be synced is easily given without saying whether it is a folder or a connector."""

    def offers(self, ctx: click.Context, name: str) -> list[str]:
        if alike := get_close_matches(name, self.commands, n=1, cutoff=ALIKE):
            return [f"{ctx.command_path} {each}" for each in alike]
        given = shlex.quote(name)
        folder, connector = (f"{ctx.command_path} {kind} {given}" for kind in ("folder", "connector"))
        return [folder] if name.startswith(PATH_BEGINS) or "/" in name else [folder, connector]


def _paths(root: click.Context) -> Iterator[str]:
    """Every command with the groups that it is in."""
    groups: list[tuple[str, click.Command]] = [(root.command_path, root.command)]
    for path, group in groups:
        if isinstance(group, click.Group):
            groups.extend((f"{path} {name}", command) for name, command in group.commands.items())
        else:
            yield path
