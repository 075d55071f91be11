import json

import msgspec
import pytest
from heartbeat.given import NOW, ack, content, put_steer, steer
from heartbeat.test_record import BEATS
from hypothesis import given

from strawboss.heartbeat import schemas
from strawboss.heartbeat.firstseen import first_seen
from strawboss.heartbeat.record import examine
from strawboss.heartbeat.steer import parse_steer
from strawboss.system.json_files import encode


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_the_shipped_schema_is_that_of_the_types(name):
    shipped = (schemas.DIRECTORY / f"{name}.json").read_bytes()
    assert shipped == schemas.schema_of(schemas.SCHEMAS[name]), "run python -m strawboss.heartbeat.schemas"


def test_no_other_schema_is_shipped():
    assert {path.stem for path in schemas.DIRECTORY.iterdir()} == set(schemas.SCHEMAS)


def fits(what, shape):
    try:
        msgspec.json.decode(encode(what), type=shape)
    except msgspec.ValidationError:
        return False
    return True


@given(BEATS)
def test_what_a_writer_writes_fits_the_schema_of_heartbeats(beat):
    assert fits(beat.content(NOW), schemas.HeartbeatFile)


@pytest.mark.parametrize(
    "fault",
    [
        {"phase": "poling"},
        {"wait_kind": None},
        {"head_sha": ""},
        {"last_heartbeat_at": "noon"},
        {"parent_id": ...},
        {"parent_id": ""},
        {"last_message": "x" * 251},
        {"last_message": "one\ntwo"},
        {"last_message": "one\n"},
        {"pr_number": -3},
        {"incarnation": 5},
        {"pid": "12"},
    ],
)
def test_what_a_reader_calls_malformed_does_not(fault):
    assert fits(content(), schemas.HeartbeatFile)
    assert not fits(content(**fault), schemas.HeartbeatFile)
    assert examine("leaf-7.json", "leaf-7", content(**fault), NOW, 1800).failures


def test_steer_ack_and_stamp_fit_theirs(tmp_path):
    assert fits(steer(), schemas.SteerFile)
    assert not fits(steer(kind="order"), schemas.SteerFile)
    assert fits(ack(), schemas.AckFile)
    first_seen(tmp_path, parse_steer(json.loads(put_steer(tmp_path).read_bytes()), "leaf-7"), "run-42", NOW)
    assert fits(json.loads((tmp_path / "leaf-7.s-1.json").read_bytes()), schemas.FirstSeenFile)
