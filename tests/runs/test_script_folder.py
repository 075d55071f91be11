from __future__ import annotations

import os
from pathlib import Path

import pytest
from runs.written import RUN, script, settle

from strawboss.recovery.verdict import Unknown
from strawboss.runs.script import RESUME_TITLE, RESUMED, Script
from strawboss.runs.script_folder import ScriptFolder

UUID = "1a2b3c4d-0000-4000-8000-123456789abc"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def of(folder: Path, run: str = RUN) -> Script | Unknown | None:
    return ScriptFolder("/artifacts/subagent-scripts", str(folder), str).of(run)


def test_a_run_without_a_script_has_none(folder: Path) -> None:
    assert of(folder) is None
    assert of(folder / "no such folder") is None


@pytest.mark.parametrize("run", [RUN, "b", UUID])
def test_a_script_is_found_by_the_end_of_its_name_and_carries_the_path_the_launcher_wrote(
    folder: Path, run: str
) -> None:
    (folder / f"a-b-{run}.sh").write_text(script(run=run))
    found = of(folder, run)
    assert isinstance(found, Script)
    assert found.launch.path == f"/artifacts/subagent-scripts/a-b-{run}.sh"


def test_the_command_decides_and_not_the_name(folder: Path) -> None:
    (folder / f"beta-{RUN}.sh").write_text(script(run="ffffffff"))
    found = of(folder)
    assert isinstance(found, Unknown)
    assert "does not name its run" in found.why


def test_a_run_called_resume_whose_id_looks_like_a_time_is_found(folder: Path) -> None:
    (folder / "x-resume-12345678.sh").write_text(script(run="12345678", name="x resume"))
    assert isinstance(of(folder, "12345678"), Script)


def test_two_scripts_for_one_run_are_unknown(folder: Path) -> None:
    for name in ("beta", "copy"):
        (folder / f"{name}-{RUN}.sh").write_text(script())
    assert isinstance(of(folder), Unknown)


@pytest.mark.parametrize("name", ["beta-resume-1796161681966.sh", "resume-1796161681966.sh"])
def test_a_run_that_only_resumes_another_is_said_to_do_so(folder: Path, name: str) -> None:
    (folder / f"beta-{RUN}.sh").write_text(script())
    (folder / name).write_text(script(run="9ced404c", title=RESUME_TITLE + " for"))
    assert of(folder, "9ced404c") == RESUMED
    assert of(folder, "ffffffff") is None
    assert isinstance(of(folder), Script)


def resume_of(folder: Path, run: str) -> Script | Unknown | None:
    return ScriptFolder("/artifacts/subagent-scripts", str(folder), str).resume_of(run)


def resume(run: str) -> str:
    return script(run=run, title=RESUME_TITLE + " for")


def test_a_resume_script_is_found_by_the_id_in_its_command(folder: Path) -> None:
    (folder / f"beta-{RUN}.sh").write_text(script())
    (folder / "beta-resume-1796161681966.sh").write_text(resume("9ced404c"))
    found = resume_of(folder, "9ced404c")
    assert isinstance(found, Script)
    assert found.launch.path == "/artifacts/subagent-scripts/beta-resume-1796161681966.sh"
    assert resume_of(folder, RUN) is None
    assert resume_of(folder / "no such folder", "9ced404c") is None


def test_two_resume_scripts_of_one_run_are_unknown_and_both_are_named(folder: Path) -> None:
    for name in ("beta-resume-2.sh", "b\x1beta-resume-1.sh"):
        (folder / name).write_text(resume("9ced404c"))
    assert resume_of(folder, "9ced404c") == Unknown(
        "two scripts resume it: b eta-resume-1.sh and beta-resume-2.sh"
    )


def test_a_resume_script_that_contradicts_itself_is_unknown(folder: Path) -> None:
    text = resume("9ced404c").replace("# Session: ", "# Session: /elsewhere")
    (folder / "beta-resume-1.sh").write_text(text)
    assert isinstance(resume_of(folder, "9ced404c"), Unknown)


def test_with_a_folder_that_is_none_a_resume_script_is_unknown_too(folder: Path) -> None:
    (folder / "file").write_bytes(b"")
    assert isinstance(resume_of(folder / "file", RUN), Unknown)


def test_a_fifo_among_the_scripts_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / f"beta-{RUN}.sh")
    os.mkfifo(folder / "beta-resume-1.sh")
    assert isinstance(of(folder), Unknown)
    assert of(folder, "ffffffff") is None


def test_a_folder_that_is_none_is_unknown(folder: Path) -> None:
    (folder / "file").write_bytes(b"")
    assert isinstance(of(folder / "file"), Unknown)


def test_a_script_written_later_is_found_and_a_changed_one_is_read_again(folder: Path) -> None:
    settle(folder)
    scripts = ScriptFolder("/artifacts", str(folder), str)
    assert scripts.of(RUN) is None
    path = folder / f"beta-{RUN}.sh"
    path.write_text(script())
    settle(path)
    assert isinstance(scripts.of(RUN), Script)
    path.write_text(script()[:100])
    settle(path)
    assert isinstance(scripts.of(RUN), Unknown)


def test_a_linked_folder_is_seen_to_change(folder: Path) -> None:
    real = folder / "real"
    real.mkdir()
    settle(real)
    (folder / "link").symlink_to(real, target_is_directory=True)
    scripts = ScriptFolder("/artifacts", str(folder / "link"), str)
    assert scripts.of(RUN) is None
    (real / f"beta-{RUN}.sh").write_text(script())
    assert isinstance(scripts.of(RUN), Script)
