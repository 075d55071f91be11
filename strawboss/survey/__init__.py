"""Finds every launcher of this user on this machine, and how each stands. It reads and asks; it changes nothing."""
