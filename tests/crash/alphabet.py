"""What a small history may be made of: every answer of the world, what may move while a key is written, what is merged."""

from __future__ import annotations

from collections.abc import Mapping

Alphabet = Mapping[str, tuple[str, ...]]

OUTCOMES = ("done", "failed", "done, reply lost", "not done, reply lost")
# `stored`: a bare shell whose pane still names the session. `shell`: in the terminal the run was seen in.
PANES = (
    *("script", "plain new", "plain same", "shell", "gone"),
    *("script new", "plain newer", "stored new", "shell new", "unknown"),
)
# Nobody can go on from there.
NO_PANE = ("gone", "shell new", "shell last")
# Of a worktree run for which something was done, from its second terminal on; no terminal comes back.
AFTER_HANDING = (("plain new", "shell new"), ("plain newer",), ("shell last",), ("gone", "unknown"))
AFTER_CLOSE = ("gone", "shell last", "unknown")
ACTIVITIES = ("waiting", "active", "starting", "done")
# `busy`: it is at work, whatever herdr's status says. `elsewhere`: the roster knows it in another pane. `silent`: no broker
# runs, so that nobody can have known it, unless one did before.
ROSTER = ("idle", "busy", "absent", "elsewhere", "silent")
AGREES = frozenset({"idle", "absent", "silent"})
# `stopped`: a call without a result in a reply that ended with the word `stop`.
TAILS = ("cut", "ended", "stopped")
CUT = frozenset({"cut", "stopped"})
# Which processes of this machine may be on its session: one that names it; a pi that says nothing of its session.
HOLDERS = ("nobody", "named", "silent")
# The pi that was seen running it, by pid, start and boot.
PIS = ("gone", "alive")
# What the launcher's file says of how a run was resumed.
CHAINS = ("whole", "missing", "doubled")
# Since the look before: another last step, the same said again.
GROWN = "grown"
REWRITTEN = "rewritten"

# One of these, or nothing, happens while that key is being written.
WITNESSES = ("result", "registry", "transcript", "files", "roster", "tail", "fork", "activity")
MOVES: Alphabet = {
    "closing": (*WITNESSES, "pane", "processes"),
    "continued": (*WITNESSES, "pane", "processes"),
    "nudged": (*WITNESSES, "pane", "processes"),
}

# What it may move to, where that is not everything else.
MOVED: Alphabet = {"tail": (GROWN, "unknown"), "activity": (REWRITTEN, "unknown")}

# What everybody must say at the moment of an act, on top of `pane`, which says who it is done to.
STRANDED: Alphabet = {
    "registry": ("untracked",),
    "transcript": ("whole",),
    "result": ("missing",),
    "files": ("known",),
    "processes": ("known",),
    "fork": ("none",),
}
UNHELD: Alphabet = {
    **{name: STRANDED[name] for name in ("registry", "transcript", "result", "files", "fork")},
    "roster": ("absent",),
    "holders": ("nobody",),
    "pi": ("gone",),
}
WANTED: Mapping[str, Alphabet] = {
    "ask": {**STRANDED, "activity": ("waiting",), "roster": ("idle",), "tail": TAILS},
    "close": {**STRANDED, "roster": ("idle", "absent", "silent"), "tail": TAILS},
    "continue": {**STRANDED, "roster": ("idle",), "tail": tuple(CUT)},
    "lost": {**UNHELD, "holders": ("nobody", "silent")},
    "claim": {**UNHELD, "tail": TAILS, "pane": NO_PANE},
    "tell of a claim": {**UNHELD, "tail": TAILS, "pane": NO_PANE},
}

