"""A block as it is understood: its network, its training, its kind, its widths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst

from sknc.decompose.widths import Dim, WidthGraph
from sknc.diagnostics import Diagnostic, Span, codes_markers, codes_training
from sknc.diagnostics import codes_script as codes
from sknc.script import dialect, inner, outputs, own_layers, stars
from sknc.script.cells import not_run
from sknc.script.entries import enter_rest
from sknc.script.files import own_files
from sknc.script.interpreter import Event, Interpreter
from sknc.script.layers import LAYERS, NOT_DENSE
from sknc.script.markers import Block, Kind, Markers, find_blocks
from sknc.script.reach import Definition, Reach
from sknc.script.source import Source
from sknc.script.statements import execute
from sknc.script.trained import find_model, tie_untrained
from sknc.script.values import Default, Instance, Layer, Model


@dataclass(frozen=True)
class BlockReading:
    """What is known of a block.

    Attributes:
        block: where it stands.
        kind: its kind, said or inferred.
        model: the network that it trains.
        fits: the calls that train it, in order.
        events: all calls of the block that matter.
        graph: the widths of its layers and their equations.
        slots: the widths that stand in this block or in what it reaches.
        output: the width of the output layer, None when it is not a width of the text.
        width: the size of the output's last axis, None when it is known at run time only.
        rank: the number of the output's axes without the batch, None when that is not known.
        embedded: whether the network has embedding or positional-encoding layers.
        dense_only: whether it consists of dense layers.
        reach: definitions outside the block that hold some of its layers or its training.
        dialect: whether it uses the original tool's reserved names.
        layers: its layers.
        epochs_node, generator_node: what `_EPOCHS` and `_DATA_TRAIN_GEN_Y` are set to, in the dialect.
        entry_depth: how many calls, loops and branches the block stands in.
        looks: statements before the training that only look at what the untrained network gives.
        late: events behind the block that read files which the block writes.
        default: the option of the command line whose default the size of the output is, where there is one.
        output_reshape: the Reshape that gives an image-shaped output, where there is one.
    """

    block: Block
    kind: Kind
    model: Model
    fits: tuple[Event, ...]
    events: tuple[Event, ...]
    graph: WidthGraph
    slots: frozenset[int]
    output: int | None
    width: int | None
    rank: int | None
    embedded: bool
    dense_only: bool
    reach: tuple[Definition, ...]
    dialect: bool
    layers: tuple[Layer, ...]
    epochs_node: cst.BaseExpression | None = None
    generator_node: cst.BaseExpression | None = None
    entry_depth: int = 0
    output_reshape: Layer | None = None
    looks: tuple[cst.CSTNode, ...] = ()
    default: Default | None = None
    late: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What is known of a script.

    Attributes:
        source: the script.
        markers: its markers.
        blocks: its blocks, as far as they could be read.
        diagnostics: what is wrong or worth knowing.
    """

    source: Source
    markers: Markers
    blocks: tuple[BlockReading, ...]
    diagnostics: tuple[Diagnostic, ...]


def read(source: Source, whole: bool = False) -> Reading:
    """Read the blocks of a script.

    Args:
        source: the parsed script.
        whole: whether the networks stay as they are, so that what they look like does not matter.

    Returns:
        The blocks and the diagnostics.
    """
    markers = find_blocks(source)
    found = list(markers.diagnostics)
    interp = _interpret(source, markers, found)
    blocks = [_Reader(interp, block, found, whole).read() for block in markers.blocks]
    for line, keep in markers.keeps.items():
        if line not in interp.kept_lines:
            found.append(codes_markers.KEEP_ALONE.at(source.place(keep.start, keep.end)))
    found += [*_file_name(source), *not_run(source)]
    return Reading(source, markers, tuple(b for b in blocks if b is not None), tuple(found))


def _interpret(source: Source, markers: Markers, found: list[Diagnostic]) -> Interpreter:
    names = {block.index: dialect.output_name(block) for block in markers.blocks}
    interp = Interpreter(
        source, markers.blocks, markers.keeps, dialect={i: n for i, n in names.items() if n is not None}
    )
    shared = _Globals()
    if b"global" in source.buffer:  # a pass over a long tree takes a tenth of a second
        source.module.visit(shared)
    interp.shared_names = frozenset(shared.found)
    execute(interp, list(source.module.body), interp.globals)
    begins = [block.begin for block in enter_rest(interp)]
    found += [codes.NOT_REACHED.at(source.place(begin.start, begin.end)) for begin in begins]
    return interp


