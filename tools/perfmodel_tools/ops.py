"""How ATen operators appear in a perfmodel graph: name, attributes, forward operations."""

import math
import numbers

import torch

# Operators whose only result is their first argument under another shape, although their schema
# does not say so.
UNDECLARED_VIEWS = {"_unsafe_view", "_reshape_alias"}

# Operators that hand their argument through.
ALIASES = {"detach", "alias", "lift", "lift_fresh", "lift_fresh_copy", "_conj", "resolve_conj"}

# Operators that raise an error for values that another one could not work with; they compute nothing.
ONLY_CHECKS = {"_linalg_check_errors", "_assert_async", "_assert_scalar"}

# Fresh memory: such a node is left out when nothing reads it.
ALLOCATIONS = {"empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided"}

# Batch normalisation has had several names.
BATCH_NORMS = {"native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
               "_batch_norm_with_update", "_batch_norm_with_update_functional", "cudnn_batch_norm",
               "miopen_batch_norm"}

ATTENTIONS = {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention",
              "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_efficient_attention",
              "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_fused_attention_overrideable"}

_NAMES = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "gelu": "Gelu", "silu": "Silu",
    "hardswish": "HardSwish", "hardsigmoid": "HardSigmoid", "leaky_relu": "LeakyRelu", "elu": "Elu",
    "mish": "Mish", "softplus": "Softplus", "_prelu_kernel": "PRelu", "prelu": "PRelu",
    "clamp": "Clip", "clamp_min": "Clip", "clamp_max": "Clip", "hardtanh": "Clip",
    "add": "Add", "sub": "Sub", "rsub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "neg": "Neg",
    "abs": "Abs", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "reciprocal": "Reciprocal", "erf": "Erf",
    "sin": "Sin", "cos": "Cos", "maximum": "Max", "minimum": "Min", "where": "Where",
    "eq": "Equal", "lt": "Less", "gt": "Greater", "ge": "GreaterOrEqual", "floor": "Floor",
    "deform_conv2d": "DeformConv", "convolution": "Conv", "_convolution": "Conv", "addmm": "Gemm", "linear": "Gemm",
    "mm": "MatMul", "bmm": "MatMul", "matmul": "MatMul", "baddbmm": "MatMul",
    "native_layer_norm": "LayerNormalization", "native_group_norm": "GroupNormalization",
    "_softmax": "Softmax", "_log_softmax": "LogSoftmax",
    "max_pool1d": "MaxPool", "max_pool2d": "MaxPool", "max_pool3d": "MaxPool",
    "max_pool2d_with_indices": "MaxPool", "max_pool3d_with_indices": "MaxPool",
    "avg_pool1d": "AveragePool", "avg_pool2d": "AveragePool", "avg_pool3d": "AveragePool",
    "_adaptive_avg_pool2d": "aten::adaptive_avg_pool2d", "_adaptive_avg_pool3d": "aten::adaptive_avg_pool3d",
    "mean": "ReduceMean", "sum": "ReduceSum", "amax": "ReduceMax", "amin": "ReduceMin",
    "norm": "ReduceL2", "linalg_vector_norm": "ReduceL2", "topk": "TopK",
    "cat": "Concat", "stack": "Concat", "embedding": "Gather", "_embedding_bag": "aten::embedding_bag",
    "_embedding_bag_forward_only": "aten::embedding_bag", "index": "Gather", "index_select": "Gather",
    "view": "Reshape", "reshape": "Reshape", "_unsafe_view": "Reshape", "_reshape_alias": "Reshape",
    "unflatten": "Reshape", "flatten": "Reshape", "as_strided": "Reshape",
    "t": "Transpose", "transpose": "Transpose", "permute": "Transpose", "expand": "Expand",
    "squeeze": "Squeeze", "unsqueeze": "Unsqueeze", "slice": "Slice", "select": "Slice", "narrow": "Slice",
    "split": "Split", "split_with_sizes": "Split", "unsafe_split": "Split", "chunk": "Split",
    "unsafe_chunk": "Split", "unbind": "Split",
    "constant_pad_nd": "Pad", "reflection_pad1d": "Pad", "reflection_pad2d": "Pad",
    "replication_pad1d": "Pad", "replication_pad2d": "Pad",
    "upsample_nearest1d": "Resize", "upsample_nearest2d": "Resize", "upsample_bilinear2d": "Resize",
    "upsample_bicubic2d": "Resize", "bernoulli": "Bernoulli", "native_dropout": "Dropout",
    "_to_copy": "Cast", "_fft_c2c": "DFT",
    **{name: "BatchNormalization" for name in BATCH_NORMS},
    **{name: "Attention" for name in ATTENTIONS},
}

