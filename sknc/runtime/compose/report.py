"""`end`: what a block's model is worth, printed where the marker asks for it, and kept in result.json."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from .. import artifacts
from ..context import Context, current, session
from ..errors import ProgramError
from ..paths import COMPOSER
from .findings import Finding, findings
from .measure import measure, told
from .state import Composition

_PRINTED = {"acc": "accuracy", "loss": "loss"}


def end(namespace: Mapping[str, Any]) -> None:
    """End a block: measure its model, print what the marker asks for, and keep the figures.

    Args:
        namespace: The names of the user's code, globals() or locals().

    Raises:
        ProgramError: The composer's block ended without a model.
    """
    context = current()
    if session().build or (context.mode == "composed" and context.program.stem != COMPOSER):
        # An earlier block inside a later block's program is composed to be used, not to be measured again.
        return
    if context.model is None:
        if context.mode == "composed":
            raise ProgramError(
                f"block {context.block} ended without a model",
                "the training must run when the script is run: look at the conditions around model.fit(...)",
            )
        return
    context.results.update(_measured(context, namespace))
    for name in context.measures:
        value = context.results.get(_PRINTED[name])
        if value is None:
            sys.stderr.write(f"skynnet: no {_PRINTED[name]}: {_missing(context)}\n")
        else:
            sys.stdout.write(f"{_PRINTED[name]}: {value:.4f}\n")
            sys.stdout.flush()
    if isinstance(context, Composition):
        _keep()


def _missing(context: Context) -> str:
    """Say why there is no figure that the marker asks for."""
    if "rows" not in context.results:
        return str(context.results["data"])
    if context.model.compiled:
        if len(getattr(context.model, "outputs", None) or ()) > 1:
            return "the model has several outputs; evaluate() gives the accuracy of each"
        return "a regression has errors (mse, mae), not right answers"
    return "the model is not compiled"


def _measured(context: Context, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Measure on the first data that works."""
    problems = []
    for finding in findings(context, namespace):
        found, problem = _tried(context, finding)
        if found:
            return found
        problems.append(f"{finding.name}: {problem}")
    hint = "no test data was found (call evaluate before the block's END, or name it x_test, y_test)"
    return {"data": "; ".join(problems) or hint}


def _tried(context: Context, finding: Finding) -> tuple[dict[str, Any], str]:
    """Measure on some data, or say what is wrong with it."""
    try:
        return measure(context, finding), ""
    except Exception as error:  # noqa: BLE001  # a guess at names may find anything at all
        return told(context, finding), (str(error) or type(error).__name__).splitlines()[0]


def _keep() -> None:
    """Write the composer's result.json: each block's figures, the last block's on top."""
    blocks = [c for c in session().blocks.values() if isinstance(c, Composition) and c.model is not None]
    described = [
        {
            "block": c.block,
            "kind": c.share.kind,
            "rule": _rule(c),
            "submodels": len(c.programs),
            **c.results,
        }
        for c in blocks
    ]
    last = blocks[-1]
    result = {
        "file": last.program.name,
        "program": artifacts.program_hash(last.program),
        **described[-1],
        "blocks": described,
    }
    artifacts.write_json(last.folder / artifacts.RESULT, result)


def _rule(context: Composition) -> str:
    """Name what put the block's predictions together."""
    if context.share.whole:
        return "identity"
    return {"multiclass": context.rule, "binary": "certainty"}.get(context.share.kind, "concatenation")
