"""Keras layers as data: which argument holds a width, and what a layer does to a shape."""

from __future__ import annotations

from dataclasses import dataclass

from sknc.decompose.widths import Role


@dataclass(frozen=True)
class LayerRule:
    """What is known of a layer class.

    Attributes:
        shape: the name of its shape rule in `sknc.script.shapes`.
        slots: its width arguments: (name, position, role of the width).
        rank: number of spatial axes, for convolutions and poolings.
    """

    shape: str
    slots: tuple[tuple[str, int, Role], ...] = ()
    rank: int = 0


_UNITS: tuple[tuple[str, int, Role], ...] = (("units", 0, "dense"),)
_CELLS: tuple[tuple[str, int, Role], ...] = (("units", 0, "recurrent"),)
_FILTERS: tuple[tuple[str, int, Role], ...] = (("filters", 0, "conv"),)

LAYERS: dict[str, LayerRule] = {
    "Dense": LayerRule("dense", _UNITS),
    "LSTM": LayerRule("recurrent", _CELLS),
    "GRU": LayerRule("recurrent", _CELLS),
    "SimpleRNN": LayerRule("recurrent", _CELLS),
    "LSTMCell": LayerRule("cell", _CELLS),
    "GRUCell": LayerRule("cell", _CELLS),
    "SimpleRNNCell": LayerRule("cell", _CELLS),
    "RNN": LayerRule("rnn"),
    "StackedRNNCells": LayerRule("cell"),
    "Bidirectional": LayerRule("bidirectional"),
    "TimeDistributed": LayerRule("time_distributed"),
    "SpectralNormalization": LayerRule("wrapped"),
    "Embedding": LayerRule("embedding", (("output_dim", 1, "embedding"),)),
    "MultiHeadAttention": LayerRule("multi_head_attention"),
    "GroupQueryAttention": LayerRule("multi_head_attention"),
    "Attention": LayerRule("attention"),
    "AdditiveAttention": LayerRule("attention"),
    "Flatten": LayerRule("flatten"),
    "Reshape": LayerRule("reshape"),
    "Permute": LayerRule("permute"),
    "RepeatVector": LayerRule("repeat"),
    "Concatenate": LayerRule("concatenate"),
    "Dot": LayerRule("dot"),
    "Lambda": LayerRule("lambda"),
    "GroupNormalization": LayerRule("group_normalization"),
    "Resizing": LayerRule("spatial_unknown", rank=2),
    "CenterCrop": LayerRule("spatial_unknown", rank=2),
    "RandomCrop": LayerRule("spatial_unknown", rank=2),
    "InputLayer": LayerRule("input"),
}
for _rank in (1, 2, 3):
    LAYERS[f"Conv{_rank}D"] = LAYERS[f"Convolution{_rank}D"] = LayerRule("conv", _FILTERS, _rank)
    LAYERS[f"SeparableConv{_rank}D"] = LayerRule("conv", _FILTERS, _rank)
    LAYERS[f"Conv{_rank}DTranspose"] = LayerRule("conv_transpose", _FILTERS, _rank)
    LAYERS[f"DepthwiseConv{_rank}D"] = LayerRule("depthwise", rank=_rank)
    LAYERS[f"ConvLSTM{_rank}D"] = LayerRule("conv_lstm", _FILTERS, _rank)
    for _name in ("MaxPooling", "MaxPool", "AveragePooling", "AvgPool"):
        LAYERS[f"{_name}{_rank}D"] = LayerRule("pool", rank=_rank)
        LAYERS[f"Global{_name}{_rank}D"] = LayerRule("global_pool", rank=_rank)
    for _name in ("UpSampling", "ZeroPadding", "Cropping"):
        LAYERS[f"{_name}{_rank}D"] = LayerRule("spatial_unknown", rank=_rank)
for _name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"):
    LAYERS[_name] = LayerRule("merge")
