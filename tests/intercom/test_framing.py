import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.intercom.framing import LIMIT, Decoder, FrameError, encode

frames = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3).map(
    lambda f: {**f, "type": "t"}
)
junk = st.one_of(
    st.binary(max_size=20),
    st.sampled_from([b"[]", b'{"type":1}', b"{}", b"\xff", b"[" * 100_000]).map(
        lambda payload: struct.pack(">I", len(payload)) + payload
    ),
)


def decoded(pieces):
    """The frames of these pieces, fed one by one, and the error they end in, if any."""
    decoder, found = Decoder(), []
    for piece in pieces:
        decoder.feed(piece)
        try:
            while (frame := decoder.next()) is not None:
                found.append(frame)
        except FrameError as error:
            return found, str(error)
    return found, None


@given(st.lists(frames, max_size=4), junk, st.data())
def test_however_the_bytes_are_split_the_same_frames_and_the_same_error_come_out(sent, tail, data):
    stream = b"".join(map(encode, sent)) + tail
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    found, error = decoded(pieces)
    whole, error_of_whole = decoded([stream])
    assert (found, error) == (whole, error_of_whole)
    assert found[: len(sent)] == sent


@given(frames)
def test_a_frame_is_four_bytes_of_length_and_its_json(frame):
    header, payload = encode(frame)[:4], encode(frame)[4:]
    assert int.from_bytes(header, "big") == len(payload)
    assert json.loads(payload) == frame


def frame_of(size):
    return {"type": "x" * (size - len(json.dumps({"type": ""}, separators=(",", ":"))))}


def test_a_frame_of_exactly_one_mebibyte_goes_out_and_comes_in():
    decoder = Decoder()
    decoder.feed(encode(frame_of(LIMIT)))
    assert decoder.next() == frame_of(LIMIT)


def test_a_frame_one_byte_longer_does_not_go_out():
    with pytest.raises(FrameError, match="1048577 bytes is too long"):
        encode(frame_of(LIMIT + 1))


def test_a_longer_one_is_refused_by_its_header_alone():
    decoder = Decoder()
    decoder.feed(struct.pack(">I", LIMIT + 1))
    with pytest.raises(FrameError, match="longer than 1 MiB"):
        decoder.next()


def test_text_that_is_no_utf8_does_not_go_out():
    with pytest.raises(FrameError, match="no UTF-8"):
        encode({"type": "register", "cwd": "/srv/\udcff"})


@pytest.mark.parametrize(
    "payload", [b"", b"{,}", b'{"type":NaN}', b"\xff\xfe", b'{"type":"a"}{}', b"[" * 100_000]
)
def test_what_is_no_json_is_an_error(payload):
    decoder = Decoder()
    decoder.feed(struct.pack(">I", len(payload)) + payload)
    with pytest.raises(FrameError, match="no JSON"):
        decoder.next()


@pytest.mark.parametrize("payload", [b"[]", b"null", b"{}", b'{"type":1}', b'"type"'])
def test_what_has_no_type_is_an_error(payload):
    decoder = Decoder()
    decoder.feed(struct.pack(">I", len(payload)) + payload)
    with pytest.raises(FrameError, match="without a type"):
        decoder.next()