# Operators that only move or make data: no operations are counted for them.
_MOVES = {
    "Reshape", "Transpose", "Expand", "Squeeze", "Unsqueeze", "Slice", "Split", "Concat", "Gather", "Pad",
    "Bernoulli", "Dropout", "Cast", "aten::clone", "aten::copy", "aten::roll", "aten::flip", "aten::repeat",
    "aten::im2col", "aten::unfold", "aten::arange", "aten::eye", "aten::full", "aten::zeros", "aten::ones",
    "aten::new_zeros", "aten::new_ones", "aten::new_full", "aten::zeros_like", "aten::ones_like",
    "aten::full_like", "aten::fill", "aten::zero", "aten::scalar_tensor", "aten::linspace", "aten::gather",
    "aten::index_put", "aten::rand", "aten::randn", "aten::rand_like", "aten::randn_like",
    "aten::uniform", "aten::normal", "aten::pixel_shuffle", "aten::pixel_unshuffle", "aten::channel_shuffle",
    *("aten::" + name for name in ALLOCATIONS),
}

_NORMALISATIONS = {"BatchNormalization", "LayerNormalization", "GroupNormalization", "Softmax", "LogSoftmax"}

_REDUCTIONS = {"GlobalAveragePool", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2",
               "aten::var", "aten::std", "aten::max", "aten::min", "aten::argmax", "aten::adaptive_avg_pool2d",
               "aten::adaptive_avg_pool3d", "aten::adaptive_max_pool2d", "TopK"}

_ARITHMETIC = {"Add", "Sub", "Mul", "Div"}


class Call:
    """One executed ATen operator: its base name and its arguments by name."""

    def __init__(self, func, args, kwargs, out):
        schema = func._schema
        self.space, _, self.name = schema.name.rpartition("::")
        alias = schema.returns[0].alias_info if schema.returns else None
        self.in_place = alias is not None and alias.is_write
        if self.in_place and self.name.endswith("_"):
            self.name = self.name[:-1]
        self.is_view = (alias is not None and not alias.is_write) or self.name in UNDECLARED_VIEWS
        self.arguments = _bind(schema, args, kwargs)
        self.out = out

    def get(self, *names, default=None):
        """The first argument that goes by one of the names."""
        for name in names:
            if name in self.arguments:
                return self.arguments[name]
        return default

    @property
    def first(self):
        """The first argument: the data, with few exceptions."""
        return next(iter(self.arguments.values()), None)

    @property
    def result(self):
        """The first output tensor, or None."""
        return self.outputs[0] if self.outputs else None

    @property
    def operands(self) -> list:
        """Arguments that may hold tensors that are read. torchvision gives a deformable convolution without a mask an empty one."""
        return [value for name, value in self.arguments.items() if name != "mask" or self.get("use_mask", default=True)]

    @property
    def outputs(self) -> list:
        out = self.out if isinstance(self.out, (list, tuple)) else [self.out]
        return [value for value in out if isinstance(value, torch.Tensor)]


def _bind(schema, args, kwargs) -> dict:
    """Arguments by name, defaults filled in."""
    bound = {}
    for index, argument in enumerate(schema.arguments):
        if index < len(args):
            bound[argument.name] = args[index]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            bound[argument.name] = argument.default_value
    return bound


def is_sparse(tensor) -> bool:
    return str(tensor.layout).startswith("torch.sparse")


# Products, which have another name where a factor is sparse.
_WITH_SPARSE = {"mm", "addmm", "_sparse_addmm", "_sparse_mm", "mv", "addmv"}


def node_name(call: Call) -> str:
    """The operator's name in the graph."""
    if call.name in _WITH_SPARSE and any(isinstance(value, torch.Tensor) and is_sparse(value) for value in call.arguments.values()):
        return "aten::_sparse_mm"
    name = _NAMES.get(call.name, f"{call.space}::{call.name}")
    if name == "Conv" and call.get("transposed"):
        return "ConvTranspose"
    if name == "ReduceMean" and _is_global_pool(call):
        return "GlobalAveragePool"
    return name


def _is_global_pool(call: Call) -> bool:
    """A mean over height and width of a batch of images."""
    rank = call.first.dim()
    return rank == 4 and sorted(axis % rank for axis in _axes(call)) == [2, 3]


def _axes(call: Call) -> list:
    axes = call.get("dim", default=[])
    if axes is None or axes == []:
        return list(range(call.first.dim()))
    return [axes] if isinstance(axes, int) else list(axes)


def attributes(op: str, call: Call) -> dict:
    """Attributes in ONNX's manner."""
    rule = _ATTRIBUTES.get(op)
    if rule is None and op in _ARITHMETIC:
        rule = _scalar
    return rule(call) if rule else {}


def _per_dimension(value, rank: int) -> list:
    """PyTorch takes one number, or a list of one, for all spatial dimensions."""
    values = [value] if isinstance(value, int) else list(value)
    return values * rank if len(values) == 1 else values