for _name in (
    "Activation ActivityRegularization AlphaDropout BatchNormalization Dropout ELU GaussianDropout "
    "GaussianNoise Identity LayerNormalization LeakyReLU Masking Normalization PReLU RMSNormalization "
    "ReLU RandomBrightness RandomColorJitter RandomContrast RandomFlip RandomRotation "
    "RandomSaturation RandomHue RandomTranslation RandomZoom RandomShear RandomErasing "
    "RandomGrayscale RandomInvert RandomPosterization RandomSharpness RandomElasticTransform "
    "RandomPerspective RandomGaussianBlur AutoContrast Equalization Solarization Rescaling Softmax "
    "SpatialDropout1D SpatialDropout2D SpatialDropout3D ThresholdedReLU UnitNormalization "
    "SyncBatchNormalization"
).split():
    LAYERS[_name] = LayerRule("same")

CONVOLUTIONS = frozenset(
    name for name, r in LAYERS.items() if r.shape in ("conv", "conv_transpose", "depthwise", "conv_lstm")
)
"""Layers that make a network more than "dense only" (3.4, epochs)."""

NOT_DENSE = CONVOLUTIONS | {
    "LSTM", "GRU", "SimpleRNN", "RNN", "Embedding", "MultiHeadAttention", "GroupQueryAttention", "Attention",
    "AdditiveAttention", "Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D",
}  # fmt: skip

SAME_FUNCTIONS = frozenset(
    (
        "relu relu6 elu selu gelu silu swish softplus softsign sigmoid log_sigmoid hard_sigmoid hard_silu hard_swish"
        " hard_tanh tanh softmax log_softmax leaky_relu celu mish exp log log1p log2 log10 expm1 abs absolute"
        " square sqrt rsqrt negative sign sin cos tan sinh cosh erf cast identity stop_gradient dropout l2_normalize"
        " normalize clip clip_by_value round floor ceil rint reciprocal convert_to_tensor zeros_like ones_like"
        " nan_to_num power pow mod logical_not isnan batch_normalization layer_normalization"
        " gaussian_noise linear exponential sparsemax threshold squareplus tanh_shrink soft_shrink hard_shrink"
    ).split()
)
"""Functions of tensors that keep the shape, by their last name."""

MERGE_FUNCTIONS = {
    "add": "merge", "subtract": "merge", "multiply": "merge", "average": "merge", "maximum": "merge",
    "minimum": "merge", "divide": "merge", "true_divide": "merge", "add_n": "merge", "dot": "dot",
    "concatenate": "concatenate", "concat": "concatenate",
}  # fmt: skip
"""Functions of several tensors and the shape rule that they share with a layer."""

WRITERS = {
    "ModelCheckpoint": ("filepath", 0),
    "CSVLogger": ("filename", 0),
    "TensorBoard": ("log_dir", 0),
    "BackupAndRestore": ("backup_dir", 0),
}
"""Callbacks that write files: the argument that names the path."""

FILE_WRITERS = {
    "numpy.save": 0, "numpy.savez": 0, "numpy.savez_compressed": 0, "numpy.savetxt": 0, "joblib.dump": 1,
    "matplotlib.pyplot.savefig": 0, "keras.utils.plot_model": 1, "tensorflow.saved_model.save": 1,
    "keras.saving.save_model": 1, "keras.models.save_model": 1, "keras.saving.save_weights": 1,
}  # fmt: skip
"""Functions that write a file: the position of the path."""

FILE_READERS = ("numpy.load", "numpy.loadtxt", "joblib.load", "pandas.read_csv", "pandas.read_pickle")
"""Functions that read a file, whose path comes first."""

STAR_NAMES = frozenset({"Input", "Sequential", "Model", "load_model", *MERGE_FUNCTIONS, *WRITERS})
"""What `from keras... import *` brings, besides the layers."""

_HOMES = {
    **dict.fromkeys(WRITERS, ("keras.callbacks",)),
    "Input": ("keras", "keras.layers", "keras.engine"),
    "Model": ("keras", "keras.models", "keras.engine"),
    "Sequential": ("keras", "keras.models", "keras.engine"),
    "load_model": ("keras.models", "keras.saving"),
}


def brings(module: str, name: str) -> bool:
    """Say whether `from module import *` brings a name of Keras.

    Args:
        module: its full name in Keras.
        name: one of STAR_NAMES, or of a layer.

    Returns:
        Whether the name is at home there, or in a module that it is a part of.
    """
    homes = _HOMES.get(name, ("keras.layers",))
    return any(module == home or (home != "keras" and module.startswith(f"{home}.")) for home in homes)
