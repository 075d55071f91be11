import msgspec
import pytest
from heartbeat.commands import run
from heartbeat.given import ago, beat, put, put_steer

from strawboss.heartbeat import inbox as inbox_of
from strawboss.heartbeat import schemas
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import read_object

STEER = (
    "subagent:steer",
    "--agent",
    "leaf-7",
    "--writer-id",
    "run-42",
    "--kind",
    "note",
    "--text",
    "which step?",
)


def since(**age):
    return ago(**age, now=utc_now())


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A worktree whose worker beats for run-42; commands run in it."""
    monkeypatch.chdir(tmp_path)
    beat(tmp_path, last_heartbeat_at=since(seconds=10))
    return Worktree(tmp_path)


def inbox(tree):
    return read_object(tree.steer_directory / "leaf-7.json")


def test_a_steer_goes_from_the_parent_to_the_child_and_back_as_an_ack(tree):
    written = run(*STEER, "--steer-id", "s-1")
    assert (written.code, written.err) == (0, "")
    assert "steer_id=s-1" in written.out
    assert "kind=note" in written.out
    pending = run("verify:subagent-steer")
    assert (pending.code, pending.err) == (1, "")
    assert pending.out.startswith("STEER_PENDING")
    assert "which step?" not in pending.out
    letter = run("subagent:inbox", "--agent", "leaf-7")
    assert letter.code == 0
    assert letter.out.splitlines() == ["steer_id=s-1 kind=note from run-42", "which step?"]
    assert run("subagent:ack", "--agent", "leaf-7", "--steer-id", "s-1").code == 0
    assert run("verify:subagent-steer").out == "verify_subagent_steer: no unread steer\n"
    assert run("subagent:inbox", "--agent", "leaf-7").out == "subagent:inbox: already-acked\n"
    assert run("subagent:ack", "--agent", "leaf-7", "--steer-id", "s-1").code == 0


def test_the_written_record_is_the_contracts(tree):
    ran = run(*STEER, "--ttl-seconds", "60", "--json")
    msgspec.json.decode(ran.out, type=inbox_of.Left)
    assert ran.json == inbox(tree) | {"replaced": ""}
    msgspec.convert(inbox(tree), type=schemas.SteerFile)


def test_a_steer_lies_where_the_heartbeat_sweep_does_not_look(tree):
    run(*STEER)
    assert run("agent:monitor", "--json").json["record_count"] == 1


def test_an_unread_steer_is_replaced_with_a_note(tree):
    run(*STEER, "--steer-id", "s-1")
    second = run(*STEER, "--steer-id", "s-2")
    assert second.code == 0
    assert "replaced unread steer s-1" in second.err
    assert inbox(tree)["steer_id"] == "s-2"
    third = run(*STEER, "--steer-id", "s-3", "--json")
    assert (third.code, third.err, third.json["steer_id"], third.json["replaced"]) == (0, "", "s-3", "s-2")
    run("subagent:ack", "--agent", "leaf-7", "--steer-id", "s-3")
    assert run(*STEER, "--json").json["replaced"] == ""


def test_a_stranger_may_not_steer_and_leaves_nothing(tree):
    ran = run(*STEER[:3], "--writer-id", "stranger", *STEER[5:])
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "child occupancy lease" in ran.err
    assert inbox(tree) is None


def test_a_writer_for_an_unknown_child_is_told_about_the_child_lease(tree):
    ran = run("subagent:steer", "--agent", "leaf-8", *STEER[3:])
    assert ran.code == 2
    assert "child occupancy lease" in ran.err
    run("occupancy", "claim", "--session-id", "run-42", "--child", "leaf-8")
    assert run("subagent:steer", "--agent", "leaf-8", *STEER[3:]).code == 0


def test_the_occupant_may_steer(tree):
    owner = (*STEER[:3], "--writer-id", "session-1", "--writer-kind", "occupancy-owner", *STEER[5:])
    assert run(*owner).code == 2
    run("occupancy", "claim", "--session-id", "session-1")
    assert run(*owner).code == 0


@pytest.mark.parametrize("claim", ["--parent-id", "--occupancy-owner-id"])
def test_claims_beside_the_writer_must_be_the_recorded_ones(tree, claim):
    run("occupancy", "claim", "--session-id", "session-1")
    recorded = {"--parent-id": "run-42", "--occupancy-owner-id": "session-1"}[claim]
    assert run(*STEER, claim, recorded).code == 0
    assert run(*STEER, claim, "another").code == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"--agent": "../other"},
        {"--agent": "leaf-7.ack"},
        {"--writer-id": " "},
        {"--kind": "order"},
        {"--text": " "},
        {"--text": "x" * 2001},
        {"--ttl-seconds": "0"},
        {"--ttl-seconds": "inf"},
        {"--ttl-seconds": "1e300"},
        {"--writer-kind": "me"},
    ],
)
def test_a_wrong_steer_is_one_line_exit_2_and_writes_nothing(tree, wrong):
    arguments = dict(zip(STEER[1::2], STEER[2::2], strict=True)) | wrong
    ran = run("subagent:steer", *(part for pair in arguments.items() for part in pair))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert not tree.steer_directory.exists()


def test_a_place_that_cannot_be_written_is_one_line_and_exit_2(tree):
    put(tree.root / "file", b"")
    ran = run(*STEER, "--steer-dir", tree.root / "file")
    assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_malformed_inbox_is_pending_for_the_parent_and_broken_for_the_child(tree):
    put(tree.steer_directory / "leaf-7.json", b"{not json")
    ran = run("verify:subagent-steer")
    assert ran.code == 1
    assert ran.out.startswith("STEER_PENDING")
    assert "Malformed inbox" in ran.out
    assert run("subagent:inbox", "--agent", "leaf-7").code == 1


def test_a_steer_directory_that_is_none_is_exit_2(tree):
    put(tree.steer_directory, b"")
    ran = run("verify:subagent-steer")
    assert ran.code == 2
    assert "config error" in ran.err


@pytest.mark.parametrize("agents", [(), ("--agent", "leaf-7"), ("--agent", "leaf-8")])
def test_the_json_of_the_steer_gate_fits_its_schema_and_never_says_redispatch(tree, agents):
    run(*STEER)
    put(tree.steer_directory / "leaf-9.json", b"{")
    ran = run("verify:subagent-steer", "--json", *agents)
    msgspec.json.decode(ran.out, type=schemas.SteerReport)
    assert ran.json["redispatch_ok"] is False
    assert ran.err == ""
    assert ran.json["all_ok"] is (ran.code == 0)


def test_an_unread_steer_and_a_dead_worker_never_share_an_exit(tree):
    run(*STEER)
    assert run("verify:subagent-alive", "--require-agent", "leaf-7").code == 0
    assert run("verify:subagent-steer").code == 1
    run("subagent:ack", "--agent", "leaf-7", "--steer-id", inbox(tree)["steer_id"])
    beat(tree.root, last_heartbeat_at=since(hours=2))
    dead = run("verify:subagent-alive", "--require-agent", "leaf-7")
    assert dead.code == 1
    assert "STEER_PENDING" not in dead.out + dead.err
    assert run("verify:subagent-steer").code == 0


def test_a_steer_of_a_stranger_in_the_inbox_is_refused_by_the_child(tree):
    put_steer(tree.root, writer_id="stranger", expires_at=since(minutes=-5))
    ran = run("subagent:inbox", "--agent", "leaf-7", "--json")
    assert (ran.code, ran.json["delivery"], ran.json["steer"]) == (1, "writer-refused", None)
    msgspec.json.decode(ran.out, type=schemas.Letter)


@pytest.mark.parametrize("expires", [{"minutes": 1}, {"minutes": -5}])
def test_only_the_steer_in_the_inbox_can_be_acknowledged_while_it_is_valid(tree, expires):
    put_steer(tree.root, steer_id="s-2", expires_at=since(**expires))
    assert run("subagent:ack", "--agent", "leaf-7", "--steer-id", "s-1").code == 1
    assert run("subagent:ack", "--agent", "leaf-7", "--steer-id", "s-2").code == int(expires["minutes"] > 0)


def test_an_empty_inbox_is_nothing_to_do(tree):
    assert run("subagent:inbox", "--agent", "leaf-7").out == "subagent:inbox: no-inbox\n"
    assert run("subagent:ack", "--agent", "leaf-7", "--steer-id", "s-1").code == 1


def test_a_steer_may_have_several_lines_and_no_escapes_when_shown(tree):
    run(*STEER[:-1], "one\n\x1b[31mtwo")
    assert run("subagent:inbox", "--agent", "leaf-7").out.splitlines()[1:] == ["one", " [31mtwo"]


def test_a_steer_id_that_was_acknowledged_is_not_used_again(tree):
    run(*STEER, "--steer-id", "s-1")
    run("subagent:ack", "--agent", "leaf-7", "--steer-id", "s-1")
    ran = run(*STEER, "--steer-id", "s-1")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "s-1 was used before" in ran.err
    assert run("verify:subagent-steer").code == 0


def test_a_steer_read_in_time_may_be_acknowledged_when_it_has_expired(tree):
    run(*STEER, "--steer-id", "s-1")
    assert run("subagent:inbox", "--agent", "leaf-7", "--json").json["delivery"] == "applied"
    put(tree.steer_directory / "leaf-7.json", inbox(tree) | {"expires_at": since(seconds=1)})
    assert run("subagent:ack", "--agent", "leaf-7", "--steer-id", "s-1").code == 0
    assert run("subagent:inbox", "--agent", "leaf-7", "--json").json["delivery"] == "already-acked"


def test_a_steer_with_a_key_of_its_own_is_not_delivered(tree):
    put_steer(tree.root, expires_at=since(minutes=-5), priority="high")
    assert run("subagent:inbox", "--agent", "leaf-7", "--json").json["delivery"] == "invalid"
    assert run("verify:subagent-steer").code == 1


PLACES = [
    ("verify:subagent-steer", "--steer-dir", "gone"),
    ("verify:subagent-steer", "--steer-dir", "gone/.deft-scratch/subagent-steer"),
    ("subagent:inbox", "--agent", "leaf-7", "--target-id", "gone"),
    ("subagent:inbox", "--agent", "leaf-7", "--target-id", "plain"),
    ("subagent:inbox", "--agent", "leaf-7", "--steer-dir", "gone"),
    ("subagent:ack", "--agent", "leaf-7", "--steer-id", "s-1", "--target-id", "gone"),
    (*STEER, "--target-id", "gone"),
    (*STEER, "--steer-dir", "gone"),
    (*STEER, "--steer-dir", "gone/.deft-scratch/subagent-steer"),
]


@pytest.mark.parametrize("arguments", PLACES)
def test_a_place_that_is_not_there_is_exit_2_and_is_not_made(tree, arguments):
    (tree.root / "plain").mkdir()
    ran = run(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    said = run(*arguments, "--json")
    assert (said.code, said.json.get("ok", said.json.get("all_ok"))) == (2, False)
    assert not (tree.root / "gone").exists()
    assert list((tree.root / "plain").iterdir()) == []


def test_where_nobody_was_steered_yet_there_is_nothing_to_read(tree):
    assert run("verify:subagent-steer").code == 0
    assert not tree.steer_directory.exists()


WRONG = [
    ({"--kind": "order"}, "order"),
    ({"--writer-id": "stranger"}, "another parent"),
    ({"--text": "x" * 2001}, "2000 characters"),
    ({"--agent": "../x"}, "file name"),
]


@pytest.mark.parametrize(("wrong", "says"), WRONG)
def test_with_json_what_is_refused_is_json_too(tree, wrong, says):
    arguments = dict(zip(STEER[1::2], STEER[2::2], strict=True)) | wrong
    ran = run("subagent:steer", "--json", *(part for pair in arguments.items() for part in pair))
    msgspec.json.decode(ran.out, type=schemas.Complaint)
    assert (ran.code, says in ran.json["error"]) == (2, True)


def test_an_acknowledgement_is_json_on_request(tree):
    run(*STEER, "--steer-id", "s-1")
    for steer_id, code in (("s-0", 1), ("s-1", 0)):
        ran = run("subagent:ack", "--agent", "leaf-7", "--steer-id", steer_id, "--json")
        msgspec.json.decode(ran.out, type=schemas.Done)
        assert (ran.code, ran.json["exit_code"], ran.err) == (code, code, "")


def test_a_damaged_history_is_one_line_and_changes_nothing(tree):
    put(tree.steer_directory / ".leaf-7.history", b"{half")
    ran = run(*STEER)
    assert (ran.code, ran.err.count("\n"), ".leaf-7.history is damaged" in ran.err) == (2, 1, True)
    assert inbox(tree) is None
