from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from strawboss.system.process_identity import Liveness, ProcessIdentity, liveness
from strawboss.wakeup import execute as module
from strawboss.wakeup.execute import Ended, Execution, Order, execute, filled
from strawboss.wakeup.tokens import Listener

pytestmark = pytest.mark.slow

TEXTS = {"prompt": "do {task} and {system_prompt}\n", "system_prompt": "be kind", "task": "task-1"}


def never(_: Listener) -> str | None:
    return None


def nobody(_: ProcessIdentity) -> None:
    return None


@pytest.fixture
def order(tmp_path: Path) -> Callable[..., Order]:
    def order(*argv: str, seconds: float = 20, pty: bool = False, texts: dict[str, str] = TEXTS) -> Order:
        output = tmp_path / "output" / "task-1.log"
        return Order(argv, texts, tmp_path, dict(os.environ), output, seconds, f"cycle-{tmp_path.name}", pty)

    return order


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def run(order: Order) -> Execution:
    return execute(order, nobody, never)


def test_a_command_gets_its_prompt_on_standard_input_and_its_output_is_the_answer(
    order: Callable[..., Order],
) -> None:
    done = run(order(*python("import sys; print('heard', sys.stdin.read())")))
    assert done == Execution(Ended.EXITED, "", "heard do {task} and {system_prompt}", 0)
    assert done.succeeded


def test_a_large_prompt_and_a_large_output_do_not_block_each_other(order: Callable[..., Order]) -> None:
    texts = {**TEXTS, "prompt": "x" * 3_000_000}
    done = run(order(*python("import sys; print('y' * 3000000); print(len(sys.stdin.read()))"), texts=texts))
    assert done.answer.endswith("\n3000000")


def test_placeholders_are_filled_once_and_texts_stay_texts(
    order: Callable[..., Order], tmp_path: Path
) -> None:
    wanted = order(
        "say", "{system_prompt}: {prompt}", "{task}", "{prompt_file}", "{workspace}", "{other}", "{}"
    )
    assert filled(wanted, Path("/p")) == [
        "say", "be kind: do {task} and {system_prompt}\n", "task-1", "/p", str(tmp_path), "{other}", "{}",
    ]  # fmt: skip


def test_output_and_prompt_are_private_files_and_the_output_is_whole(order: Callable[..., Order]) -> None:
    wanted = order(*python("import os; os.write(1, b'out\\n'); os.write(2, b'err\\n')"))
    run(wanted)
    assert sorted(wanted.output.read_text().split()) == ["err", "out"]
    for file in (wanted.output, wanted.output.with_suffix(".prompt")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys; sys.stderr.write('no such thing\\n'); sys.exit(3)", "exited with 3: no such thing"),
        ("raise SystemExit(4)", "exited with 4"),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
    ],
)
def test_a_command_that_fails_says_how_with_its_last_line(
    order: Callable[..., Order], code: str, why: str
) -> None:
    done = run(order(*python(code)))
    assert (done.ended, done.why, done.succeeded) == (Ended.EXITED, why, False)


def test_a_model_that_fails_is_a_failure_though_pi_exits_with_0(order: Callable[..., Order]) -> None:
    line = (
        '{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"no quota"}}'
    )
    assert run(order(*python(f"print('''{line}''')"))).why == "the model failed: no quota"


@pytest.mark.parametrize("argv", [("/no/such/program",), ("/",)])
def test_a_command_that_cannot_be_run_is_not_started(
    order: Callable[..., Order], argv: tuple[str, ...]
) -> None:
    done = run(order(*argv))
    assert done.ended is Ended.NOT_STARTED
    assert "cannot be run" in done.why


def test_a_command_that_takes_too_long_is_ended_with_all_its_children(
    order: Callable[..., Order], tmp_path: Path
) -> None:
    code = "import subprocess, time; c = subprocess.Popen(['sleep', '600']); open('pid','w').write(str(c.pid)); c.wait()"
    began: list[ProcessIdentity] = []
    done = execute(order(*python(code), seconds=1.0), began.append, never)
    assert (done.ended, done.why) == (Ended.TIME_LIMIT, "it took longer than its time limit of 1s")
    assert liveness(began[0]) is Liveness.GONE
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


def test_whoever_watches_can_stop_it_and_sees_what_it_does(order: Callable[..., Order]) -> None:
    def watch(listener: Listener) -> str | None:
        return "seen enough" if listener.activity == "working hard" else None

    code = "import time; print('working hard', flush=True); time.sleep(600)"
    done = execute(order(*python(code)), nobody, watch)
    assert (done.ended, done.why, done.answer) == (Ended.STOPPED, "seen enough", "working hard")


def test_what_it_says_last_is_counted_too_and_no_reason_to_stop_what_has_ended(
    order: Callable[..., Order],
) -> None:
    seen: list[str] = []

    def watch(listener: Listener) -> str | None:
        seen.append(listener.answer)
        return "late" if listener.answer else None

    assert execute(order(*python("import os; os.write(1, b'x'); os._exit(0)")), nobody, watch).succeeded
    assert seen[-1] == "x"


def test_a_process_that_was_left_behind_ends_with_its_command(
    order: Callable[..., Order], tmp_path: Path
) -> None:
    code = "import subprocess; open('pid','w').write(str(subprocess.Popen(['sleep', '600'], start_new_session=True).pid))"
    began = time.monotonic()
    assert run(order(*python(code))).succeeded
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
    assert time.monotonic() - began < 10


def test_a_command_may_close_its_output_and_work_on(order: Callable[..., Order], tmp_path: Path) -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep(0.3); open('done', 'w').close()"
    assert run(order(*python(code))).succeeded
    assert (tmp_path / "done").exists()


def test_a_terminal_is_a_terminal(order: Callable[..., Order]) -> None:
    code = "import os, sys; print(sys.stdin.isatty(), sys.stdout.isatty(), os.get_terminal_size(), open('/dev/tty') and 1)"
    done = run(order(*python(code), pty=True))
    assert done.answer == "True True os.terminal_size(columns=120, lines=40) 1"


def test_output_beyond_the_limit_is_dropped_and_the_command_goes_on(
    order: Callable[..., Order], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_OUTPUT", 1000)
    wanted = order(*python("print('x' * 5000); print('the end')"))
    assert run(wanted).answer.endswith("the end")
    assert wanted.output.stat().st_size == 1000


def test_an_endless_line_is_not_kept(order: Callable[..., Order], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 1000)
    assert len(run(order(*python("print('x' * 5000000); print('short')"))).answer) < 100_000


def test_an_exception_of_the_caller_ends_the_command(order: Callable[..., Order]) -> None:
    began: list[ProcessIdentity] = []

    def watch(_: Listener) -> str | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(order("sleep", "600"), began.append, watch)
    assert liveness(began[0]) is Liveness.GONE
