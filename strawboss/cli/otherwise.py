"""`--set NAME=VALUE`: recorded looks as they would have been under another setting of the config."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from strawboss.config import EXPECTED, ConfigError, read_word
from strawboss.recovery.evidence import Launcher
from strawboss.recovery.settings import TURN_STARTING_TYPES, Settings
from strawboss.tape.play import Under

Pair = tuple[Launcher, Settings]
# The settings that the core reads, each as it changes what a look was taken with.
CHANGES: Mapping[str, Callable[[Launcher, Settings, Any], Pair]] = {
    "interval": lambda launcher, settings, value: (launcher, replace(settings, interval=value)),
    "role": lambda launcher, settings, value: (replace(launcher, tower=value == "tower"), settings),
    "mode": lambda launcher, settings, value: (launcher, replace(settings, observe=value == "observe")),
    "nudge": lambda launcher, settings, value: (launcher, replace(settings, nudge=value)),
    "restored": lambda launcher, settings, value: (launcher, replace(settings, restored=value)),
    "resumed": lambda launcher, settings, value: (launcher, replace(settings, resumed=value)),
    "lost": lambda launcher, settings, value: (launcher, replace(settings, lost=value)),
    "turn_starting_types": lambda launcher, settings, value: (
        launcher,
        replace(settings, turn_starting_types=TURN_STARTING_TYPES | value),
    ),
}


class SettingParam(click.ParamType[tuple[str, object]]):
    """`nudge=off`, `interval=5`: a setting and its value, as the config has them."""

    name = "setting"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, object]:
        if isinstance(value, tuple):
            return value
        name, _, text = str(value).partition("=")
        if name not in CHANGES:
            known = ", ".join(CHANGES)
            self.fail(
                f"there is no setting {name!r}; there are {known}; write for example nudge=off", param, ctx
            )
        try:
            return name, read_word(name, text)
        except ConfigError:
            self.fail(f"{text!r} is no value for {name}; write {EXPECTED[name]}", param, ctx)


SETTING = click.option(
    "--set",
    "settings",
    type=SettingParam(),
    multiple=True,
    metavar="NAME=VALUE",
    help="With another setting; may be given for several.",
)


def under(settings: Sequence[tuple[str, Any]]) -> Under | None:
    """These and no others over what each look was taken with; None without any."""

    def changed(launcher: Launcher, own: Settings) -> Pair:
        for name, value in settings:
            launcher, own = CHANGES[name](launcher, own, value)
        return launcher, own

    return changed if settings else None
