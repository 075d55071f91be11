"""The wake-up cycle of agents and the watch over their health (docs/wakeup.md)."""
