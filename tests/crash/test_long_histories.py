"""Long histories with many runs: rules are what people, herdr, pi and crashes do; the simulator judges every look."""

import functools
from dataclasses import replace

import pytest
from crash import evidence
from crash.alphabet import OUTCOMES, TAILS
from crash.simulator import MEANWHILE, ON_SESSION, WITNESSES, World
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from strawboss.recovery.settings import Beyond

pytestmark = pytest.mark.slow

READS = (*WITNESSES, "activity", "holders", "pi")
BEYOND = (Beyond.WARN, Beyond.RECOVER, Beyond.RECOVER, Beyond.OFF)
KINDS = (*evidence.KINDS, "ordinary", "ordinary")
WORST_LOOK = 60  # commands; a kill after more than the look has is no kill
indexes = st.integers(0, 5)


def event(**given):
    """A rule, and after it up to three looks in peace: most of a long history is quiet."""

    def decorate(happens):
        @functools.wraps(happens)
        def happens_and_is_looked_at(self, then, **values):
            happens(self, **values)
            self.look_in_peace(then)

        del happens_and_is_looked_at.__wrapped__  # its arguments are others
        return rule(then=st.integers(0, 3), **given)(happens_and_is_looked_at)

    return decorate


class History(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.world = World()
        self.away = False

    @initialize(
        kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
        resumed=st.sampled_from(BEYOND),
        lost=st.sampled_from(BEYOND),
    )
    def the_launcher_has_runs(self, kinds, resumed, lost):
        self.world.settings = replace(self.world.settings, resumed=resumed, lost=lost)
        for kind in kinds:
            self.world.start_run(kind)
        self.look_in_peace(1)

    def child(self, index):
        children = list(self.world.children.values())
        return children[index % len(children)]

    def spot(self, index):
        return self.world.spots[index % len(self.world.spots)]

    # -- runs ------------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.world.children) < 5)
    @event(kind=st.sampled_from(KINDS))
    def a_run_starts(self, kind):
        self.world.start_run(kind)

    @precondition(lambda self: self.world.children)
    @event(
        index=indexes, phase=st.sampled_from(("active", "waiting", "waiting")), stands=st.sampled_from(TAILS)
    )
    def a_child_goes_on_or_ends_its_turn(self, index, phase, stands):
        child = self.child(index)
        spot = self.world.spot_of(child.id)
        if spot and spot.occupant == "child":
            child.phase, child.stands = phase, stands
            child.steps, child.written = child.steps + 1, child.written + 1
            spot.status, spot.work = "idle" if phase == "waiting" else "working", ""

    @precondition(lambda self: self.world.children)
    @event(index=indexes)
    def a_result_is_delivered(self, index):
        child = self.child(index)
        if child.id in self.world.registry and child.phase == "waiting":
            self.world.happen("result", child)

    @precondition(lambda self: self.world.children)
    @event(index=indexes, sidecar=st.booleans())
    def a_child_exits(self, index, sidecar):
        child = self.child(index)
        spot = self.world.spot_of(child.id)
        if spot and spot.occupant == "child":
            spot.occupant, spot.work, child.phase, child.ended = "shell", "", "done", sidecar

    @precondition(lambda self: self.world.children)
    @event(index=indexes)
    def the_model_resumes_a_run_it_was_told_of(self, index):
        world, child = self.world, self.child(index)
        if (
            child.record.told
            and child.kind == "ordinary"
            and not world.is_past(child)
            and not world.on(child)
        ):
            world.start_run("ordinary", resumes=child)

    # -- people and herdr ----------------------------------------------------------------------------------------

    @precondition(lambda self: self.world.spots)
    @event(index=indexes)
    def a_person_starts_pi_where_the_child_ran(self, index):
        spot = self.spot(index)
        noted = self.world.children[spot.run].noted
        # Not promised: a handoff that nobody noticed, and then a person's pi in the new terminal (docs/assurance.md).
        if spot.occupant == "shell" and noted in (None, spot.terminal):
            spot.occupant, spot.status = "person", "idle"

    @precondition(lambda self: self.world.children)
    @event(index=indexes)
    def a_person_opens_the_session_in_another_pane(self, index):
        world, child = self.world, self.child(index)
        if len(world.spots) < 8:
            world.start_run("ordinary")
            spot = world.spots[-1]
            del world.children[spot.run]
            world.registry.discard(spot.run)
            spot.run, spot.occupant, spot.status = child.id, "person", "idle"

    @precondition(lambda self: self.world.spots)
    @event(index=indexes)
    def a_person_leaves_a_pi(self, index):
        spot = self.spot(index)
        if spot.occupant in {"person", "restored"}:
            spot.occupant, spot.work = "shell", ""

    @precondition(lambda self: self.world.spots)
    @event(index=indexes, status=st.sampled_from(("idle", "working", "done")))
    def a_pane_works_or_rests(self, index, status):
        spot = self.spot(index)
        if spot.occupant in ON_SESSION - {"child"}:
            spot.status, spot.work = status, ""

    # -- witnesses that contradict each other ------------------------------------------------------------------------

    @precondition(lambda self: self.world.children)
    @event(index=indexes, what=st.sampled_from(MEANWHILE[2:]))
    def it_works_while_herdr_says_idle_or_its_session_is_forked_or_a_key_line_torn(self, index, what):
        self.world.happen(what, self.child(index))

    @precondition(lambda self: self.world.children)
    @event(index=indexes, how=st.sampled_from(("connected", "silent", "")))
    def a_pi_outside_herdr_comes_or_goes(self, index, how):
        self.child(index).outside = how

    @precondition(lambda self: any(child.torn for child in self.world.children.values()))
    @event()
    def the_torn_lines_are_mended(self):
        for child in self.world.children.values():
            child.torn = False

    @precondition(lambda self: any(spot.work for spot in self.world.spots))
    @event()
    def who_works_unseen_comes_to_rest(self):
        for spot in self.world.spots:
            spot.work = ""

    @precondition(lambda self: self.world.spots)
    @event(index=indexes)
    def a_person_closes_a_pane(self, index):
        self.world.spots.remove(self.spot(index))

    @precondition(lambda self: self.world.spots)
    @event(index=indexes)
    def a_pane_moves_to_another_workspace(self, index):
        self.spot(index).id = self.world.fresh("w2:p")

    @precondition(lambda self: self.world.spots)
    @event(index=indexes, registered=st.booleans())
    def herdr_forgets_or_learns_a_panes_session(self, index, registered):
        self.spot(index).registered = registered

    @event()
    def herdr_restarts(self):
        self.world.restart_herdr()

    @precondition(lambda self: all(spot.occupant != "person" for spot in self.world.spots))
    @event()
    def herdr_hands_over_live(self):
        self.world.hand_over_live()

    # -- the launcher ----------------------------------------------------------------------------------------------

    @event()
    def the_launcher_restarts(self):
        self.world.restart_launcher()

    @event()
    def the_launcher_reloads(self):
        self.world.reload()

    @event(how=st.sampled_from(("/new", "/fork", "/resume")))
    def the_launcher_leaves_the_session_and_comes_back(self, how):
        """Its registry stays, its watchers go on; here nothing is looked at until it is back."""
        self.away = not self.away
        self.world.settle(taken=how == "/resume")
        self.world.reload()

    @event()
    def the_launcher_goes_back_in_the_tree(self):
        """`/tree` leaves the branch with our entries: the file keeps them, what was queued is gone."""
        self.world.settle(taken=False)

    @event(busy=st.booleans(), compacting=st.booleans())
    def the_session_is_busy(self, busy, compacting):
        self.world.busy = busy or bool(self.world.queue)
        self.world.compacting = compacting

    @event(taken=st.booleans())
    def the_session_settles(self, taken):
        self.world.settle(taken=taken)

    # -- looks -----------------------------------------------------------------------------------------------------

    @rule(
        kill_after=st.one_of(st.none(), st.none(), st.integers(0, WORST_LOOK)),
        outcomes=st.lists(st.sampled_from(("done", "done", *OUTCOMES)), max_size=6),
        outages=st.sets(st.sampled_from(READS), max_size=1) | st.just(set()),
        seconds=st.sampled_from((15.0, 15.0, 15.0, 2.0, 40.0)),
        asleep=st.sampled_from((0.0, 0.0, 0.0, 3600.0, -600.0)),
        meanwhile=st.sampled_from(("", *MEANWHILE)),
    )
    def a_look(self, kill_after, outcomes, outages, seconds, asleep, meanwhile):
        self.world.pass_time(seconds, asleep=asleep)
        self.world.meanwhile = meanwhile
        self.world.outages, self.world.outcomes = set(outages), list(outcomes)
        if not self.away:
            self.world.look(kill_after=kill_after)

    def look_in_peace(self, looks):
        self.world.outages, self.world.outcomes, self.world.meanwhile = set(), [], ""
        for _ in range(looks if not self.away else 0):
            self.world.pass_time(evidence.SETTINGS.interval)
            self.world.look()

    def teardown(self):
        self.world.continue_fairly()


History.TestCase.settings = settings(
    max_examples=120,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestLongHistories = History.TestCase
