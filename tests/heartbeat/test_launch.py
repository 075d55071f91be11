import pytest
from heartbeat.given import put

from strawboss.heartbeat.launch import Wanted, launch, read_map
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.places import NoPlaceError


def test_a_map_is_a_list_of_worktrees_and_other_keys_stay_with_whoever_wrote_them(tmp_path):
    rows = [{"story_id": "s-1", "worktree_path": "a", "branch": "x"}, {"worktree_path": "b", "story_id": 7}]
    assert read_map(put(tmp_path / "map.json", rows)) == [Wanted("a", "s-1"), Wanted("b", None)]


@pytest.mark.parametrize("what", [b"", b"{", b"null", {}, [], [7], [{}], [{"worktree_path": 7}]])
def test_anything_else_is_one_line_that_names_the_file(tmp_path, what):
    with pytest.raises(ValueError, match=r"map\.json") as complaint:
        read_map(put(tmp_path / "map.json", what))
    assert "\n" not in str(complaint.value)


def test_a_map_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ValueError, match="No such file"):
        read_map(tmp_path / "map.json")


def test_every_worktree_is_made_ready(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    done = launch([Wanted("a", "s-1"), Wanted(str(tmp_path / "b"))], tmp_path, tmp_path)
    assert [each.worktree_path for each in done.launched] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert all(Worktree(tmp_path / name).status_directory.is_dir() for name in ("a", "b"))


def test_one_that_is_not_there_leaves_all_as_they_are(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(NoPlaceError, match="no such worktree: gone"):
        launch([Wanted("a"), Wanted("gone")], tmp_path, tmp_path)
    assert list((tmp_path / "a").iterdir()) == []
