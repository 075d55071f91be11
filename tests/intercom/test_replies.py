import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.intercom.replies import Sessions, peer
from strawboss.recovery.evidence import Peer

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=5,
)


def read(**fields):
    [session] = msgspec.convert({"sessions": [{"id": "a", "pid": 7, **fields}]}, Sessions).sessions
    return peer(session)


def test_a_session_that_says_only_who_it_is_has_no_epoch_no_status_and_no_place():
    assert read() == Peer("a", 7, "")


def test_an_empty_epoch_is_none_because_no_broker_takes_it_back():
    assert read(endpointEpoch="").epoch is None
    assert read(endpointEpoch="e").epoch == "e"


@pytest.mark.parametrize(("pid", "read_as"), [(7.0, 7), (1e3, 1000), (7.5, 0), (-1, -1), (2**70, 2**70)])
def test_a_pid_is_any_number_and_one_that_is_not_whole_is_nobodys(pid, read_as):
    assert read(pid=pid).pid == read_as


@given(anything)
def test_whatever_the_location_is_it_is_one_and_only_a_current_one_with_a_pane_id_names_a_pane(location):
    found = read(herdrLocation=location)
    assert found.located
    current = isinstance(location, dict) and location.get("status") == "current"
    assert found.pane is None or (current and found.pane == location["paneId"])


def test_fields_nobody_here_knows_are_skipped():
    assert read(model=["not", "a", "model"], cwd=1, tomorrow={}) == Peer("a", 7, "")


@pytest.mark.parametrize(
    "fields", [{"id": 1}, {"pid": "7"}, {"pid": None}, {"status": 3}, {"endpointEpoch": []}]
)
def test_an_entry_with_a_field_of_the_wrong_type_is_not_read(fields):
    with pytest.raises(msgspec.ValidationError):
        read(**fields)
