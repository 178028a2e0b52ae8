"""Settling a block: its sizes meet the rules, and every width gets its new value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from sknc.decompose import decide
from sknc.decompose.combine import NotDecomposable, feasible_near
from sknc.decompose.decide import Decision
from sknc.decompose.factor import cap_factor
from sknc.decompose.rules import divides, epochs_follow_factor
from sknc.decompose.widths import Dim, Width
from sknc.diagnostics import Diagnostic, Span, codes_script, codes_training
from sknc.diagnostics import codes_deciding as codes
from sknc.rewrite import training, widths
from sknc.script import outputs
from sknc.script.reading import BlockReading
from sknc.script.source import Source
from sknc.script.values import Layer, constant


@dataclass(frozen=True)
class Settled:
    """A block with everything decided.

    Attributes:
        source: the script.
        reading: the block.
        decision: how it is cut.
        rule: how it is composed.
        width_factor: what widths are divided by, after the cap.
        epochs: what epochs are divided by.
        output: the variable that takes the share's width, None when the output stays as it is.
        output_known: whether that width is a number.
    """

    source: Source
    reading: BlockReading
    decision: Decision
    rule: str
    width_factor: float
    epochs: float
    output: int | None
    output_known: bool
    _cache: dict[int | None, dict[int, Width]] = field(default_factory=dict, repr=False)

    def widths(self, output: int | None) -> dict[int, Width]:
        """Return what becomes of each width in a submodel with this output width."""
        if output not in self._cache:
            graph, embedded = self.reading.graph, _keeps_widths(self.reading)
            self._cache[output] = graph.solve(self.width_factor, self.output, output, embedded)
        return self._cache[output]

    def named_widths(self, output: int | None) -> dict[str, list[Any]]:
        """Return old and new width of each layer, for the manifest."""
        if self.decision.whole:
            return {}
        found: dict[str, list[Any]] = {}
        solved = self.widths(output)
        for layer in self.reading.layers:
            for old, new in self._sizes(layer, solved):
                name = constant(layer.args.get("name")) or f"{layer.name}"
                key, count = str(name), 1
                while key in found:
                    count += 1
                    key = f"{name}_{count}"
                found[key] = [old, new]
        return found

    def _sizes(self, layer: Layer, solved: dict[int, Width]) -> Iterator[tuple[Any, Any]]:
        """Yield old and new width of each sized argument of a layer."""
        graph = self.reading.graph
        for argument in dict.fromkeys((*layer.slots, *layer.sizes)):
            variable = layer.slots.get(argument, layer.computed.get(argument))
            if variable in solved:
                yield self._old_new(variable, solved)
            elif variable is None and all(v in solved for v in layer.sizes[argument].variables):
                new = layer.sizes[argument].value(lambda v: solved[v].new)
                yield graph.base(layer.sizes[argument]), None if new is None else int(new)

    def _old_new(self, variable: int, solved: dict[int, Width]) -> tuple[Any, Any]:
        width, slot = solved[variable], self.reading.graph.slots[variable]
        text = self.source.text(slot.site) if isinstance(slot.site, cst.CSTNode) else None
        old = text if width.old is None else width.old
        if width.new is not None or width.action not in ("reduce", "output"):
            return old, old if width.new is None else width.new
        divisor = len(self.decision.shares) if width.action == "output" else self.width_factor
        return old, f"({text}) / {widths.number(divisor)}"


def _keeps_widths(reading: BlockReading) -> bool:
    """Whether only embeddings and what is tied to them are reduced (Table 2)."""
    return reading.embedded and not reading.dialect and not divides("dense", reading.kind, True)


def settle(
    source: Source,
    reading: BlockReading,
    requested: int,
    classes: int | None,
    compose: str | None,
    found: list[Diagnostic],
) -> Settled | None:
    """Decide a block.

    Args:
        source: the script.
        reading: the block.
        requested: how many submodels are wanted.
        classes: the number of classes, where the script does not say it.
        compose: the rule that composes predictions, None for the default.
        found: takes what is wrong or worth knowing.

    Returns:
        The block with everything decided, None when it cannot be split as asked.
    """
    return _Settling(source, reading, requested, classes, compose, found).settle()


@dataclass
class _Settling:
    source: Source
    reading: BlockReading
    requested: int
    classes: int | None
    compose: str | None
    found: list[Diagnostic]

    @property
    def begin(self) -> Span:
        marker = self.reading.block.begin
        return self.source.place(marker.start, marker.end)

    def fail(self, diagnostic: Diagnostic) -> None:
        self.found.append(diagnostic)

    def settle(self) -> Settled | None:
        rule = self._rule()
        decision = self._decision()
        if rule is None or decision is None:
            return None
        header = next((e for e in self.reading.fits if training.in_header(e)), None)
        if header is not None:
            self.fail(codes_script.IN_HEADER.at(self.source.at(header.node)))
            return None
        if decision.whole:
            return Settled(self.source, self.reading, decision, rule, 1.0, 1.0, None, False)
        return self._cut(decision, rule)

    def _cut(self, decision: Decision, rule: str) -> Settled | None:
        output = self.reading.output if decision.cut_output else None
        if self.reading.output is not None and not decision.cut_output:
            self.reading.graph.fix(Dim.var(self.reading.output), "it gives the output")
        if decision.cut_output and decision.grid is not None and self.reading.output_reshape is not None:
            output = outputs.flat_source(self.reading.model, self.reading.output_reshape)
        elif decision.cut_output and not self._free_output(output):
            return None
        known = decision.shares[0].output is not None
        factor = self._width_factor(decision, output)
        epochs = self._epochs(decision)
        settled = Settled(self.source, self.reading, decision, rule, factor, epochs, output, known)
        solved = settled.widths(decision.shares[0].output)
        mixed = widths.two_roles(self.reading, solved, known)
        if mixed is not None:
            self.fail(codes_script.TWO_ROLES.at(self.source.at(mixed)))
            return None
        self._tell(solved)
        return settled

    def _rule(self) -> str | None:
        kind = self.reading.kind
        said = self.compose or self.reading.block.begin.keys.get("compose")
        allowed = decide.COMPOSITIONS[kind]
        if said is None:
            return decide.default_rule(kind)
        if said not in allowed:
            words = kind.replace("_", " ")
            hint = f"{words} submodels are composed by {' or '.join(allowed)}"
            self.fail(codes.BAD_RULE.at(self.begin, rule=said, kind=words, hint=hint))
            return None
        return said

    def _decision(self) -> Decision | None:
        decisions: dict[str, Callable[[], Decision | None]] = {
            "multiclass": self._multiclass,
            "binary": self._binary,
            "regression": self._regression,
            "local_regression": self._regression,
        }
        return decisions[self.reading.kind]()

    def _number_of_classes(self) -> int | None:
        said = self.reading.block.begin.keys.get("classes")
        given = int(said) if said is not None else self.classes
        width = self.reading.width
        if given is not None and width is not None and given != width:
            self.fail(codes_script.CLASSES_DIFFER.at(self.begin, found=width, said=given))
        default = self.reading.default if given is None and width is None else None
        if default is not None and self.requested > 1:
            where = {"classes": default.number, "option": default.option}
            self.fail(codes_training.DEFAULT_CLASSES.at(self._output_place(), **where))
        if default is not None:
            return default.number
        return given if given is not None else width

    def _multiclass(self) -> Decision | None:
        if self.requested == 1:
            return decide.whole("multiclass", self._number_of_classes())
        if not self._one_class_a_sample():
            return None
        if self.reading.output is None and self.reading.width is None:
            self.fail(codes_script.NO_OUTPUT.at(self._output_place()))
            return None
        classes = self._number_of_classes()
        if classes is None:
            self.fail(codes_script.NO_CLASSES.at(self._output_place()))
            return None
        try:
            decision = decide.multiclass(classes, self.requested)
        except NotDecomposable as error:
            self.fail(codes.NOT_CUT.at(self.begin, problem=error.message, hint=error.hint))
            return None
        if len(decision.shares) != self.requested:
            self._other_count(classes, len(decision.shares))
        return decision

    def _one_class_a_sample(self) -> bool:
        """Whether a sample has one class; tells what has one instead."""
        rank = self.reading.rank
        if rank is None or rank < 2:
            return True
        what = {2: "each token"}.get(rank, "each pixel")
        self.fail(codes_script.PER_PIXEL.at(self._output_place(), what=what))
        return False

    def _other_count(self, classes: int, taken: int) -> None:
        _, more = feasible_near(classes, self.requested)
        hint = f"the next larger number is {more}" if more else f"{classes} classes allow no more"
        why = f"every two groups of the {classes} classes make one"
        self.fail(codes.OTHER_COUNT.at(self.begin, requested=self.requested, taken=taken, why=why, hint=hint))

    def _binary(self) -> Decision | None:
        width = self.reading.width
        if self.requested == 1:
            return decide.whole("binary", 2)
        if width is not None and width > 2:
            self.fail(codes.NOT_BINARY.at(self._output_place(), width=width))
            return None
        if not self._one_class_a_sample():
            return None
        if self.requested != 2:
            hint = "ask for -m 2 to say so yourself"
            why = "a binary task is cut into two halves of its rows"
            self.fail(codes.OTHER_COUNT.at(self.begin, requested=self.requested, taken=2, why=why, hint=hint))
        return decide.binary(self.requested)

    def _regression(self) -> Decision | None:
        reading, kind, count = self.reading, self.reading.kind, self.requested
        if count == 1:
            return decide.whole(kind, None)
        if reading.rank is not None and reading.rank > 3 and not (reading.width or 0) >= count:
            problem = f"outputs with {reading.rank} axes cannot be cut into patches"
            hint = "let the network give images (height, width, channels), or as many channels as submodels"
            self.fail(codes.NOT_CUT.at(self._output_place(), problem=problem, hint=hint))
            return None
        if reading.rank is not None and reading.rank >= 3 and not (reading.width or 0) >= count:
            shape = reading.model.outputs[0].shape or ()
            height, width = (reading.graph.base(dim) for dim in shape[-3:-1])
            decision = decide.patches(kind, count, height, width)
            rows, columns = decision.grid or (1, count)
            self.fail(codes.PATCHES.at(self.begin, requested=count, rows=rows, columns=columns))
            return self._flattened(decision)
        if reading.width == 1:
            self.fail(codes.SCALAR.at(self._output_place(), requested=count))
        elif reading.width is not None and reading.width < count:
            self.fail(codes.NARROW.at(self._output_place(), width=reading.width, requested=count))
        else:
            if outputs.last_activation(reading.model) in ("softmax", "log_softmax"):
                self.fail(codes.SOFTMAX_CUT.at(self._output_place()))
            decision = decide.regression(kind, count, reading.width)
            labels = kind == "regression" and outputs.multilabel(reading.model, reading.block.begin.measures)
            return decide.with_labels(decision) if labels else decision
        return None

    def _flattened(self, decision: Decision) -> Decision:
        """Narrow the Dense layer in front of a Reshape to an image, where both are written in the script."""
        reshape, channels = self.reading.output_reshape, self.reading.width
        known = all(share.patch is not None for share in decision.shares) and channels is not None
        flat = None if reshape is None else outputs.flat_source(self.reading.model, reshape)
        if flat is None or not known or self.reading.graph.group(flat).fixed not in ("", "it is reshaped"):
            return decision
        if len(self.reading.graph.group(flat).members) > 1:
            return decision
        return decide.flat_patches(decision, channels or 1)

    def _output_place(self) -> Span:
        """The place of the output layer, else of the model, else of the block."""
        if self.reading.output is not None:
            site = self.reading.graph.slots[self.reading.output].site
            if isinstance(site, cst.CSTNode):
                return self.source.at(site)
        node = self.reading.model.node
        return self.source.at(node) if node is not None else self.begin

    def _free_output(self, output: int | None) -> bool:
        """Whether the output layer can take the share's width; tells why not."""
        if output is None:
            self.fail(codes_script.NO_OUTPUT.at(self._output_place()))
            return False
        reason = self.reading.graph.group(output).fixed
        if reason == "it is marked with KEEP":
            self.fail(codes.KEEP_OUTPUT.at(self._output_place()))
        elif reason.endswith("outside the block"):
            self.fail(codes_training.OUTPUT_OUTSIDE.at(self._output_place(), reason=reason))
        elif reason:
            self.fail(codes_script.OUTPUT_TIED.at(self._output_place(), reason=reason))
        return not reason

    def _width_factor(self, decision: Decision, output: int | None) -> float:
        reading, embedded = self.reading, _keeps_widths(self.reading)
        graph, first = reading.graph, decision.shares[0].output
        self._keep_vanishing(decision, output, embedded)
        solved = graph.solve(decision.factor, output, first, embedded)
        mine = [w for v, w in solved.items() if v in reading.slots and w.action in ("reduce", "computed")]
        reduced = [w.old for w in mine if w.old and w.old != w.new]
        factor = cap_factor(decision.factor, reduced)
        if factor != decision.factor:
            numbers = {"used": widths.number(factor), "factor": widths.number(decision.factor)}
            self.fail(codes.CAPPED.at(self.begin, **numbers))
        return factor

    def _keep_vanishing(self, decision: Decision, output: int | None, embedded: bool) -> None:
        """Keep widths from which the script computes one that would fall below 2 (`filters // 16`)."""
        graph = self.reading.graph
        factor = decision.factor
        for variable, width in graph.solve(factor, output, decision.shares[0].output, embedded).items():
            small = width.new is None or width.new < min(width.old or 2, 2)
            if width.action == "computed" and width.old is not None and width.old != width.new and small:
                graph.fix(Dim.var(variable), "a size that is computed from it would become too small")

    def _epochs(self, decision: Decision) -> float:
        said = self.reading.block.begin.keys.get("epochs")
        follow = epochs_follow_factor(self.reading.kind, self.reading.dense_only)
        if said == "keep" or (said is None and not follow):
            return 1.0
        hidden = [e for e in self.reading.fits if e.args.node("epochs", 3) is None and e.args.open]
        if hidden and not self.reading.dialect:
            self.fail(codes_script.EPOCHS_UNSEEN.at(self.source.at(hidden[0].node)))
        return decision.factor

    def _tell(self, solved: dict[int, Width]) -> None:
        """Say which layers keep their size, and why."""
        mine = {v: w for v, w in solved.items() if v in self.reading.slots}
        kept = [(v, w) for v, w in mine.items() if w.action == "keep" and v != self.reading.output]
        slots = self.reading.graph.slots
        shown: set[object] = set()
        for variable, width in kept:
            slot = slots[variable]
            dull = slot.layer.startswith("_") or slot.role in ("compare", "output") or (width.old or 9) <= 2
            if dull or slot.site in shown or self.reading.dialect or not isinstance(slot.site, cst.CSTNode):
                continue
            shown.add(slot.site)
            what = "filters" if slot.role == "conv" else "units"
            size = f"its {width.old} {what}" if width.old is not None else "its size"
            self.fail(codes_script.KEPT.at(self.source.at(slot.site), size=size, reason=width.reason))
        if not any(w.action in ("reduce", "derived") for w in mine.values()):
            reasons = {w.reason for _, w in kept if w.reason} or {"it has no layers of its own to narrow"}
            self.fail(codes.NOT_REDUCED.at(self.begin, reason="; ".join(sorted(reasons))))
