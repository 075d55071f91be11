from __future__ import annotations

import stat
from pathlib import Path

import pytest

from strawboss.wakeup import agents
from strawboss.wakeup.agents import Agent, RegistryError, append, load, parse

PATH = Path("agents.yaml")
WHOLE = """\
# who there is
agents:
  - name: researcher
    id: agent-a1b2
    role: analyst
    title: Market Analyst
    capabilities: {research: 4, web: 2}
    scope: read-only
    permissions: [delegate, approve]
    workspace: /srv/market
    system_prompt: |
      You are careful.
    command: [pi, --mode, json]
    time_limit: 30m
    budget: 50000
  - name: coder
    capabilities: [python]
    command: pi --mode json "two words"
"""


def test_an_entry_has_everything_that_an_agent_is_told_by() -> None:
    researcher, coder = parse(PATH, WHOLE)
    assert (researcher.name, researcher.slug, researcher.title) == (
        "researcher",
        "agent-a1b2",
        "Market Analyst",
    )
    assert researcher.levels == {"research": 4, "web": 2}
    assert researcher.permissions == {"delegate", "approve"}
    assert researcher.directory == Path("/srv/market")
    assert researcher.time_limit_seconds == 1800
    assert coder.slug == "agent-coder"
    assert coder.levels == {"python": 3}
    assert coder.argv == ["pi", "--mode", "json", "two words"]
    assert coder.budget is None
    assert coder.permissions == {"delegate"}


@pytest.mark.parametrize("text", ["", "agents: []", "# nothing\n", "agents:\n"])
def test_an_empty_registry_has_no_agents(text: str) -> None:
    if text == "agents:\n":
        with pytest.raises(RegistryError, match="agents: Expected `array`, got `null`"):
            parse(PATH, text)
    else:
        assert parse(PATH, text) == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("agents: [", "agents.yaml: not YAML: line "),
        ("agents:\n  - name: a\n\tb: c", "not YAML: line 3"),
        ("[]", "the file: Expected `object`"),
        ("agents: {}", "agents: Expected `array`"),
        ("agent: []", "unknown field `agent`"),
        ("agents: [{}]", "missing required field `name`"),
        ("agents: [{name: no}]", "agents[0].name: Expected `str`, got `bool`"),
        ("agents: [{name: ''}]", "agents[0]: name '' cannot be one; write at most 64 letters"),
        ("agents: [{name: ../x}]", "name '../x' cannot be one"),
        ("agents: [{name: 'a\n\n b'}]", "name 'a\\nb' cannot be one"),
        (
            "agents:\n- name: a\n  id: b c",
            "line 3: agents[0]: id 'b c' cannot be a file name; use 1 to 128 letters",
        ),
        (
            "agents:\n- name: a\n- name: b\n  budget: 1\n  name: c",
            "line 5: 'name' is there twice, first in line 3",
        ),
        ("agents: []\nagents: []", "line 2: 'agents' is there twice, first in line 1; keep one"),
        (
            "agents:\n- name: a\n  command: cat\n  time_limit: 0s",
            "line 4: agents[0]: time_limit '0s' is not a duration",
        ),
        ("agents:\n- name: a\n  colour: red", "line 3: agents[0]: Object contains unknown field `colour`"),
        ("agents:\n- name: a\n\n- name: b\n  budget: lots", "line 5: agents[1].budget: Expected `int"),
        ("agents: [{name: a, budget: lots}]", "agents[0].budget: Expected `int"),
        ("agents: [{name: a, budget: -1}]", "agents[0].budget"),
        ("agents: [{name: a, capabilities: {x: 6}}]", "agents[0].capabilities"),
        ("agents: [{name: a, scope: everything}]", "agents[0].scope"),
        ("agents: [{name: a, permissions: [fly]}]", "agents[0].permissions"),
        ("agents: [{name: a, colour: red}]", "unknown field `colour`"),
        (
            "agents: [{name: a, time_limit: soon}]",
            "time_limit 'soon' is not a duration; write for example 30m",
        ),
        ("agents: [{name: a, command: 'sh -c \"open'}]", "command"),
        ("agents: [{name: a, pty: true, command: vi}]", "write {prompt} or {prompt_file}"),
        ("agents: [{name: a}, {name: a}]", "two agents have the name 'a'"),
        ("agents: [{name: a, id: x}, {name: b, id: x}]", "two agents have the id 'x'"),
        ("agents: [{name: a}, {name: b, id: agent-a}]", "two agents have the id 'agent-a'"),
        ("!!python/object/apply:os.system [id]", "not YAML"),
        ("[" * 5000, "agents.yaml: "),
    ],
)
def test_a_registry_that_cannot_be_used_says_where_in_one_line(text: str, complaint: str) -> None:
    with pytest.raises(RegistryError) as caught:
        parse(PATH, text)
    assert complaint in str(caught.value)
    assert str(caught.value).startswith("agents.yaml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("Übersetzer", True),
        ("研究員", True),
        ("शोधकर्ता", True),  # its vowels are marks
        ("agent_7-b", True),
        ("7th", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("語" * 64, True),
        ("\U00020000" * 51, False),  # more bytes than a file name has room for
        ("u\u0308ber", False),  # looks like über and is another file
        ("\u0301a", False),
        ("-a", False),
        ("a.b", False),
        ("a b", False),
        ("🙂", False),
        ("a\u202eb", False),
        ("\udc80", False),
    ],
)
def test_a_name_is_letters_of_any_script_in_one_spelling(name: str, fits: bool) -> None:
    assert agents.is_name(name) is fits


