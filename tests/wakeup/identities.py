"""Processes that are not there, and processes that are somewhere else."""

from __future__ import annotations

from strawboss.system.process_identity import ProcessIdentity, here

# Proven to be gone: of this place, with a pid that nobody has.
NOBODY = ProcessIdentity(2**22 - 1, 1.0, here().boot, here().namespace, here().machine)
# On a machine whose processes we cannot see.
ELSEWHERE = ProcessIdentity(1, 1.0, "its boot", "pid:[1]", "its machine")
# In another container of this machine.
IN_A_CONTAINER = ProcessIdentity(1, 1.0, here().boot, "pid:[1]", here().machine)
