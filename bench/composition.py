"""Which rule composes best: accuracy and negative log-likelihood (NLL) of the original and of each rule.

    python bench/composition.py --root / --cache /tmp/composition-bench        (train, then print the table)

The submodels are made as `sknc split` makes them: pairs of groups of classes, widths divided by F = G/2 and rounded
up, the rows of their classes; epochs divided by F for the dense networks (digits, letters), kept for the
convolutional ones (mnist, fashion). Their log-probabilities are kept in the cache, so that a rule is tried without
training again.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from composition_data import LOADERS, Data

from sknc.runtime.compose import coupling, product
from sknc.runtime.compose.numeric import Array, log_normalised

EPOCHS = {"digits": 40, "mnist": 4, "fashion": 4, "letters": 12}
BATCH = {"digits": 32, "mnist": 64, "fashion": 64, "letters": 64}
RULES: dict[str, Callable[[list[Array], list[list[int]], int], Array]] = {
    "product": product.reference,
    "coupling": coupling.reference,
    "coupling, least squares only": lambda s, m, n: coupling.reference(s, m, n, rounds=0),
    "coupling, to the optimum": lambda s, m, n: coupling.reference(s, m, n, rounds=50),
}


def pairs(classes: int, groups: int) -> list[list[int]]:
    """Return the classes of each submodel: one pair of groups, group sizes within one of each other."""
    edges = [i * classes // groups for i in range(groups + 1)]
    parts = [list(range(a, b)) for a, b in itertools.pairwise(edges)]
    return [a + b for a, b in itertools.combinations(parts, 2)]


def network(name: str, shape: tuple[int, ...], classes: int, factor: float) -> Any:
    """Build a network at 1/factor of its width."""
    import keras
    from keras import layers

    def width(size: int) -> int:
        return max(2, math.ceil(size / factor))

    if name in ("digits", "letters"):
        size = {"digits": 64, "letters": 128}[name]
        body = [layers.Dense(width(size), "relu"), layers.Dense(width(size), "relu")]
    else:
        body = [
            layers.Conv2D(width(16), 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(width(32), 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(width(64), "relu"),
        ]
    return keras.Sequential([keras.Input(shape), *body, layers.Dense(classes)])


def scores(name: str, data: Data, members: list[int], factor: float, seed: int) -> Array:
    """Train one network on its classes' rows and return its log-probabilities of the test rows."""
    import keras

    keras.utils.set_random_seed(seed)
    model = network(name, data.x.shape[1:], len(members), factor)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, steps_per_execution=8)
    rows = np.flatnonzero(np.isin(data.y, members))
    epochs = math.ceil(EPOCHS[name] / factor) if name in ("digits", "letters") else EPOCHS[name]
    shuffle = np.random.default_rng(seed)
    # All epochs as one, each in an order of its own: most of a small fit's time is the change of epochs.
    order = np.concatenate([shuffle.permutation(rows) for _ in range(epochs)])
    labels = np.searchsorted(members, data.y[order])
    model.fit(data.x[order], labels, batch_size=BATCH[name], shuffle=False, verbose=0)
    logits = np.asarray(model.predict_on_batch(data.x_test), np.float64)
    keras.backend.clear_session()
    return log_normalised(logits)


def cached(cache: Path, name: str, data: Data, members: list[list[int]], factor: float, seed: int) -> list[Array]:
    """Return the submodels' log-probabilities, trained now or in an earlier run."""
    path = cache / f"{name}-{len(members)}-{seed}.npz"
    if not path.exists():
        began = time.perf_counter()
        found = [scores(name, data, one, factor, seed * 100 + m) for m, one in enumerate(members)]
        np.savez(path, *found)
        print(f"  trained {path.stem} in {time.perf_counter() - began:.1f} s", flush=True)
    with np.load(path) as kept:
        return [kept[f"arr_{m}"] for m in range(len(members))]


def measured(found: Array, y: Any) -> tuple[float, float]:
    """Return accuracy in percent and NLL."""
    return 100 * float(np.mean(found.argmax(1) == y)), -float(found[np.arange(len(y)), y].mean())


def runs(root: Path, cache: Path, seeds: int, names: list[str]) -> Iterator[tuple[str, str, float, float]]:
    """Yield (data set and M, rule, accuracy, NLL), one for each seed."""
    for name in names:
        for seed in range(seeds):
            data = LOADERS[name](root, seed)
            classes = int(data.y.max()) + 1
            (whole,) = cached(cache, name, data, [list(range(classes))], 1.0, seed)
            yield name, "original", *measured(whole, data.y_test)
            for groups in (3, 4, 5):
                members = pairs(classes, groups)
                parts = cached(cache, name, data, members, groups / 2, seed)
                for rule, compose in RULES.items():
                    yield f"{name} M={len(members)}", rule, *measured(compose(parts, members, classes), data.y_test)


def main() -> None:
    """Train what is missing, then print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=Path, default=Path("/"), help="where the data packages are unpacked")
    parser.add_argument("--cache", type=Path, default=Path("composition-bench"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", nargs="*", default=list(LOADERS), choices=list(LOADERS))
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    table: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for what, rule, accuracy, loss in runs(options.root, options.cache, options.seeds, options.data):
        table.setdefault((what, rule), []).append((accuracy, loss))
    print("| data | rule | accuracy % | NLL |\n|---|---|---|---|")
    for (what, rule), values in table.items():
        (a, n), (da, dn) = np.mean(values, 0), np.std(values, 0, ddof=1) if len(values) > 1 else (0.0, 0.0)
        print(f"| {what} | {rule} | {a:.2f} ± {da:.2f} | {n:.4f} ± {dn:.4f} |")


if __name__ == "__main__":
    main()