def test_an_agent_whose_name_is_not_ascii_has_an_id_that_is() -> None:
    assert (Agent("研究員").slug, Agent("writer").slug) == ("agent-898c10f3", "agent-writer")


def test_a_registry_that_is_not_there_is_empty_and_one_that_cannot_be_read_is_an_error(home: Path) -> None:
    assert load().agents == ()
    agents.registry_path().mkdir(parents=True)
    with pytest.raises(RegistryError, match="cannot be read"):
        load()
    (home / "latin").write_bytes(b"agents: [{name: a, title: \xe4}]")
    with pytest.raises(RegistryError, match="not UTF-8"):
        load(home / "latin")


def test_a_huge_file_is_no_registry(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "LARGEST_REGISTRY", 100)
    (home / "big").write_text("#" * 101)
    with pytest.raises(RegistryError, match="larger"):
        load(home / "big")


def test_an_agent_is_found_by_name_and_by_id_and_an_unknown_one_lists_the_known(home: Path) -> None:
    agents.registry_path().parent.mkdir()
    agents.registry_path().write_text(WHOLE)
    registry = load()
    assert registry.get("researcher") is registry.get("agent-a1b2")
    with pytest.raises(RegistryError, match=r"no agent is named 'nobody'; there are: researcher, coder"):
        registry.get("nobody")


def test_the_place_of_the_registry_can_be_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRAWBOSS_AGENTS", str(home / "mine.yaml"))
    assert agents.registry_path() == home / "mine.yaml"


@pytest.mark.parametrize("before", ["", "agents: []\n", WHOLE, WHOLE.rstrip(), "agents:\n- name: a"])
def test_an_agent_is_added_at_the_end_and_every_other_byte_stays(home: Path, before: str) -> None:
    file = home / "new" / "agents.yaml"
    file.parent.mkdir()
    if before:
        file.write_text(before)
    known = parse(file, before)
    append(file, Agent("late", capabilities={"a": 5}, system_prompt="two\nlines: here", budget=7))
    assert file.read_text().startswith(before if known else "")
    assert load(file).agents[:-1] == known
    assert load(file).agents[-1].system_prompt == "two\nlines: here"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_agent_that_cannot_be_added_at_the_end_is_refused_and_the_file_stays(home: Path) -> None:
    file = home / "agents.yaml"
    file.write_text("agents: [{name: a}]\n")
    with pytest.raises(RegistryError, match=r"add it by hand|not YAML"):
        append(file, Agent("late"))
    assert file.read_text() == "agents: [{name: a}]\n"
    append(home / "other.yaml", Agent("a"))
    with pytest.raises(RegistryError, match="two agents have the name 'a'"):
        append(home / "other.yaml", Agent("a"))
