"""Programs that run alone: what they leave behind, how they end, and how their failures point back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import sknc.runtime as skn_runtime
from sknc.runtime import artifacts, tracebacks
from sknc.runtime import context as contexts
from sknc.runtime.data.labels import LabelMap, label_map
from tests.runtime.helpers import spy

RUNTIME = Path(skn_runtime.__file__).parent

SCRIPT = """\
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras

def main():
    import sys; sys.path.insert(0, {folder!r}); import skn_runtime; skn_runtime.begin(__file__, {begin})
    y = np.arange(60) % 6
    x = np.eye(7, 4)[y] + np.linspace(0, 1, 60)[:, None]
    try:
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
        model.add(keras.layers.Dense(3, activation="softmax"))
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        history = skn_runtime.fit(model, x, y, epochs=2, verbose=0, validation_split=0.2)
        skn_runtime.finish()
    except Exception as error:
        print("caught", type(error))
        raise
    print("never reached")

if __name__ == "__main__":
    main()
"""
BEGIN = "block=0, kind='multiclass', of=6, classes=[0, 2, 3]"


def write_program(folder: Path, text: str, name: str = "submodel_00.py") -> Path:
    folder.mkdir(exist_ok=True)
    shutil.copytree(RUNTIME, folder / "skn_runtime", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    place = folder / name
    place.write_text(text, encoding="utf-8")
    return place


def run(program: Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "PYTHONDONTWRITEBYTECODE": "1", **env}
    settings.pop("PYTHONPATH", None)
    return subprocess.run(
        [sys.executable, str(program)], cwd=cwd, env=settings, capture_output=True, text=True, check=False, timeout=300
    )


def test_a_program_runs_from_anywhere_with_the_copied_runtime_alone(tmp_path) -> None:
    folder = tmp_path / "split"
    program = write_program(folder, SCRIPT.format(folder=str(folder), begin=BEGIN))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = run(program, elsewhere)
    assert done.returncode == 0, done.stderr
    assert "never reached" not in done.stdout
    assert "caught" not in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("skynnet: ")] == [
        line for line in done.stdout.splitlines() if "submodel_00.py: classes 0, 2, 3, 35 parameters, 2 epochs" in line
    ]
    assert list(elsewhere.iterdir()) == []
    result = artifacts.finished(program)
    assert result is not None
    assert result["file"] == "submodel_00.py"
    assert result["program"] == artifacts.program_hash(program)
    assert result["parameters"] == 35
    assert result["epochs"] == 2
    assert result["rows"] == 24
    assert result["from_logits"] is False
    assert result["share"]["classes"] == [0, 2, 3]
    assert label_map(result["labels"]) == LabelMap(6)
    place = artifacts.folder(program)
    history = json.loads((place / "history.json").read_text())
    assert history["epoch"] == [0, 1]
    assert sorted(history["history"]) == ["accuracy", "loss", "val_accuracy", "val_loss"]
    weights = artifacts.load_weights(place / "weights.npz")
    model = keras.models.model_from_json((place / "model.json").read_text())
    model.set_weights(weights)
    assert model.predict(np.ones((1, 4)), verbose=0).shape == (1, 3)
    program.write_text(program.read_text() + "# changed\n")
    assert artifacts.finished(program) is None, "another text has not finished"


def test_a_failure_ends_with_a_status_and_the_users_line(tmp_path) -> None:
    folder = tmp_path / "split"
    text = SCRIPT.format(folder=str(folder), begin=BEGIN).replace("% 6", "% 7")
    program = write_program(folder, text)
    lines = text.splitlines()
    fit_line = next(i for i, line in enumerate(lines, 1) if "skn_runtime.fit" in line)
    manifest = {
        "source": {"file": "train.py"},
        "blocks": [{"programs": [{"file": "submodel_00.py", "lines": [[1, 101, len(lines)]]}]}],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    done = run(program, tmp_path)
    assert done.returncode == 1
    assert "label 6 at row 6 of the training labels is none of the 6 classes" in done.stderr
    assert f"train.py:{fit_line + 100}, in main (submodel_00.py, line {fit_line})" in done.stderr
    assert artifacts.finished(program) is None


def test_an_error_that_speaks_of_all_classes_is_explained(tmp_path) -> None:
    folder = tmp_path / "split"
    text = SCRIPT.format(folder=str(folder), begin=BEGIN)
    fit = next(line for line in text.splitlines() if "skn_runtime.fit" in line)
    indent = fit[: len(fit) - len(fit.lstrip())]
    program = write_program(folder, text.replace(fit, f"{indent}raise ValueError('shapes [32,6] and [32,3]')"))
    assert "hint: this submodel has 3 of the 6 classes" in run(program, tmp_path).stderr
    program = write_program(folder, text.replace(fit, f"{indent}raise ValueError('shapes [32,16] and [32,3]')"))
    assert "hint" not in run(program, tmp_path).stderr


def test_importing_the_runtime_imports_neither_keras_nor_tensorflow() -> None:
    code = "import sys, sknc.runtime as r; r.begin, r.width, r.path; print({'keras', 'tensorflow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


class TestBegin:
    def test_a_block_must_run_once(self, begin) -> None:
        begin()
        with pytest.raises(skn_runtime.ProgramError, match="a block must run once"):
            begin()

    def test_several_blocks_follow_each_other(self, begin) -> None:
        first = begin()
        second = begin(block=1, kind="regression", part=[0, 2])
        assert contexts.current() is second
        assert first is not second

    def test_nothing_goes_before_begin(self) -> None:
        with pytest.raises(skn_runtime.ProgramError, match="no block has begun"):
            skn_runtime.fit(spy(), 1, 2)

    @pytest.mark.parametrize(
        ("share", "message"),
        [
            ({"kind": "cube"}, "unknown kind 'cube'"),
            ({"kind": "multiclass", "of": 3}, "needs distinct classes"),
            ({"kind": "multiclass", "of": 3, "classes": [1, 1]}, "needs distinct classes"),
            ({"kind": "multiclass", "of": 3, "classes": [1, 3]}, r"not all among 0\.\.2"),
            ({"kind": "binary", "of": 2}, "half 0 or half 1"),
            ({"kind": "regression"}, "needs part="),
            ({"kind": "regression", "part": [2, 2]}, r"part 2 is not among 0\.\.1"),
            ({"kind": "regression", "part": [1]}, "two numbers"),
            ({"kind": "regression", "part": [0, 5], "grid": [2, 2]}, "grid of 2 x 2 has no 5 parts"),
        ],
    )
    def test_shares_that_do_not_fit_together_are_refused(self, begin, share, message) -> None:
        with pytest.raises(skn_runtime.ProgramError, match=message):
            begin(**share)

    def test_a_composed_block_trains_nothing(self, program) -> None:
        share = contexts.make_share("multiclass", of=3, whole=True)
        contexts.open_block(contexts.Context(program, 0, share, "composed"))
        with pytest.raises(skn_runtime.ProgramError, match="made of trained submodels"):
            skn_runtime.fit(spy(), 1, 2)

    def test_the_original_is_trained_as_it_is_and_its_data_is_remembered(self, program, data) -> None:
        x, y = data
        context = contexts.begin_original(str(program), block=0, kind="multiclass", of=6, measures=["acc"])
        model = spy(6)
        skn_runtime.fit(model, x, y, verbose=0, validation_data=(x, y))
        assert sorted(model.seen.rows()) == list(range(60))
        assert context.last_call["validation_data"][0] is x
        assert context.measures == ("acc",)
        context.results["accuracy"] = 0.5
        with pytest.raises(SystemExit):
            skn_runtime.finish()
        assert artifacts.finished(program)["accuracy"] == 0.5

    def test_a_name_that_does_not_exist(self) -> None:
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            skn_runtime.nothing  # noqa: B018


class TestFinish:
    def test_nothing_trained_is_an_error(self, begin) -> None:
        begin()
        with pytest.raises(skn_runtime.ProgramError, match="ended without training a model"):
            skn_runtime.finish()

    def test_a_model_as_it_was_made_is_an_error(self, begin) -> None:
        begin()
        with pytest.raises(skn_runtime.ProgramError, match="ended without training a model"):
            skn_runtime.finish(model=spy())

    def test_weights_that_nothing_has_written_yet(self, begin) -> None:
        begin()
        with pytest.raises(FileNotFoundError, match="was not written by this program yet"):
            skn_runtime.load_weights(spy(), "mine.weights.h5")

    def test_a_loaded_model_is_saved_and_said_to_be_loaded(self, begin, program, capsys) -> None:
        begin()
        spy().save(skn_runtime.path("mine.keras"))
        model = keras.models.load_model(skn_runtime.load("mine.keras"), custom_objects={"Spy": type(spy())})
        model.optimizer.iterations.assign(7)
        with pytest.raises(SystemExit) as ended:
            skn_runtime.finish(model)
        assert ended.value.code == 0
        assert artifacts.finished(program)["loaded"] is True
        assert "loaded, not trained" in capsys.readouterr().out

    def test_a_loaded_model_of_another_width_is_refused(self, begin) -> None:
        begin().restored = True
        with pytest.raises(skn_runtime.ProgramError, match="has 6 units, this submodel has 3 classes"):
            skn_runtime.finish(model=spy(6))

    def test_the_model_at_the_end_counts_not_the_one_that_was_trained(self, begin, program, data) -> None:
        x, y = data
        inputs = keras.Input((4,))
        model = keras.Model(inputs, keras.layers.Dense(3, activation="softmax")(inputs))
        model.compile(optimizer=keras.optimizers.SGD(0.01), loss="sparse_categorical_crossentropy", run_eagerly=True)
        begin()
        saver = keras.callbacks.ModelCheckpoint("best_{epoch}.keras")
        skn_runtime.fit(model, x, y, epochs=2, verbose=0, callbacks=[saver])
        assert skn_runtime.exists("best_1.keras")
        best = skn_runtime.load_model("best_1.keras")
        assert not np.array_equal(best.get_weights()[0], model.get_weights()[0])
        with pytest.raises(SystemExit):
            skn_runtime.finish(best)
        place = artifacts.folder(program)
        saved = artifacts.load_weights(place / "weights.npz")
        assert np.array_equal(saved[0], best.get_weights()[0])
        assert artifacts.finished(program)["inputs"] == {"shape": [None, 4], "dtype": "float32"}

    @pytest.mark.parametrize("layer", ["lambda", "no config", "plain"])
    def test_lambda_code_and_layers_without_config_are_not_written(self, begin, program, data, layer) -> None:
        class Own(keras.layers.Layer):
            def __init__(self, table: Any) -> None:
                super().__init__()
                self.table = table

            def call(self, x: Any) -> Any:
                return x * 2

        made = {
            "lambda": keras.layers.Lambda(lambda t: t * 2),
            "no config": Own(object()),
            "plain": keras.layers.Flatten(),
        }[layer]
        inputs = keras.Input((4,))
        model = spy(inputs=inputs, outputs=lambda t: keras.layers.Dense(3)(made(t)))
        begin()
        skn_runtime.fit(model, *data, verbose=0)
        with pytest.raises(SystemExit):
            skn_runtime.finish()
        place = artifacts.folder(program)
        assert (json.loads((place / "model.json").read_text()) is None) is (layer != "plain")
        assert len(artifacts.load_weights(place / "weights.npz")) == 2


class TestArtifacts:
    def test_json_holds_numbers_of_every_kind(self, tmp_path) -> None:
        value = {"a": np.float32(0.5), 1: [np.int64(3), (np.arange(2),)], "n": float("nan"), "b": b"x", "t": True}
        artifacts.write_json(tmp_path / "deep" / "x.json", {**value, "k": keras.ops.ones(())})
        assert json.loads((tmp_path / "deep" / "x.json").read_text()) == {
            "a": 0.5, "1": [3, [[0, 1]]], "n": None, "b": "x", "t": True, "k": 1.0,
        }  # fmt: skip
        assert [p.name for p in (tmp_path / "deep").iterdir()] == ["x.json"]

    def test_a_write_that_fails_leaves_the_old_file_and_no_other(self, tmp_path) -> None:
        target = tmp_path / "w.npz"
        artifacts.save_weights(target, [np.ones(2)])

        class Broken(np.ndarray):
            @property
            def dtype(self) -> Any:
                raise RuntimeError("broken")

        with pytest.raises(RuntimeError, match="broken"):
            artifacts.save_weights(target, [np.ones(2).view(Broken)])
        assert artifacts.load_weights(target)[0].tolist() == [1, 1]
        assert [p.name for p in tmp_path.glob("*w.npz*")] == ["w.npz"]

    def test_weights_keep_their_order_and_bfloat16_comes_back_as_float32(self, tmp_path) -> None:
        half = keras.ops.convert_to_numpy(keras.ops.cast(keras.ops.arange(3), "bfloat16"))
        given = [np.full(1, i) for i in range(12)] + [half]
        artifacts.save_weights(tmp_path / "w.npz", given)
        back = artifacts.load_weights(tmp_path / "w.npz")
        assert [int(w[0]) for w in back[:12]] == list(range(12))
        assert back[12].dtype == np.float32
        assert back[12].tolist() == [0, 1, 2]

    def test_pickles_are_never_loaded(self, tmp_path) -> None:
        np.savez(tmp_path / "w.npz", w0000=np.array([{"a": 1}], dtype=object))
        with pytest.raises(ValueError, match="allow_pickle"):
            artifacts.load_weights(tmp_path / "w.npz")

    def test_a_broken_or_foreign_result_does_not_count(self, program) -> None:
        place = artifacts.folder(program)
        assert artifacts.finished(program) is None
        for text in ["{", "[]", '{"program": "0000"}']:
            artifacts.write_bytes(place / "result.json", text.encode())
            assert artifacts.finished(program) is None
        assert artifacts.compose_folder(program) == program.parent / "artifacts" / "compose"


class TestTracebacks:
    @pytest.mark.parametrize(
        "manifest",
        [
            None,
            "{",
            "{}",
            '{"source": {"file": "t.py"}, "blocks": [{"programs": [{"file": "other.py", "lines": [[1, 1, 9]]}]}]}',
        ],
    )
    def test_without_a_map_nothing_is_added(self, program, manifest) -> None:
        if manifest is not None:
            (program.parent / "manifest.json").write_text(manifest)
        assert tracebacks.line_map(program) is None
        assert tracebacks.explain(program, None) == []

    def test_lines_that_sknc_wrote_have_no_source_line(self) -> None:
        runs = [(1, 1, 4), (6, 5, 2)]
        assert [tracebacks.source_line(runs, line) for line in (1, 4, 5, 6, 7, 8)] == [1, 4, None, 5, 6, None]

    def test_the_composers_lines_are_found(self, program) -> None:
        manifest = {"source": {"file": "a/t.py"}, "blocks": [], "lines": {program.name: [[1, 3, 2]]}}
        (program.parent / "manifest.json").write_text(json.dumps(manifest))
        assert tracebacks.line_map(program) == ("t.py", [(1, 3, 2)])

    def test_what_the_runtime_says_has_no_traceback(self, program, capsys, monkeypatch) -> None:
        monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
        monkeypatch.setattr(tracebacks, "_installed", set())
        tracebacks.install(program)

        def shown(error: Exception) -> str:
            with pytest.raises(type(error)) as raised:
                raise error
            sys.excepthook(raised.type, raised.value, raised.tb)
            return capsys.readouterr().err

        assert shown(skn_runtime.ProgramError("no", "yes")) == "error: no\n  hint: yes\n"
        assert "Traceback" in shown(ValueError("the user's"))
        monkeypatch.setenv("SKNC_DEBUG", "1")
        assert "Traceback" in shown(skn_runtime.ProgramError("no"))


class TestBuildOnly:
    def test_a_program_is_executed_up_to_its_training(self, tmp_path, capsys, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "skn_runtime", skn_runtime)
        monkeypatch.setattr(sys, "path", list(sys.path))
        text = SCRIPT.format(folder=str(tmp_path), begin=BEGIN).replace("def main", "print('noise')\ndef main")
        program = tmp_path / "submodel_00.py"
        program.write_text(text)
        main = sys.modules["__main__"]
        np.random.seed(4)
        expected = np.random.rand()
        np.random.seed(4)
        for _ in range(2):  # a second time is no second run of the block
            model = skn_runtime.build_only(program)
            assert model.output_shape == (None, 3)
            assert model.compiled
        assert np.random.rand() == expected
        assert sys.modules["__main__"] is main
        assert capsys.readouterr().out == ""
        assert not (tmp_path / "artifacts").exists()

    def test_a_loaded_model_counts(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "skn_runtime", skn_runtime)
        head = f"import skn_runtime\nskn_runtime.begin(__file__, {BEGIN})\n"
        (tmp_path / "loads.py").write_text(head + "skn_runtime.finish(model='a model')\n")
        assert skn_runtime.build_only(tmp_path / "loads.py") == "a model"
        (tmp_path / "none.py").write_text(head + "skn_runtime.finish()\n")
        with pytest.raises(skn_runtime.ProgramError, match="without a model"):
            skn_runtime.build_only(tmp_path / "none.py")
        (tmp_path / "ends.py").write_text(head)
        with pytest.raises(skn_runtime.ProgramError, match="without training a model"):
            skn_runtime.build_only(tmp_path / "ends.py")