# What three looks merge, because the core is told the same or the world is left the same: phases that are not `waiting`,
# a torn transcript with an unreadable one, a session that cannot be asked with one that compacts, a second restore with
# the first, a fork that cannot be ruled out with one that is found, a broker that has gone (two looks tell what it knew)
# with one that cannot be asked, a key refused with a key lost, an attempt of which only the reply is missing with one that
# was lost, a reply that was cut with one that was cut though it says `stop`. What moves within a look moves to anything
# all the same.
MERGED: Alphabet = {
    "activity": ("waiting", "active", "unknown"),
    "roster": ("idle", "busy", "absent", "unknown"),
    "fork": ("none", "there"),
    "tail": ("stopped", "ended", GROWN, "unknown"),
    "transcript": ("whole", "unknown"),
    "session": ("idle", "busy", "compacting"),
    "pane": ("script", "script new", "plain new", "plain same", "shell", "shell last", "gone", "unknown"),
    "pi": ("gone",),
    "holders": ("nobody", "silent", "unknown"),
    "key": ("done", "failed", "done, reply lost"),
    "close": ("done", "failed", "done, reply lost", "not done, reply lost"),
    "send": ("done", "failed", "done, reply lost"),
    "tell": ("done", "failed", "done, reply lost"),
}
# Its nudge is that of every run: two looks ask for it.
MERGED_IN_ITS_WORKTREE: Alphabet = {**MERGED, "activity": ("active",)}
# From where one more miss gives up; what moves within a look is left to three looks.
TIRED: Alphabet = {**MERGED, "moves": ("nothing",)}
# From where the restored case has given up: what is left of it, and who may hold its session.
LOST: Alphabet = {
    **TIRED,
    "registry": ("untracked", "tracked"),
    "files": ("known",),
    "transcript": ("whole",),
    "activity": ("active",),
    "pane": ("gone", "shell", "shell new", "stored new", "plain new", "script", "unknown"),
    "roster": ("absent", "idle", "unknown"),
    "tail": ("stopped", GROWN, "unknown"),
    "holders": (*HOLDERS, "unknown"),
    "pi": (*PIS, "unknown"),
}
# The same of a run that was recovered before; what it shares with one that was not is left to that.
LOST_AGAIN: Alphabet = {
    **LOST,
    "registry": ("untracked",),
    "pane": ("gone", "shell", "plain new"),
    "roster": ("absent", "idle"),
    "tail": ("stopped",),
    "fork": ("none",),
    "holders": ("nobody", "silent"),
}
LOST_AGAIN_IN_ITS_WORKTREE: Alphabet = {
    **LOST_AGAIN,
    "pane": ("plain new", "shell new", "plain newer", "shell last", "gone"),
}
# A run that was recovered before, and is stranded or at work again.
AGAIN: Alphabet = {
    **MERGED,
    "activity": ("waiting", "active"),
    "pane": ("script", "plain new", "plain newer", "plain same", "gone", "unknown"),
    "moves": ("nothing", "result", "pane", "tail"),
}
AGAIN_IN_ITS_WORKTREE: Alphabet = {
    **AGAIN,
    "pane": ("plain new", "plain newer", "shell last", "gone", "unknown"),
}
# The check on that follows every path of two looks to its end; what moves within a look is left to three looks.
UNMERGED: Alphabet = {
    "roster": ("idle", "busy", "absent", "silent", "unknown"),
    "tail": ("cut", "ended", GROWN, "unknown"),
    "moves": ("nothing",),
}
# What an activity file may say is the same for every run.
UNMERGED_IN_ITS_WORKTREE: Alphabet = {**UNMERGED, "activity": ("waiting", "active")}
BOTH_ACT: Alphabet = {
    "registry": ("untracked",),
    "activity": ("active",),
    "files": ("known",),
    "transcript": ("whole",),
    "result": ("missing",),
    "roster": ("idle",),
    "pane": ("plain new",),
    "processes": ("known",),
    "tail": ("cut",),
    "fork": ("none",),
    "moves": ("nothing", "result"),
    "session": ("idle",),
    "listed": ("listed",),
    "key": ("done", "failed"),
    "close": ("done", "failed"),
}
