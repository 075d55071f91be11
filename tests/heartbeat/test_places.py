import stat
from pathlib import Path

import pytest
from heartbeat.given import ack, in_use, put

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.places import (
    NoPlaceError,
    check_steer_directory,
    existing_worktree,
    find_target,
    ledger_root,
    ledger_roots,
    make_scratch,
    project_root,
)


def marked(root, mark="project"):
    """A directory that is a project or a git tree."""
    if mark == "project":
        put(root / "AGENTS.md", b"")
        (root / "vbrief").mkdir(parents=True)
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


@pytest.mark.parametrize("of", ["linked", "marked", "dispatched"])
def test_the_worktree_inside_a_project_is_a_root_of_its_own(tmp_path, of):
    project, tree = marked(tmp_path / "project"), tmp_path / "project" / "worktrees" / "a"
    in_use(project)
    {"linked": lambda: linked(tree, tmp_path / "clone"), "marked": lambda: marked(tree)}.get(
        of, lambda: in_use(tree)
    )()
    assert project_root(tree / "src") == tree


@pytest.mark.parametrize("of", ["marked", "dispatched"])
def test_a_repository_inside_a_worktree_is_a_part_of_it(tmp_path, of):
    tree = marked(tmp_path) if of == "marked" else in_use(marked(tmp_path, "git")).parents[1]
    assert project_root(marked(tree / "vendor" / "lib", "git") / "src") == tree


def linked(tree, clone, mark=None):
    """A linked tree of a clone."""
    (clone / ".git" / "worktrees" / tree.name).mkdir(parents=True)
    put(tree / ".git", f"gitdir: {clone}/.git/worktrees/{tree.name}\n".encode())
    return marked(tree) if mark else tree


@pytest.mark.parametrize(
    "target", ["", "tree", "src/deep", "vendor/lib", "vendor/lib/src", "gone/deeper", "alias"]
)
def test_the_ledger_of_a_target_is_its_projects_whatever_repositories_lie_between(tmp_path, target):
    root = marked(tmp_path / "project")
    put(tmp_path / ".git", b"")
    marked(root / "vendor" / "lib", "git")
    (root / "alias").symlink_to("vendor/lib")
    assert ledger_root(root / target) == root


@pytest.mark.parametrize("mark", [None, "project"])
@pytest.mark.parametrize("place", ["elsewhere/a", "project/worktrees/a"])
def test_a_linked_tree_has_the_ledger_of_its_clone(tmp_path, place, mark):
    clone = marked(tmp_path / "project")
    tree = linked(tmp_path / place, clone, mark)
    assert ledger_root(tree) == ledger_root(tree / "src") == clone


def test_without_the_two_marks_it_is_the_git_top_level_and_without_that_the_target(tmp_path):
    clone = tmp_path / "clone"
    assert ledger_root(linked(tmp_path / "tree", clone)) == clone
    (tmp_path / "plain").mkdir()
    assert ledger_root(tmp_path / "plain") == tmp_path / "plain"
    with pytest.raises(NoPlaceError, match="give --project-root"):
        ledger_root(tmp_path / "gone")


def test_ledgers_of_other_tools_are_looked_for_around_and_in_the_clone_of_a_linked_tree(tmp_path):
    project, clone = marked(tmp_path / "project"), tmp_path / "clone"
    tree = linked(project / "worktrees" / "a", clone, "project")
    assert ledger_roots(tree) == (clone, tree, project)
    assert ledger_roots(project) == (project,)


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"gitdir: /clone/.git/modules/x", b"gitdir: /gone/.git/worktrees/x", b"\xff"]
)
def test_a_git_file_that_says_nothing_of_a_clone_names_none(tmp_path, text):
    put(tmp_path / ".git", text)
    assert ledger_roots(tmp_path) == (tmp_path,)


def test_a_git_file_that_names_itself_is_followed_nowhere(tmp_path):
    put(tmp_path / ".git", f"gitdir: {tmp_path}/.git/worktrees/x".encode())
    assert ledger_root(tmp_path) == tmp_path


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


@pytest.mark.parametrize("held", [{}, {"package.json": {"schema": 7}}, {"leaf-7.json": b"{half"}])
def test_another_directory_is_no_steer_directory_unless_a_steer_lies_in_it(tmp_path, held):
    in_use(tmp_path)
    other = tmp_path / ".deft-scratch" / "subagent-status" / "src"
    other.mkdir()
    for name, what in held.items():
        put(other / name, what)
    with pytest.raises(NoPlaceError, match="not a steer directory"):
        check_steer_directory(other)
    put(other / "leaf-7.ack.json", ack())
    check_steer_directory(other)


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