class _Globals(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Global(self, node: cst.Global) -> None:
        self.found |= {item.name.value for item in node.names}


class _FileName(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.Name] = []

    def visit_Name(self, node: cst.Name) -> None:
        if node.value == "__file__":
            self.found.append(node)


def _file_name(source: Source) -> Iterable[Diagnostic]:
    visitor = _FileName()
    if b"__file__" in source.buffer:
        source.module.visit(visitor)
    return [codes.FILE_NAME.at(source.at(node)) for node in visitor.found[:1]]


@dataclass
class _Reader:
    interp: Interpreter
    block: Block
    found: list[Diagnostic]
    whole: bool
    failed: bool = field(default=False)

    @property
    def source(self) -> Source:
        return self.interp.source

    def error(self, diagnostic: Diagnostic) -> None:
        self.found.append(diagnostic)
        self.failed = self.failed or diagnostic.severity == "error"

    def read(self) -> BlockReading | None:
        begin = self.source.place(self.block.begin.start, self.block.begin.end)
        if self._repeated():
            return None
        fits = [e for e in self.interp.events if e.block == self.block.index and e.what == "fit"]
        self._removed()
        model = self._model(fits)
        if model is None or self.failed:
            return None
        if not self.whole:
            if len(model.outputs) > 1:
                self.error(codes.SEVERAL_OUTPUTS.at(self._at(model.node or fits[0].node), count=len(model.outputs)))
                return None
            self._shared(model, fits)
        kind = self._kind(model, begin)
        if kind is None or self.failed:
            return None
        return self._reading(model, [e for e in fits if e.target is model] or fits, kind)

    def _at(self, node: cst.CSTNode) -> Span:
        return self.source.at(node)

    def _order(self, layer: Layer) -> tuple[int, int]:
        """Layers in the order in which the script makes them."""
        made = self.interp.made_order.get(id(layer), 0)
        return made, 0 if layer.node is None else self.source.span(layer.node)[0]

    def _repeated(self) -> bool:
        index = self.block.index
        loops = [f for f in self.interp.entry_frames.get(index, ()) if f.what == "loop"]
        place = self.source.place(self.block.begin.start, self.block.begin.end)
        if loops:
            line = self.source.line(self.source.span(loops[0].node)[0])
            self.error(codes.TWICE.at(place, how=f"it is called in the loop of line {line}"))
        elif self.interp.entered.get(index, 0) > 1:
            self.error(codes.TWICE.at(place, how="its function is called more than once"))
        return self.failed

    def _removed(self) -> None:
        instead = {"fit_generator": "fit", "predict_generator": "predict", "evaluate_generator": "evaluate",
                   "predict_classes": "predict(x).argmax(axis=1)"}  # fmt: skip
        for event in self.interp.events:
            if event.block == self.block.index and event.what == "removed":
                self.error(codes.REMOVED_FIT.at(self._at(event.node), name=event.name, instead=instead[event.name]))
            if event.block == self.block.index and event.what == "renamed":
                names = {"name": event.name, "of": "Model", "instead": f"{event.name}s"}
                self.error(codes_training.REMOVED_ARGUMENT.at(self._at(event.node), **names))

    def _model(self, fits: list[Event]) -> Model | None:
        found = find_model(self.interp, self.block, fits, self.whole)
        if isinstance(found, Model):
            return found
        if fits or not self.failed:
            self.error(found)
        return None

    def _shared(self, model: Model, fits: list[Event]) -> None:
        """Refuse the use of the trained layers, or of another model on them, after the training."""
        trained = {id(layer) for layer in inner.all_layers(model)} - {id(model)}
        last = max((e.order for e in fits if e.target is model), default=-1)
        line = self.source.line(self.source.span(fits[0].node)[0])
        for event in self.interp.events:
            other = event.target
            if event.what == "apart" and other is model:
                what = _APART[event.name]
                self.error(codes_training.TAKEN_APART.at(self._at(event.node), what=what, line=line))
            if event.order > last and event.what in ("use", "path") and isinstance(other, Model) and other is not model:
                # The trained model as a whole may be a part of another one: the composed model is that part, too.
                shares = {id(layer) for layer in inner.all_layers(other, {id(model)})} | {id(other)}
                if shares & trained:
                    self.error(codes.SHARED_LAYERS.at(self._at(event.node), line=line))
        inside = inner.used(self.interp, model, fits)
        if inside is not None:
            self.error(codes.INNER_LAYER.at(self._at(inside), line=line))

    def _foreign_weights(self, graph: WidthGraph, model: Model, events: list[Event], fits: list[Event]) -> None:
        """Weights that are loaded from elsewhere before the training have the size that they have."""
        own = {id(event.node) for event in own_files(self.source, events)}
        for event in events:
            if event.what == "weights" and event.order < fits[0].order and id(event.node) not in own:
                target = event.target if isinstance(event.target, Model) else model
                for layer in inner.all_layers(target):
                    if isinstance(layer, Layer):
                        for dim in (*(Dim.var(v) for v in layer.slots.values()), *layer.sizes.values()):
                            graph.fix(dim, "its weights are loaded from a file")

    def _handed(self, graph: WidthGraph, slots: Iterable[int]) -> None:
        """Refuse to narrow what the block hands to code that would use it on its own terms."""
        for node, to in self.interp.handed:
            start, end = self.source.span(node)
            for variable in slots:
                site = graph.slots[variable].site
                if isinstance(site, cst.CSTNode) and start <= self.source.span(site)[0] < end:
                    name = node.name.value if isinstance(node, (cst.FunctionDef, cst.ClassDef)) else "lambda"
                    how = f"'{to}', which it hands it to"
                    self.error(codes.THROUGH_OBJECT.at(self._at(node), name=name, how=how))
                    break

    def _kind(self, model: Model, place: Span) -> Kind | None:
        said = self.block.begin.kind
        if said is not None:
            return said
        evidence = outputs.evidence(self.interp, model)
        kind = outputs.infer_kind(evidence)
        if kind is None and self.whole:
            return "regression"  # nothing is cut, so nothing depends on it
        if kind is None:
            self.error(codes.UNKNOWN_KIND.at(place))
            return None
        word = {"binary": "BINARYCLASS"}.get(kind, kind.upper())
        self.error(codes.INFERRED.at(place, kind=kind, evidence=evidence, word=word))
        return kind

    def _reading(self, model: Model, fits: list[Event], kind: Kind) -> BlockReading | None:
        interp, index = self.interp, self.block.index
        graph = interp.graphs.get(index) or interp.graph.clone()
        slots = {v for v, block in interp.slot_block.items() if block == index and v in graph.slots}
        for variable in graph.slots:
            if variable not in slots:
                graph.fix(Dim.var(variable), "it is made outside the block")
        events = [e for e in interp.events if e.block == index]
        stars.settle(interp, graph)
        tie_untrained(interp, graph, model)
        reach = Reach(interp, self.block, self.error)
        for variable in sorted(slots):
            node = graph.slots[variable].site
            if isinstance(node, cst.CSTNode) and not reach.editable(node, interp.slot_frames[variable]):
                graph.fix(Dim.var(variable), "it is written outside the block")
        for event in events:
            if event.what in ("fit", "input", "exists", "load", "weights"):
                reach.editable(event.node, event.frames)
            elif event.what in ("path", "read", "use"):
                reach.editable(event.node, event.frames, quiet=True)
        self._foreign_weights(graph, model, events, fits)
        self._handed(graph, slots)
        if index in interp.dialect:
            output = model.outputs[0].last.single if model.outputs else None
            _fix_undialected(graph, slots - {output})
        shape = model.outputs[0].shape if model.outputs else None
        layers = tuple(sorted((x for x in inner.all_layers(model) if isinstance(x, Layer)), key=self._order))
        last = shape[-1] if shape else Dim.fixed(None)
        if self.failed:
            return None
        if not self.whole and index not in interp.dialect:
            self.found += own_layers.kept(interp, model)
        return BlockReading(
            self.block, kind, model, tuple(fits), tuple(events), graph, frozenset(slots), last.single,
            graph.base(last), None if shape is None else len(shape), _embedded(model),
            _dense_only(model), reach.definitions(), index in interp.dialect, layers,
            interp.epochs_nodes.get(index), interp.generator_nodes.get(index),
            len(interp.entry_frames.get(index, ())), outputs.last_reshape(model),
            tuple(n for i, order, n in interp.looks if i == index and order <= fits[0].order),
            None if last.single is None else interp.defaults.get(last.single),
            self._late(events),
        )  # fmt: skip

    def _late(self, events: list[Event]) -> tuple[Event, ...]:
        """What is read behind the block of the files that it writes; tells so."""
        after = [e for e in self.interp.events if e.block is None and e.order > events[-1].order]
        found = [e for e in own_files(self.source, events, after) if e.block is None] if not self.whole else []
        for event in found:
            kept = event.what in ("load", "weights")
            what = "the composed model stands for it, of submodels as they were at last" if kept else _NOT_WRITTEN
            self.error(codes.READ_LATE.at(self._at(event.node), what=what))
        return tuple(found)


_APART = {"pop": "pop takes a layer off", "add": "add puts a layer on",
          "set_weights": "set_weights gives another network the weights of"}  # fmt: skip


_NOT_WRITTEN = "the composer, which trains nothing, does not find it"


def _dense_only(model: Model) -> bool:
    """Say whether a network consists of dense layers (3.4, epochs); what is not known may be anything."""
    every = inner.all_layers(model)
    known = [
        layer.name in (*LAYERS, "Input") and layer.name not in NOT_DENSE for layer in every if isinstance(layer, Layer)
    ]
    if any(isinstance(layer, Model) and layer.loaded for layer in every):
        return False
    return all(known) and not any(isinstance(layer, Instance) and layer.cls.derives("Layer") for layer in every)


def _fix_undialected(graph: WidthGraph, slots: Iterable[int]) -> None:
    for variable in slots:
        if graph.slots[variable].compute is None and not graph.slots[variable].layer.startswith("_"):
            graph.fix(Dim.var(variable), "its size uses none of the reserved names")


def _embedded(model: Model) -> bool:
    """Say whether a network has embedding or positional-encoding layers (3.1)."""
    for layer in inner.all_layers(model):
        name = layer.name if isinstance(layer, Layer) else layer.cls.name if isinstance(layer, Instance) else ""
        if name == "Embedding" or "position" in name.lower():
            return True
    return False
