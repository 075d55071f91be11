"""`strawboss look SESSION_FILE` says what one look from outside sees, and that it cannot know the registry."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from runs.written import RUN, header, message, text

from strawboss.cli.main import main
from strawboss.tape.shapes import LookedAt


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STRAWBOSS_CONFIG", "HERDR_SOCKET_PATH", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    file = tmp_path / "x_boss.jsonl"
    file.write_bytes(text(header("boss"), message("user", content="hello")))
    return file


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["look", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, " ".join(out.split()), err


def launched(directory: Path, run: str) -> None:
    folder = directory / "artifacts" / "boss" / "subagent-activity"
    folder.mkdir(parents=True)
    (folder / f"{run}.json").write_text("torn")


def test_a_session_without_runs_says_so(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run([str(session)], capsys)
    assert code == 0
    assert out.startswith("session boss, seen from outside: which runs its registry tracks cannot be asked")
    assert out.endswith("it has launched no subagents")


def test_a_run_is_one_sentence(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launched(session.parent, RUN)
    _, out, _ = run([str(session)], capsys)
    assert f"{RUN}: nothing will be done for it: it has no launch script." in out


def test_as_json_it_has_the_schema(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launched(session.parent, RUN)
    _, out, _ = run([str(session), "--json"], capsys)
    said = msgspec.json.decode(out, type=LookedAt)
    assert (said.session, said.file, [one.run for one in said.runs]) == ("boss", str(session), [RUN])
    assert "cannot be asked from outside" in said.registry


def test_what_is_no_session_is_one_line(
    tmp_path: Path, session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in (tmp_path / "no\nsuch", tmp_path):
        code, out, err = run([str(file)], capsys)
        assert (code, out, err.count("\n")) == (2, "", 1)
    assert session.exists()