def _conv(call: Call) -> dict:
    kernel = list(call.get("weight").shape[2:])
    rank = len(kernel)
    attrs = {"kernel_shape": kernel, "strides": _per_dimension(call.get("stride"), rank),
             "pads": _per_dimension(call.get("padding"), rank),
             "dilations": _per_dimension(call.get("dilation"), rank), "group": call.get("groups", default=1)}
    if call.get("transposed"):
        attrs["output_padding"] = _per_dimension(call.get("output_padding"), rank)
    return attrs


def _deform_conv(call: Call) -> dict:
    attrs = {name: [call.get(f"{word}_h"), call.get(f"{word}_w")]
             for name, word in (("strides", "stride"), ("pads", "pad"), ("dilations", "dilation"))}
    return {"kernel_shape": list(call.get("weight").shape[2:]), **attrs, "group": call.get("groups")}


def _pool(call: Call) -> dict:
    rank = 1 if "1d" in call.name else 3 if "3d" in call.name else 2
    kernel = _per_dimension(call.get("kernel_size"), rank)
    return {"kernel_shape": kernel, "strides": _per_dimension(call.get("stride") or kernel, rank),
            "pads": _per_dimension(call.get("padding"), rank)}


def _max_pool(call: Call) -> dict:
    attrs = _pool(call)
    attrs["dilations"] = _per_dimension(call.get("dilation"), len(attrs["kernel_shape"]))
    attrs["ceil_mode"] = int(call.get("ceil_mode"))
    return attrs


def _average_pool(call: Call) -> dict:
    return dict(_pool(call), ceil_mode=int(call.get("ceil_mode")),
                count_include_pad=int(call.get("count_include_pad")))


def _reduce(call: Call) -> dict:
    return {"axes": _axes(call), "keepdims": int(bool(call.get("keepdim", default=False)))}


def _transpose(call: Call) -> dict:
    rank = call.first.dim()
    perm = list(range(rank))
    if call.name == "permute":
        perm = [axis % rank for axis in call.get("dims")]
    elif rank > 1:
        a, b = (call.get("dim0"), call.get("dim1")) if call.name == "transpose" else (0, 1)
        perm[a], perm[b] = perm[b], perm[a]
    return {"perm": perm}


def _slice(call: Call) -> dict:
    axis = call.get("dim") % call.first.dim()
    size = call.first.shape[axis]
    if call.name == "select":
        return {"axis": axis, "start": call.get("index") % size, "squeeze": 1}
    start, end = call.get("start") or 0, call.get("end")
    end = size if end is None else end
    start, end = (min(size, value + size if value < 0 else value) for value in (start, end))
    return {"axis": axis, "start": max(0, start), "end": end, "step": call.get("step", default=1)}


def _split(call: Call) -> dict:
    attrs = {"axis": call.get("dim", default=0) % call.first.dim()}
    return dict(attrs, squeeze=1) if call.name == "unbind" else attrs


def _concat(call: Call) -> dict:
    attrs = {"axis": call.get("dim", default=0)}
    return dict(attrs, new_axis=1) if call.name == "stack" else attrs


def _squeeze(call: Call) -> dict:
    axes = call.get("dim")
    if axes is None:
        axes = [i for i, size in enumerate(call.first.shape) if size == 1]
    return {"axes": [axes] if isinstance(axes, int) else list(axes)}


def _pad(call: Call) -> dict:
    attrs = {"pads": list(call.get("pad", "padding"))}
    mode = call.name.split("_")[0]
    return attrs if mode == "constant" else dict(attrs, mode=mode)


def _resize(call: Call) -> dict:
    return {"mode": call.name[len("upsample_"):-2]}


def _windows(call: Call) -> dict:
    return {"kernel_shape": list(call.get("kernel_size")), "dilations": list(call.get("dilation")),
            "pads": list(call.get("padding")), "strides": list(call.get("stride"))}


def _roll(call: Call) -> dict:
    return {"shifts": list(call.get("shifts")), "axes": list(call.get("dims"))}


def _number(value) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _round(value):
    """Enough digits to tell constants apart, few enough to read; JSON has no infinities."""
    if isinstance(value, int):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def _scalar(call: Call) -> dict:
    """The number in 'tensor + number'."""
    for name in ("self", "other"):
        if _number(call.get(name)):
            return {"scalar": _round(call.get(name))}
    return {}


def _values(*names):
    """Parameters of an activation, as far as they were given."""
    def rule(call: Call) -> dict:
        values = [_round(call.get(name)) for name in names if _number(call.get(name))]
        return {"values": values} if values else {}
    return rule


_DEFAULT_SLOPE = 0.01


def _leaky(call: Call) -> dict:
    slope = call.get("negative_slope")
    return {} if slope == _DEFAULT_SLOPE else {"values": [_round(slope)]}


