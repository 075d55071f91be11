import stat
from pathlib import Path

import pytest
from heartbeat.given import in_use, put

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.places import (
    NoPlaceError,
    check_status_directory,
    check_steer_directory,
    existing_worktree,
    find_target,
    ledger_roots,
    make_scratch,
    project_root,
)


def marked(root, mark="project"):
    """A directory that is a project or a git tree."""
    if mark == "project":
        put(root / "AGENTS.md", b"")
        (root / "vbrief").mkdir()
    else:
        put(root / ".git", b"gitdir: elsewhere")
    (root / "src" / "deep").mkdir(parents=True)
    return root


@pytest.mark.parametrize("mark", ["project", "git"])
@pytest.mark.parametrize("below", ["", "src", "src/deep"])
def test_a_project_is_found_upwards(tmp_path, mark, below):
    assert project_root(marked(tmp_path, mark) / below) == tmp_path


@pytest.mark.parametrize("half", ["AGENTS.md", "vbrief/x"])
def test_half_a_mark_is_none_and_without_any_one_stands_in_the_project(tmp_path, half):
    put(tmp_path / half, b"")
    (tmp_path / "src").mkdir()
    assert project_root(tmp_path / "src") == tmp_path / "src"


def test_the_worktree_inside_a_project_is_a_root_of_its_own(tmp_path):
    marked(tmp_path)
    tree = marked(tmp_path / "worktrees" / "a", "git")
    assert project_root(tree / "src") == tree


def test_ledgers_are_looked_for_around_and_in_the_clone_of_a_linked_tree(tmp_path):
    project, clone = marked(tmp_path / "project"), tmp_path / "clone"
    tree = project / "worktrees" / "a"
    put(tree / ".git", f"gitdir: {clone}/.git/worktrees/a\n".encode())
    assert ledger_roots(tree) == (tree, project, clone)
    assert ledger_roots(project) == (project,)


@pytest.mark.parametrize("text", [b"", b"\n", b"gitdir: /clone/.git/modules/x", b"\xff"])
def test_a_git_file_that_says_nothing_of_a_clone_names_none(tmp_path, text):
    put(tmp_path / ".git", text)
    assert ledger_roots(tmp_path) == (tmp_path,)


def test_a_target_is_seen_from_here_or_from_the_project(tmp_path):
    root = marked(tmp_path)
    (root / "tree").mkdir()
    for text in ("tree", "./tree", "../tree", str(root / "tree"), "src/../tree"):
        assert find_target(text, root, root / "src") == root / "tree"
    assert find_target("gone", root, root / "src") == root / "gone"


def test_one_that_may_be_two_is_refused_unless_they_are_the_same(tmp_path):
    root = marked(tmp_path)
    (root / "tree").mkdir()
    (root / "src" / "tree").symlink_to("../tree")
    assert find_target("tree", root, root / "src") == root / "src" / "tree"
    (root / "src" / "tree").unlink()
    (root / "src" / "tree").mkdir()
    with pytest.raises(NoPlaceError, match="give an absolute path"):
        find_target("tree", root, root / "src")


def test_a_worktree_must_be_there(tmp_path):
    root = marked(tmp_path)
    assert existing_worktree(None, root / "src") == Worktree(root)
    put(root / "file", b"")
    for text in ("gone", "file", "/no/such/x"):
        with pytest.raises(NoPlaceError, match="is not a directory"):
            existing_worktree(text, root)


def test_a_status_directory_must_be_there(tmp_path):
    check_status_directory(in_use(tmp_path))
    put(tmp_path / "file", b"")
    for path in (tmp_path / "gone", tmp_path / "file"):
        with pytest.raises(NoPlaceError, match="is not a status directory"):
            check_status_directory(path)


def test_a_steer_directory_may_be_missing_beside_a_status_directory_only(tmp_path):
    steers = Worktree(tmp_path).steer_directory
    with pytest.raises(NoPlaceError, match="right worktree"):
        check_steer_directory(steers)
    in_use(tmp_path)
    check_steer_directory(steers)
    with pytest.raises(NoPlaceError, match="right worktree"):
        check_steer_directory(tmp_path / "gone")
    put(steers, b"")
    with pytest.raises(NoPlaceError, match="is not a directory"):
        check_steer_directory(steers)


def test_what_is_made_is_private_out_of_git_and_made_once(tmp_path):
    directory = make_scratch(Worktree(tmp_path).status_directory)
    ignore = tmp_path / ".deft-scratch" / ".gitignore"
    assert ignore.read_text() == "*\n"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (directory, ignore)] == [0o700, 0o600]
    ignore.write_text("mine")
    make_scratch(directory)
    assert ignore.read_text() == "mine"


@pytest.mark.parametrize("place", ["gone/.deft-scratch/subagent-status", "gone", "file"])
def test_nothing_is_made_in_a_place_that_is_not_there(tmp_path, place):
    put(tmp_path / "file", b"")
    with pytest.raises(FileNotFoundError):
        make_scratch(tmp_path / place)
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_directory_elsewhere_gets_no_ignore_file(tmp_path):
    assert make_scratch(tmp_path) == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_the_root_of_the_disk_is_no_project():
    assert project_root(Path("/")) == Path("/")
