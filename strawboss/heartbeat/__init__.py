"""The heartbeat contract for workers: liveness, steer, query-before-cancel, occupancy, delivery attempts.

from strawboss.heartbeat import Heartbeat

with Heartbeat("leaf-7", parent_id="run-42") as heart:
    heart.beat("running the tests", "validating")

Source: docs/heartbeat.md.
"""

from strawboss.heartbeat.worker import Heartbeat

__all__ = ["Heartbeat"]