_ATTRIBUTES = {
    "Conv": _conv, "ConvTranspose": _conv, "DeformConv": _deform_conv, "MaxPool": _max_pool, "AveragePool": _average_pool,
    "ReduceMean": _reduce, "ReduceSum": _reduce, "ReduceMax": _reduce, "ReduceMin": _reduce,
    "ReduceL2": _reduce, "GlobalAveragePool": _reduce, "aten::var": _reduce, "aten::std": _reduce,
    "Transpose": _transpose, "Slice": _slice, "Split": _split, "Concat": _concat, "Squeeze": _squeeze,
    "Pad": _pad, "Resize": _resize, "aten::roll": _roll, "aten::im2col": _windows, "aten::col2im": _windows,
    "Unsqueeze": lambda call: {"axes": [call.get("dim")]},
    "Softmax": lambda call: {"axis": call.get("dim")},
    "LogSoftmax": lambda call: {"axis": call.get("dim")},
    "LayerNormalization": lambda call: {"axis": -len(call.get("normalized_shape"))},
    "GroupNormalization": lambda call: {"num_groups": call.get("group", "num_groups")},
    "Dropout": lambda call: {"ratio": _round(call.get("p"))},
    "Cast": lambda call: {"to": str(call.result.dtype).replace("torch.", "")},
    "TopK": lambda call: {"k": call.get("k"), "axis": call.get("dim")},
    "aten::adaptive_avg_pool2d": lambda call: {"output_size": list(call.get("output_size"))},
    "aten::adaptive_max_pool2d": lambda call: {"output_size": list(call.get("output_size"))},
    "Clip": _values("min", "max", "min_val", "max_val"), "Elu": _values("alpha"),
    "Pow": _values("exponent"), "LeakyRelu": _leaky,
}


def flops(op: str, call: Call) -> int:
    """Forward operations at the batch the call was made with."""
    out = call.result
    if out is None or call.is_view or op in _MOVES or (op == "Resize" and "nearest" in call.name):
        return 0
    if op in _PRODUCTS:
        return 2 * _PRODUCTS[op](call)
    if op in _LINEAR_ALGEBRA:
        return _LINEAR_ALGEBRA[op](call)
    if op in _NORMALISATIONS:
        return 5 * call.first.numel()
    if op in ("MaxPool", "AveragePool"):
        return out.numel() * math.prod(_pool(call)["kernel_shape"])
    if op == "Resize":
        return out.numel() * (16 if "bicubic" in call.name else 4)
    if op in _REDUCTIONS or op == "aten::col2im":
        return call.first.numel()
    return out.numel()


def _conv_macs(call: Call) -> int:
    weight = call.get("weight")
    rows = call.first if call.get("transposed") else call.result
    return rows.numel() * (weight.numel() // max(1, weight.shape[0]))


def _gemm_macs(call: Call) -> int:
    depth = (call.get("mat1") if call.name == "addmm" else call.first).shape[-1]
    return call.result.numel() * depth


def _matmul_macs(call: Call) -> int:
    depth = (call.get("batch1") if call.name == "baddbmm" else call.first).shape[-1]
    return call.result.numel() * depth


def _affine_macs(call: Call) -> int:
    return call.result.numel() * call.first.shape[-1]


def _factor(thirds: int, rows: int = 0):
    """Operations: thirds of a cube for each square matrix, and for each number of a solution so many rows of it."""
    def count(call: Call) -> int:
        matrix = call.get("self", "A", "input")
        side = matrix.shape[-1]
        return math.prod(matrix.shape[:-2]) * (thirds * side ** 3 // 3) + rows * call.result.numel() * side
    return count


def attention_macs(query, key, value) -> int:
    """Both products of scaled dot-product attention."""
    batch_heads = math.prod(query.shape[:-2])
    return batch_heads * query.shape[-2] * key.shape[-2] * (query.shape[-1] + value.shape[-1])


_PRODUCTS = {
    "Conv": _conv_macs, "ConvTranspose": _conv_macs, "DeformConv": _conv_macs, "Gemm": _gemm_macs, "MatMul": _matmul_macs,
    "Attention": lambda call: attention_macs(call.get("query"), call.get("key"), call.get("value")),
    "aten::affine_grid_generator": _affine_macs, "aten::dot": lambda call: call.first.numel(), "aten::mv": lambda call: call.first.numel(),
}

_LINEAR_ALGEBRA = {
    "aten::linalg_inv_ex": _factor(6), "aten::linalg_cholesky_ex": _factor(1), "aten::_linalg_solve_ex": _factor(2, 2),
    "aten::linalg_solve_triangular": _factor(0, 1), "aten::_linalg_det": _factor(2), "aten::_linalg_slogdet": _factor(2),
}
