"""Sizes and paths that a program works out when it runs."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

import sknc.runtime as skn_runtime
from sknc.runtime import context as contexts
from sknc.runtime.data.shares import make_share


@pytest.mark.parametrize(
    ("value", "factor", "expected"),
    [
        (64, 2, 32),
        (64, 2.5, 26),
        (96, 48, 2),
        (100, 48, 3),
        (5, 5, 2),
        (3, 2, 2),
        (2, 5, 2),
        (1, 5, 1),
        (0, 5, 0),
        (64, 1, 64),
        (64.0, 2, 32),
        (np.int32(33), 2, 17),
        (30, 10 / 3, 9),
    ],
)
def test_width_is_rounded_up_and_not_below_two(value, factor, expected) -> None:
    assert skn_runtime.width(value, factor) == expected
    assert type(skn_runtime.width(value, factor)) is int


def test_width_keeps_to_multiples_and_never_grows() -> None:
    assert [skn_runtime.width(value, 2, multiple=4) for value in (64, 60, 12, 5, 2)] == [32, 32, 8, 4, 2]
    assert skn_runtime.width(6, 2, multiple=8) == 6


@pytest.mark.parametrize("value", [2.5, "64", None, float("nan"), float("inf")])
def test_a_width_that_is_no_whole_number_is_refused(value) -> None:
    with pytest.raises(skn_runtime.ProgramError, match=r"the width of a layer is .* no whole number"):
        skn_runtime.width(value, 2)


def test_units_are_the_sizes_of_array_split() -> None:
    assert [skn_runtime.units(10, part=[m, 3]) for m in range(3)] == [4, 3, 3]
    with pytest.raises(skn_runtime.ProgramError, match="an axis of 2 cannot be cut into 3 parts"):
        skn_runtime.units(2, part=[0, 3])


def test_epochs_are_rounded_up() -> None:
    assert [skn_runtime.epochs(value, 2.5) for value in (1, 10, 11, 0)] == [1, 4, 5, 0]
    assert skn_runtime.epochs(7, 1) == 7


def test_patch_shape_keeps_the_type_and_open_lengths() -> None:
    assert skn_runtime.patch_shape((7, 6, 3), part=[3, 4], grid=[2, 2]) == (3, 3, 3)
    assert skn_runtime.patch_shape([7, 6], part=[0, 4], grid=[2, 2]) == [4, 3]
    assert skn_runtime.patch_shape((None, 9), part=[0, 2]) == (None, 5)
    assert skn_runtime.patch_shape(9, part=[1, 2]) == 4
    with pytest.raises(skn_runtime.ProgramError, match="patches need an image's shape"):
        skn_runtime.patch_shape((9,), part=[0, 4], grid=[2, 2])
    with pytest.raises(skn_runtime.ProgramError, match="no whole number"):
        skn_runtime.patch_shape((None,), part=[0, 2])


class TestPath:
    def test_relative_absolute_and_upward_paths_stay_inside_and_apart(self, begin) -> None:
        out = begin().out
        given = ["a/model.keras", "../a/model.keras", "/tmp/a/model.keras", "model.keras", "../../model.keras"]
        mapped = [skn_runtime.path(p) for p in given]
        assert mapped[0] == str(out / "a" / "model.keras")
        assert len(set(mapped)) == len(given)
        for place in mapped:
            assert out in Path(os.path.normpath(place)).parents
            assert Path(place).parent.is_dir()
            assert place.endswith("model.keras")

    def test_ways_to_say_one_place_are_one_place(self, begin) -> None:
        begin()
        ways = ["a/../w.h5", "./w.h5", "w.h5", os.path.join(os.getcwd(), "w.h5")]
        assert len({skn_runtime.path(p) for p in ways}) == 1

    def test_types_are_kept_and_other_things_pass(self, begin) -> None:
        out = begin().out
        assert skn_runtime.path(Path("x.h5")) == out / "x.h5"
        assert skn_runtime.path(b"x.h5") == os.fsencode(str(out / "x.h5"))
        assert isinstance(skn_runtime.path("x.h5"), str)
        stream = io.BytesIO()
        assert skn_runtime.path(stream) is stream
        assert skn_runtime.path(None) is None
        assert skn_runtime.path("") == ""

    def test_a_path_that_is_inside_stays(self, begin) -> None:
        begin()
        once = skn_runtime.path("logs/run")
        assert skn_runtime.path(once) == once
        assert skn_runtime.path(os.path.relpath(once)) == os.path.relpath(once)

    def test_a_folder_with_a_final_slash_is_made_and_keeps_it(self, begin) -> None:
        begin()
        folder = skn_runtime.path("logs/")
        assert folder.endswith(os.sep)
        assert Path(folder).is_dir()

    def test_templates_and_remote_places_keep_their_names(self, begin) -> None:
        begin()
        template = "ckpt/{epoch:02d}-{val_loss:.2f}.keras"
        assert skn_runtime.path(template).endswith(os.sep + template)
        assert skn_runtime.path("gs://bucket/x.keras").endswith("gs:/bucket/x.keras")

    def test_exists_and_load_look_at_the_own_file(self, begin) -> None:
        begin()
        Path("w.h5").write_text("the original's")
        assert not skn_runtime.exists("w.h5")
        assert skn_runtime.load("w.h5") == "w.h5"
        Path(skn_runtime.path("w.h5")).write_text("mine")
        assert skn_runtime.exists("w.h5")
        assert skn_runtime.load("w.h5") == skn_runtime.path("w.h5")
        assert skn_runtime.load(None) is None

    @pytest.mark.parametrize(("name", "own"), [("compose.py", False), ("submodel_03.py", True)])
    def test_the_composer_writes_where_the_script_says(self, tmp_path, name, own) -> None:
        place = tmp_path / name
        place.write_text("#")
        share = make_share("multiclass", of=3, whole=True)
        contexts.open_block(contexts.Context(place, 0, share, "composed", folder=tmp_path / "mine"))
        assert (skn_runtime.path("x.keras") != "x.keras") is own

    def test_before_a_block_paths_are_the_users(self) -> None:
        assert skn_runtime.path("x.keras") == "x.keras"
