"""What a person is told of runs that did not come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strawboss.recovery.handover import LostRun
from strawboss.recovery.wording import exactly, quoted, reason, resume_by_hand


def lost(runs: Sequence[LostRun]) -> str:
    """One warning for all runs of a look, with what is there now and the call to make."""
    what = "One run was" if len(runs) == 1 else f"{len(runs)} runs were"
    there = "; ".join(f"run {one.run} {quoted(one.name)}: {reason(one.there)}" for one in runs)
    resumable = [(one.name, one.session_file) for one in runs if one.worktree is None]
    kept = [one for one in runs if one.worktree is not None]
    by_hand = [resume_by_hand(resumable)] if resumable else []
    by_hand += [
        f"Go on with run {one.run} by hand in its worktree{f' {exactly(one.worktree)}' if one.worktree else ''}, with "
        f"`pi --session` and its session file {exactly(one.session_file)}"
        for one in kept
    ]
    parts = [
        f"{what} running and did not come back, with no pane to act on ({there})",
        *by_hand,
        *_why_not(runs),
        *_settings(runs),
    ]
    return ". ".join(parts) + "."


def _why_not(runs: Sequence[LostRun]) -> Iterator[str]:
    for one in runs:
        if one.why_not:
            yield f"Run {one.run} was not handed over: {reason(one.why_not)}"


def _settings(runs: Sequence[LostRun]) -> Iterator[str]:
    """Named exactly where they would have had it done."""
    for settings in dict.fromkeys(one.settings for one in runs if one.settings):
        of = [one.run for one in runs if one.settings == settings]
        has = "have" if len(settings) > 1 else "has"
        whose = "" if len(of) == len(runs) else f" for run {', '.join(of)}"
        yield f"{' and '.join(f'`{one}`' for one in settings)} in the config {has} that done{whose}"
