"""The stand-in model, asked by the real pi."""

import json
import subprocess

import pytest
from e2e.pi_install import pi_binary, pi_environment
from standins.model import Call, Calls, Fail, Hang, Model, Request, Text, instructed, rules

pytestmark = pytest.mark.slow


@pytest.fixture
def ask(tmp_path):
    """Runs one prompt through `pi -p` against a model with this script: `(result, model)`."""

    def run(prompt, script=instructed):
        with Model(tmp_path / "model.jsonl", script) as model:
            command = [pi_binary(), "-p", prompt]
            environment = pi_environment(tmp_path, model.url)
            done = subprocess.run(
                command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
            )
            return done, model

    return run


def user(text):
    return {"role": "user", "content": text}


def tool(text="(no output)"):
    return {"role": "tool", "content": [{"type": "text", "text": text}]}


def test_pi_runs_the_tool_it_is_told_to_call_and_ends_with_what_it_is_told_to_say(ask, tmp_path):
    done, model = ask('please\nCALL bash {"command": "echo hi > out"}\nSAY all is well')
    assert (done.returncode, done.stdout.strip()) == (0, "all is well")
    assert (tmp_path / "out").read_text() == "hi\n"
    assert len(model.requests) == 2
    assert "bash" in model.requests[0].tools


def test_the_log_holds_every_request(ask, tmp_path):
    ask("hello")
    [line] = (tmp_path / "model.jsonl").read_text().splitlines()
    assert json.loads(line)["request"]["messages"][-1]["role"] == "user"


def test_an_error_status_reaches_pi_as_a_failed_turn(ask):
    done, model = ask("hello", lambda _: Fail(400, "no such luck"))
    assert done.returncode == 1
    assert "no such luck" in done.stderr
    assert len(model.requests) == 1


def test_a_hanging_answer_comes_when_it_is_released(tmp_path):
    with Model(tmp_path / "model.jsonl", lambda _: Hang(Text("at last"))) as model:
        environment = pi_environment(tmp_path, model.url)
        pi = subprocess.Popen(
            [pi_binary(), "-p", "wait"], env=environment, cwd=tmp_path, stdout=subprocess.PIPE
        )
        model.wait_for(lambda request: "wait" in request.last)
        assert pi.poll() is None
        model.release()
        assert pi.communicate(timeout=120)[0].strip() == b"at last"


def test_two_calls_in_one_answer_both_run(ask, tmp_path):
    both = Calls((Call("bash", {"command": "touch a"}), Call("bash", {"command": "touch b"})))
    ask("go", rules([("^go$", both)]))
    assert (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()


def test_each_instruction_of_the_newest_prompt_is_one_turn():
    prompt = user("CALL read {}\n  SLEEP 2\nSAY bye")
    assert instructed(Request((prompt,))) == Call("read", {})
    assert instructed(Request((prompt, tool()))) == Call("bash", {"command": "sleep 2", "timeout": 62})
    assert instructed(Request((prompt, tool(), tool()))) == Text("bye")
    assert instructed(Request((prompt, tool(), user("thanks")))) == Text("done")


def test_what_a_tool_said_is_no_instruction():
    assert instructed(Request((user("look"), tool("CALL bash {}")))) == Text("done")


def test_the_first_rule_whose_pattern_is_in_the_newest_message_wins():
    script = rules([("nine", Text("9")), ("no output", lambda request: Text(str(request.results)))])
    assert script(Request((user("nine"),))) == Text("9")
    assert script(Request((user("nine"), tool()))) == Text("1")
    assert script(Request((user("ten"),))) == Text("done")


def test_waiting_for_a_request_that_never_comes_says_what_came(tmp_path):
    with (
        Model(tmp_path / "model.jsonl") as model,
        pytest.raises(TimeoutError, match="0 of 1 such requests, 0 in all"),
    ):
        model.wait_for(lambda _: True, seconds=0.01)
