import pytest
from heartbeat.given import HOUR, NOW, ago, beat, in_use, put, put_ack, put_steer, tree

from strawboss.heartbeat import inbox
from strawboss.heartbeat.authority import read_claims
from strawboss.heartbeat.inbox import Delivery
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.steer import compose, read_inbox


@pytest.fixture
def steers(tmp_path):
    return Worktree(tmp_path).steer_directory


def look(steers, *agents):
    return inbox.look(steers, agents, NOW)


def delivered(root):
    worktree = Worktree(root)
    slot = read_inbox(worktree.steer_directory, "leaf-7")
    return inbox.deliver(slot, read_claims(worktree, "leaf-7", NOW), NOW)


def claims(root):
    return read_claims(Worktree(root), "leaf-7", NOW)


def acknowledge(root, steer_id="s-1", now=NOW):
    return inbox.acknowledge(Worktree(root).steer_directory, "leaf-7", steer_id, claims(root), now)


def collect(root, now=NOW):
    return inbox.collect(Worktree(root).steer_directory, "leaf-7", claims(root), now).delivery


def leave(root, steer_id, now=NOW):
    written = compose("leaf-7", writer_id="run-42", kind="note", text="x", now=now, steer_id=steer_id)
    replaced = inbox.leave(Worktree(root).steer_directory, written, now)
    return replaced and replaced.steer_id


def test_no_directory_in_a_worktree_in_use_and_an_empty_one_mean_that_nobody_was_steered(tmp_path, steers):
    in_use(tmp_path)
    assert inbox.exit_code(look(steers)) == 0
    steers.mkdir(parents=True)
    assert look(steers).all_ok


def test_no_directory_anywhere_else_says_nothing_of_any_steer(steers, tmp_path):
    assert inbox.exit_code(look(steers)) == 2
    assert inbox.exit_code(look(tmp_path / "gone")) == 2


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
    assert acknowledge(tmp_path) == ""
    assert delivered(tmp_path).delivery is Delivery.ALREADY_ACKED
    assert look(steers).all_ok
    assert acknowledge(tmp_path) == ""


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


def test_an_unread_steer_is_replaced_and_named_and_a_read_one_too_until_it_is_acked(tmp_path):
    beat(tmp_path)
    assert leave(tmp_path, "s-1") is None
    assert leave(tmp_path, "s-2") == "s-1"
    collect(tmp_path)
    assert leave(tmp_path, "s-3") == "s-2"
    acknowledge(tmp_path, "s-3")
    assert leave(tmp_path, "s-4") is None


@pytest.mark.parametrize("since", ["acked", "replaced", "unread", "expired"])
def test_a_steer_id_is_used_once(tmp_path, since):
    beat(tmp_path)
    leave(tmp_path, "s-1")
    if since == "acked":
        acknowledge(tmp_path)
    if since == "replaced":
        leave(tmp_path, "s-2")
    before = tree(tmp_path)
    with pytest.raises(ValueError, match="s-1 was used before"):
        leave(tmp_path, "s-1", NOW + HOUR if since == "expired" else NOW)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("put_there", [put_steer, put_ack])
def test_an_id_that_another_tool_used_is_refused_too(tmp_path, put_there):
    put_there(tmp_path)
    with pytest.raises(ValueError, match="used before"):
        leave(tmp_path, "s-1")


def test_an_ack_is_looked_for_before_the_end(tmp_path):
    beat(tmp_path)
    put_steer(tmp_path, expires_at=ago(1))
    put_ack(tmp_path)
    assert delivered(tmp_path).delivery is Delivery.ALREADY_ACKED


def test_what_was_read_in_time_may_be_acknowledged_after_its_end(tmp_path):
    beat(tmp_path)
    put_steer(tmp_path, expires_at=ago(-60))
    assert collect(tmp_path) is Delivery.APPLIED
    assert acknowledge(tmp_path, now=NOW + HOUR) == ""
    assert collect(tmp_path, NOW + HOUR) is Delivery.ALREADY_ACKED


def test_what_was_not_may_not(tmp_path):
    beat(tmp_path)
    put_steer(tmp_path, expires_at=ago(1))
    assert collect(tmp_path) is Delivery.EXPIRED
    assert acknowledge(tmp_path) == "it expired unread"


def test_only_the_steer_in_the_slot_is_acknowledged(tmp_path):
    assert acknowledge(tmp_path) == "no-inbox"
    beat(tmp_path)
    put_steer(tmp_path, steer_id="s-2")
    assert "not the one" in acknowledge(tmp_path)
    put_steer(tmp_path, writer_id="stranger")
    assert "parent" in acknowledge(tmp_path)
