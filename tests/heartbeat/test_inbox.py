import pytest
from heartbeat.given import NOW, ago, beat, put, put_ack, put_steer, tree

from strawboss.heartbeat import inbox
from strawboss.heartbeat.authority import read_claims
from strawboss.heartbeat.inbox import Delivery
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.steer import read_inbox


@pytest.fixture
def steers(tmp_path):
    return Worktree(tmp_path).steer_directory


def look(steers, *agents):
    return inbox.look(steers, agents, NOW)


def delivered(root):
    worktree = Worktree(root)
    slot = read_inbox(worktree.steer_directory, "leaf-7")
    return inbox.deliver(slot, read_claims(worktree, "leaf-7", NOW), NOW)


def test_no_directory_and_an_empty_one_mean_that_nobody_was_steered(steers):
    assert inbox.exit_code(look(steers)) == 0
    steers.mkdir(parents=True)
    assert look(steers).all_ok


def test_an_unread_steer_is_pending_without_its_text(tmp_path, steers):
    put_steer(tmp_path)
    report = look(steers)
    assert inbox.exit_code(report) == 1
    assert report.pending_agents == ["leaf-7"]
    assert report.pending[0].age_seconds == 60
    assert "which step?" not in str(report) + str(inbox.failure_lines(report))
    assert inbox.failure_lines(report)[0].startswith("STEER_PENDING")


def test_it_is_not_after_its_ack_or_its_end(tmp_path, steers):
    put_steer(tmp_path, "a", expires_at=ago(1))
    put_steer(tmp_path)
    put_ack(tmp_path)
    assert look(steers).all_ok


def test_a_broken_inbox_is_pending_and_listed(steers):
    put(steers / "leaf-7.json", b"{not json")
    report = look(steers)
    assert (report.steer_pending, report.pending, len(report.parse_failures)) == (True, [], 1)
    assert "Malformed inbox" in inbox.failure_lines(report)[1]


def test_a_broken_ack_is_listed(tmp_path, steers):
    put_steer(tmp_path)
    put(steers / "leaf-7.ack.json", b"{")
    assert look(steers).ack_troubles[0].agent_id == "leaf-7"


def test_only_the_named_agents_count(tmp_path, steers):
    put_steer(tmp_path)
    assert look(steers, "leaf-8").all_ok
    assert not look(steers, "leaf-8", "leaf-7").all_ok


def test_acks_and_stamps_are_no_inboxes(tmp_path, steers):
    put_ack(tmp_path)
    put(steers / "leaf-7.firstseen.json", b"{")
    put(steers / ".leaf-7.json.1.tmp", b"{")
    assert look(steers).all_ok


def test_a_file_in_the_place_of_the_directory_is_exit_2(tmp_path, steers):
    put(steers, b"")
    assert inbox.exit_code(look(steers)) == 2


def test_an_unread_steer_is_never_called_a_death(tmp_path, steers):
    put_steer(tmp_path)
    put(steers / "b.json", b"{")
    report = look(steers)
    assert report.redispatch_ok is False
    assert "REDISPATCH_OK" not in str(inbox.failure_lines(report))


def test_a_child_applies_an_authorised_steer_once(tmp_path, steers):
    beat(tmp_path)
    assert delivered(tmp_path).delivery is Delivery.NO_INBOX
    put_steer(tmp_path)
    first = delivered(tmp_path)
    assert (first.delivery, first.steer.text) == (Delivery.APPLIED, "which step?")
    inbox.acknowledge(steers, first.steer, NOW)
    assert delivered(tmp_path).delivery is Delivery.ALREADY_ACKED
    assert look(steers).all_ok


def test_reading_is_not_acknowledging(tmp_path):
    beat(tmp_path)
    put_steer(tmp_path)
    before = tree(tmp_path)
    assert delivered(tmp_path).delivery is delivered(tmp_path).delivery is Delivery.APPLIED
    assert tree(tmp_path) == before


def test_an_expired_steer_is_not_applied(tmp_path):
    beat(tmp_path)
    put_steer(tmp_path, expires_at=ago(0))
    assert delivered(tmp_path).delivery is Delivery.EXPIRED


def test_a_steer_of_a_stranger_is_refused_expired_or_not(tmp_path):
    beat(tmp_path)
    for expires in (ago(-60), ago(60)):
        put_steer(tmp_path, writer_id="stranger", expires_at=expires)
        assert delivered(tmp_path).delivery is Delivery.WRITER_REFUSED


def test_a_broken_steer_is_invalid(tmp_path, steers):
    put(steers / "leaf-7.json", b"{")
    assert delivered(tmp_path).delivery is Delivery.INVALID
