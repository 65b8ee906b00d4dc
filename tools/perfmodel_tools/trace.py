"""Run a model on PyTorch's meta device and write down every operator that is executed."""

import contextlib
import dataclasses
import math
import re
import sys

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import grad, meta, models, ops

# Operators that take only the shape of their input.
_WITHOUT_VALUES = {f"{prefix}{name}{suffix}" for name in ("ones", "zeros", "full", "empty", "rand", "randn") for prefix, suffix in (("", "_like"), ("new_", ""))}

# Functions that PyTorch takes apart before a dispatch mode sees them. They are one operator in the
# graph, as they are one call on a device.
_RECURRENT = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_DROPOUTS = ("dropout", "dropout_", "feature_dropout", "feature_dropout_", "alpha_dropout", "alpha_dropout_")


class TraceError(Exception):
    """The model could not be run; the message says why."""


class ValuesNeeded(TraceError):
    """The model asks for values, which tensors of the meta device do not have; the message says for which."""


class KernelMissing(ValuesNeeded):
    """This PyTorch has no kernel for the meta device for one of the operators; values are a way around that."""


class Refused(TraceError):
    """The model computes what has no single graph, though it can be changed so that it has one; the message says how."""


class Recorder:
    """Collects nodes. Every tensor is known by where it comes from: a node, a parameter, a constant."""

    def __init__(self, module):
        self.nodes = []
        self.mode = grad.GradMode()
        self.without = set()        # nodes that ran without a gradient
        self.floating = set()       # nodes with a result of real numbers
        self._detached = set()      # nodes whose result was taken without its gradient
        self._trained = set()       # nodes whose result follows from trained weights
        self._whole = {}            # id of a view -> the tensor whose memory it shows
        self._origin = {}           # id of a tensor -> ("node", id), or its shape: ("weights", ...), ("frozen", ...) of weights, ("consts", ...)
        self._alive = []            # keeps tensors alive, so that an id is not used twice
        self._paused = 0
        self._measured = set()      # inputs of real numbers: images, not masks or places
        self._modules = []          # paths of the modules that are running, the innermost last
        self.parts = set()          # nodes that take one sample out of a batch, for an operator that was recorded for all samples
        for tensor in module.parameters():
            self._set(tensor, ("weights", grad.Shape(_real_shape(tensor), id(tensor))) if tensor.requires_grad
                      else ("frozen", grad.Shape(_real_shape(tensor), None, id(tensor))))
        for tensor in module.buffers():
            self._set(tensor, ("consts", _real_shape(tensor)))

    def _set(self, tensor, origin) -> None:
        self._origin[id(tensor)] = origin
        self._alive.append(tensor)

    def origin(self, tensor) -> tuple:
        """Where a tensor comes from; one that nobody announced is a constant of the model."""
        if id(tensor) not in self._origin:
            self._set(tensor, ("consts", _real_shape(tensor)))
        return self._origin[id(tensor)]

    def add_input(self, tensors: list) -> None:
        """One tensor, or those of all samples, which are one input."""
        if tensors[0].is_floating_point():
            self._measured.add(len(self.nodes))
        shape = [sum(len(tensor) for tensor in tensors), *tensors[0].shape[1:]] if len(tensors) > 1 else list(tensors[0].shape)
        self._add({"op": "Input", "inputs": [], "shape": shape}, tensors)

    def enter(self, module: str) -> None:
        """What is recorded from now on is run by the module with this path."""
        self._modules.append(module)

    def leave(self, module: str) -> None:
        """The module is done; so are those inside it that an exception ended."""
        while self._modules and self._modules.pop() != module:
            pass

    def _add(self, node: dict, outputs: list, keeps_gradient=False) -> None:
        node["id"] = len(self.nodes)
        if outputs[0].is_complex():
            node.setdefault("attrs", {})["complex"] = 1
        if not self.mode.on and not keeps_gradient:
            self.without.add(node["id"])
        if any(map(_is_real, outputs)):
            self.floating.add(node["id"])
            if self.mode.on and grad.follows_weights(node, self._trained):
                self._trained.add(node["id"])
        if self._modules and node["op"] != "Input":
            node["module"] = self._modules[-1]
        self.nodes.append(node)
        for tensor in outputs:      # a place has no gradient, though the value beside it, as of topk(), may have one
            value = node["id"] if _is_real(tensor) or node["id"] not in self.floating else grad.Detached(node["id"])
            self._set(tensor, ("node", value))

    def record(self, call: ops.Call) -> None:
        """Write down one ATen operator."""
        if self._paused:
            return
        if call.name in ops.ONLY_CHECKS:
            return
        if not call.outputs:
            self.check_values(call.arguments.values())
            return
        _check_size(call)
        if any(ops.is_sparse(tensor) and tensor.is_meta for tensor in tensors_in([*call.arguments.values(), call.outputs])):
            raise ValuesNeeded("it uses sparse tensors, and how many numbers they store is known of real ones only")
        operands = [(tensor, self.origin(tensor)) for tensor in tensors_in(call.operands)]
        if call.name in ops.ALIASES and operands:
            self._set(call.result, self._without_gradient(operands[0][1]) if call.name == "detach" else operands[0][1])
            return
        if _is_counter(call, operands):
            return
        if call.is_view and operands and operands[0][1][0] != "node":
            for tensor in call.outputs:
                self._set(tensor, _seen_as(operands[0][1], tensor))
            return
        if call.is_view and operands:
            whole = self._whole.get(id(operands[0][0]), operands[0][0])
            self._whole.update((id(tensor), whole) for tensor in call.outputs)
        # What is changed in place under no_grad() has the gradient that it had.
        changed = call.in_place and bool(operands) and operands[0][1][0] == "node" and operands[0][1][1] not in self.without
        if not (changed and self._writes_trained(operands)):
            self._add(self._node(call, [origin for _, origin in operands]), call.outputs, changed)
            return
        # A trained result is written into a part of a tensor: who reads the tensor reads both, and what is overwritten is not read.
        whole = self._whole[id(operands[0][0])]
        self._add(self._node(call, [origin for _, origin in operands[call.name == "copy":]]), call.outputs, changed)
        self._add({"op": "Identity", "inputs": [self.origin(tensor)[1] for tensor in (whole, operands[0][0])], "shape": list(whole.shape),
                   "view": True}, [whole])

    def _writes_trained(self, operands: list) -> bool:
        """Whether an operator in place changes a view of a tensor to what follows from trained weights."""
        whole = self._whole.get(id(operands[0][0]))
        return (whole is not None and self.origin(whole)[0] == "node"
                and any(kind == "weights" or kind == "node" and not isinstance(value, grad.Detached) and value in self._trained
                        for _, (kind, value) in operands[1:]))

    def _without_gradient(self, origin: tuple) -> tuple:
        """Where the result of detach() comes from."""
        kind, value = origin
        if self.mode.in_function:
            return origin
        if kind == "node":
            self._detached.add(int(value))
            return kind, grad.Detached(value)
        return ("frozen", grad.Shape(value, None, value.owner)) if kind == "weights" else origin

    def roots(self, returned: list) -> list:
        """Nodes from which gradients come: those of what the model returns, and those that nothing reads."""
        read = self._detached.union(*(node["inputs"] for node in self.nodes))
        origins = [self.origin(tensor) for tensor in returned]
        return ([value for kind, value in origins if kind == "node" and not isinstance(value, grad.Detached)]
                + [node["id"] for node in self.nodes if node["id"] not in read])

    def check_values(self, values) -> None:
        """A value that a program asks for may come from a mask or a place, which are the same in all steps; not from an image."""
        todo = [value for kind, value in map(self.origin, tensors_in(values)) if kind == "node"]
        seen = set()
        while todo:
            node = todo.pop()
            if node in self._measured:
                raise TraceError("its operators depend on the values of its input")
            if node not in seen and self.nodes[node]["op"].rpartition("::")[2] not in _WITHOUT_VALUES:
                todo += self.nodes[node]["inputs"]
            seen.add(node)

    def _node(self, call: ops.Call, origins: list) -> dict:
        op = ops.node_name(call)
        if call.name == "baddbmm":
            origins = origins[1:] + origins[:1]         # the two factors first
        node = {"op": op, "inputs": [value for kind, value in origins if kind == "node"],
                "shape": _shape(call.result)}
        if isinstance(call.out, (list, tuple)) and (op in ("Split", "TopK") or isinstance(call.out, list)):
            node["shapes"] = [list(tensor.shape) for tensor in call.outputs]
        node["attrs"] = ops.attributes(op, call)
        if op == "Softmax" and hasattr(F, "scaled_dot_product_attention"):
            node["attrs"]["plain"] = 1                  # this PyTorch has one kernel for attention, and the program does not call it
        _add_weights(node, origins)
        if "embedding" in call.name and call.get("sparse") and node["weights"] and "frozen" not in node["attrs"]:
            node["attrs"]["sparse"] = 1             # the gradient has the rows of the batch only
        if op == "Gemm":
            node["weights"].sort(key=len, reverse=True)  # the matrix before the bias
        if op != "BatchNormalization":                  # whose constants are running statistics, written only
            node["consts"] = [value for kind, value in origins if kind == "consts"]
        node["view"] = call.is_view
        node["flops"] = ops.flops(op, call)
        return node

    @contextlib.contextmanager
    def paused(self):
        """What runs inside is not written down."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def add_composite(self, op: str, operands: list, outputs: list, attrs: dict, flops: int) -> None:
        """Write down a function that PyTorch would have taken apart."""
        self.add_from(op, [self.origin(tensor) for tensor in operands], outputs, attrs, flops)

    def add_from(self, op: str, origins: list, outputs: list, attrs: dict, flops: int) -> None:
        """The same, by where its operands come from."""
        if self._paused:
            return
        node = {"op": op, "shape": list(outputs[0].shape), "attrs": dict(attrs), "flops": flops,
                "inputs": [value for kind, value in origins if kind == "node"],
                "consts": [value for kind, value in origins if kind == "consts"]}
        _add_weights(node, origins)
        self._add(node, outputs)

    def add_view(self, operand, view) -> None:
        """Write down that a tensor shows another in another shape."""
        kind, value = self.origin(operand)
        if self._paused:
            return
        if kind == "node":
            self._add({"op": "Reshape", "inputs": [value], "shape": list(view.shape), "attrs": {}, "view": True}, [view])
        else:
            self._set(view, _seen_as((kind, value), view))

    def whole_of(self, samples: list) -> tuple:
        """Where the batch comes from of which these tensors are the samples, one each."""
        origins = [self.origin(tensor) for tensor in samples]
        if any(kind != "node" for kind, _ in origins):
            return origins[0]
        takers = {int(value) for _, value in origins}
        read = [self.nodes[i] for i in takers]
        wholes = {node["inputs"][0] for node in read if node.get("view") and node["attrs"].get("axis") == 0 and node["attrs"].get("squeeze")}
        if len(wholes) == 1 and len(self.nodes[min(wholes)]["shape"]) > 1 and self.nodes[min(wholes)]["shape"][0] == len(samples):
            self.parts |= takers
            return "node", wholes.pop()
        return origins[0]

    def is_zeros(self, tensor) -> bool:
        """Whether a tensor was made by zeros(): the initial state of a recurrent layer."""
        kind, value = self.origin(tensor)
        return kind == "node" and self.nodes[value]["op"] in ("aten::zeros", "aten::new_zeros", "Expand")


def _add_weights(node: dict, origins: list) -> None:
    """The weights among the origins of a node's operands; the node is frozen when none of them is trained."""
    kinds = [kind for kind, _ in origins if kind in ("weights", "frozen")]
    node["weights"] = [value for kind, value in origins if kind in ("weights", "frozen")]
    if kinds and "weights" not in kinds:
        node["attrs"]["frozen"] = 1


def _is_real(tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _shape(tensor) -> list:
    """The shape of an output; of a sparse one, the numbers that it stores are all that is there."""
    return [tensor._nnz()] if ops.is_sparse(tensor) else list(tensor.shape)


def _real_shape(tensor) -> list:
    """The shape of a tensor in real numbers: complex ones have two each."""
    return [*_shape(tensor), 2] if tensor.is_complex() else _shape(tensor)


def _seen_as(origin: tuple, view) -> tuple:
    """A parameter in another shape stays that parameter; a part of one is a parameter of its own size."""
    kind, shape = origin
    seen = _real_shape(view)
    if math.prod(seen) >= math.prod(shape):
        return origin
    return kind, seen if kind == "consts" else grad.Shape(seen, shape.owner)


def _is_counter(call: ops.Call, operands: list) -> bool:
    """The update of a batch counter: an in-place operator on an integer buffer."""
    return (call.in_place and bool(operands) and operands[0][1][0] == "consts"
            and not operands[0][0].is_floating_point()
            and all(origin[0] != "node" for _, origin in operands))


def tensors_in(values) -> list:
    """All tensors among arguments, lists included, in order."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            found.extend(tensors_in(value.values()))
        elif isinstance(value, (list, tuple)):
            found.extend(tensors_in(value))
    return found


def _inputs(values) -> list:
    """Tensors of an example input, in order, each in a list of its own; those of all samples, which are one input, together."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append([value])
        elif isinstance(value, models.Samples):
            found.append(list(value))
        elif isinstance(value, dict):
            found.extend(_inputs(value.values()))
        elif isinstance(value, (list, tuple)):
            found.extend(_inputs(value))
    return found


class _Listener(TorchDispatchMode):
    """Hands every ATen operator to the recorder."""

    def __init__(self, recorder: Recorder):
        super().__init__()
        self._recorder = recorder

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = meta.call(func, args, kwargs)
        self._recorder.record(ops.Call(func, args, kwargs, out))
        return out


class _OnMeta(TorchFunctionMode):
    """Sends tensors that a model makes without naming a device to the meta device."""

    def __init__(self, names):
        super().__init__()
        self._names = names

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if getattr(func, "__name__", "") in self._names and kwargs.get("device") is None:
            kwargs["device"] = "meta"
        return func(*args, **kwargs)


def build_on_meta(build) -> torch.nn.Module:
    """Build a module without memory for its weights where it allows that, and with it where not."""
    try:
        # Layers take the memory of their weights from empty(); everything else may need real values.
        with _OnMeta({"empty"}):
            module = build()
    except Exception:
        module = build()
    return to_meta(module).train()


def has_sparse(module) -> bool:
    """Whether a module has a sparse tensor, such as the adjacency matrix of a graph network, of which a meta tensor keeps the shape alone."""
    return any(ops.is_sparse(tensor) for part in module.modules() for tensor in tensors_in(vars(part).values()))


def to_meta(module) -> torch.nn.Module:
    """The module without memory. Module.to() would make a parameter of its own for each module that shares one."""
    moved = {}
    for part in module.modules():
        for name, buffer in part._buffers.items():
            if buffer is not None and ops.is_sparse(buffer):        # one in rows (CSR) cannot be moved
                part._buffers[name] = torch.sparse_coo_tensor(size=buffer.shape, dtype=buffer.dtype, device="meta")
        for name, old in part._parameters.items():
            if old is not None and old.device.type != "meta":
                if old not in moved:
                    moved[old] = torch.nn.Parameter(old.detach().to("meta"), old.requires_grad)
                part._parameters[name] = moved[old]
    return module.to("meta")


@contextlib.contextmanager
def _composites(recorder: Recorder):
    """Replace the functions in question for the time of one run."""
    undo = []

    def replace(owner, name, make):
        if hasattr(owner, name):
            undo.append((owner, name, vars(owner).get(name)))
            setattr(owner, name, make(getattr(owner, name), recorder))

    for name in _DROPOUTS:
        replace(torch._VF, name, _dropout)
    for name in _RECURRENT:
        replace(torch._VF, name, _recurrent)
    replace(F, "scaled_dot_product_attention", _attention)
    replace(F, "one_hot", _one_hot)
    for owner in (torch, torch.Tensor):
        replace(owner, "repeat_interleave", _repeat_interleave)
    replace(torch.nn.SyncBatchNorm, "forward", _batch_norm)
    replace(torch._VF, "_pack_padded_sequence", _pack)
    replace(torch._VF, "_pad_packed_sequence", _pad)
    for name in ("convert_boxes_to_roi_format", "_convert_to_roi_format"):
        for module in _users_of(name, "torchvision"):
            replace(module, name, _boxes)
    for module in _users_of("inplace_abn", "inplace_abn"):
        replace(module, "inplace_abn", _inplace_abn)
    try:
        yield
    finally:
        for owner, name, old in undo:
            delattr(owner, name) if old is None else setattr(owner, name, old)


def _dropout(function, recorder):
    def run(input, p, train):
        if not train or p == 0:
            return input
        with recorder.paused():
            out = function(input, p, train)
        recorder.add_composite("Dropout", [input], [out], {"ratio": float(f"{p:.6g}")}, 0)
        return out
    return run


def _recurrent(function, recorder):
    op = _RECURRENT[function.__name__]

    def run(*args):
        with recorder.paused():
            out = function(*args)
        # Two signatures: (input, states, weights, ...) and, for packed input, (data, sizes, states, ...).
        packed = isinstance(args[1], torch.Tensor) and not isinstance(args[2], bool) \
            and not isinstance(args[3], bool)
        states, weights = (args[2], args[3]) if packed else (args[1], args[2])
        layers = args[5] if packed else args[4]
        # In both, 'bidirectional' is the second boolean after the dropout rate.
        bidirectional = args[8] if packed else args[7]
        states = [s for s in tensors_in([states]) if not recorder.is_zeros(s)]
        # the width of the gates, not of the output, which may be a projection
        attrs = {"hidden_size": weights[1].shape[0] // _GATES[op], "num_layers": layers,
                 "direction": "bidirectional" if bidirectional else "forward"}
        steps = args[0].numel() // args[0].shape[-1]
        macs = steps * sum(w.numel() for w in weights if w.dim() == 2)
        recorder.add_composite(op, [args[0]] + states + list(weights), list(out), attrs, 2 * macs)
        return out
    return run


def _attention(function, recorder):
    def run(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **more):
        with recorder.paused():
            out = function(query, key, value, attn_mask, dropout_p, is_causal, **more)
        scores = query.numel() // query.shape[-1] * key.shape[-2]
        attrs = {"is_causal": int(is_causal), "ratio": dropout_p}
        operands = [t for t in (query, key, value, attn_mask) if t is not None]
        recorder.add_composite("Attention", operands, [out], attrs,
                               2 * ops.attention_macs(query, key, value) + 5 * scores)
        return out
    return run


def _one_hot(function, recorder):
    """As CUDA does it; the CPU and the meta device look at the values first."""
    def run(tensor, num_classes=-1):
        if num_classes < 0:
            return function(tensor, num_classes)
        return torch.zeros(*tensor.shape, num_classes, dtype=torch.long, device=tensor.device).scatter_(-1, tensor.unsqueeze(-1), 1)
    return run


def _repeat_interleave(function, recorder):
    """By a number, as PyTorch 2 does it: before, the size of the result came from a tensor, which has no values on the meta device."""
    def run(input, repeats, dim=None, **more):
        if not isinstance(repeats, int):
            return function(input, repeats, dim, **more)
        input, dim = (input.flatten(), 0) if dim is None else (input, dim % input.dim())
        shape = [*input.shape[:dim + 1], repeats, *input.shape[dim + 1:]]
        return input.unsqueeze(dim + 1).expand(shape).clone(memory_format=torch.contiguous_format).flatten(dim, dim + 1)
    return run


@contextlib.contextmanager
def _modules(module, recorder):
    """Tell the recorder which part of the module runs, for the time of one run."""
    handles = []
    for path, part in module.named_modules():
        if path and not isinstance(part, torch.jit.ScriptModule):
            handles.append(part.register_forward_pre_hook(lambda part, args, path=path: recorder.enter(path)))
            handles.append(part.register_forward_hook(lambda part, args, out, path=path: recorder.leave(path)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _users_of(function: str, package: str) -> list:
    """Modules that have imported this function of a package by its name."""
    return [module for module in list(sys.modules.values())
            if callable(getattr(module, function, None))
            and (getattr(getattr(module, function), "__module__", None) or "").startswith(package)]


def _batch_norm(function, recorder):
    """On one GPU, SyncBatchNorm does what BatchNorm does. It refuses other devices, and sums between GPUs are not in a graph."""
    return torch.nn.modules.batchnorm._BatchNorm.forward


# What to do about sequences of several lengths.
_FULL_LENGTHS = ("pack_padded_sequence() gets lengths below the {steps} steps of its input, so that the work depends on the lengths: give the "
                 "example input lengths of {steps}. The graph is then that of sequences padded to {steps} steps. Choose the steps of the example "
                 "near the mean length of your batches")


def _check_full(recorder, lengths, full: int, steps: int) -> None:
    """Refuse lengths, or numbers of sequences at each step, below the full ones."""
    if lengths.is_meta:
        raise ValuesNeeded("pack_padded_sequence() asks for the lengths of the sequences")
    recorder.check_values([lengths])
    with recorder.paused():
        full_ones = bool((lengths == full).all())
    if not full_ones:
        raise Refused(_FULL_LENGTHS.format(steps=steps))


def _pack(function, recorder):
    """Of full lengths: the padded batch, one position of all samples after the other."""
    def run(input, lengths, batch_first):
        samples, steps = input.shape[:2] if batch_first else (input.shape[1], input.shape[0])
        _check_full(recorder, lengths, steps, steps)
        with recorder.paused():
            data = (input.transpose(0, 1) if batch_first else input).reshape(-1, *input.shape[2:])
            sizes = torch.full((steps,), samples, dtype=torch.long, device="cpu")
        recorder.add_view(input, data)
        return data, sizes
    return run


def _pad(function, recorder):
    """The other way."""
    def run(data, sizes, batch_first, padding_value, total_length):
        steps = len(sizes)
        samples = len(data) // steps
        _check_full(recorder, sizes, samples, steps)
        with recorder.paused():
            padded = data.reshape(steps, samples, *data.shape[1:])
            padded = padded.transpose(0, 1) if batch_first else padded
            lengths = torch.full((samples,), steps, dtype=torch.long, device="cpu")
        recorder.add_view(data, padded)
        if total_length > steps:
            behind = padded.dim() - (2 if batch_first else 1)       # dimensions behind that of the steps
            padded = torch.constant_pad_nd(padded, [0, 0] * behind + [0, total_length - steps], padding_value)
        return padded, lengths
    return run


def _boxes(function, recorder):
    """Lists of boxes, one for each image: one tensor of all boxes with the numbers of their images."""
    def run(boxes):
        with recorder.paused():
            out = function(boxes)
        recorder.add_from("Concat", [recorder.whole_of(list(boxes))], [out], {"axis": 1}, 0)
        return out
    return run


def _inplace_abn(function, recorder):
    """Batch normalisation and activation in one kernel of its own, which exists for real devices only."""
    def run(x, weight, bias, running_mean, running_var, training=True, momentum=0.1, eps=1e-05,
            activation="leaky_relu", activation_param=0.01):
        with recorder.paused():
            out = torch.empty_like(x)
        attrs = {"activation": activation}
        if activation == "leaky_relu":
            attrs["alpha"] = float(f"{activation_param:.6g}")
        recorder.add_composite("InPlaceABN", [x, weight, bias], [out], attrs, 5 * x.numel())
        return out
    return run


_FACTORIES = {"zeros", "ones", "empty", "full", "arange", "eye", "tensor", "rand", "randn", "linspace"}


@dataclasses.dataclass
class Traced:
    """One forward pass."""

    nodes: list
    output: int                 # id of the node that made the first output
    untrained: set              # ids of parameters that have no gradient, although they want one
    checkpoints: bool           # whether the model recomputes a part of itself in the backward pass


def trace(module, inputs) -> Traced:
    """One forward pass of a module on the meta device."""
    try:
        compiles = "torch._dynamo" in sys.modules
        traced = _run(module, inputs, contextlib.nullcontext())
        if "torch._dynamo" in sys.modules and not compiles:
            # PyTorch 2 imports it when a checkpoint first wants it, and what the import computes is in the trace
            traced = _run(module, inputs, contextlib.nullcontext())
        return traced
    except TraceError:
        raise
    except Exception as first:
        try:                    # a model may make tensors on the default device in its forward pass
            return _run(module, inputs, _OnMeta(_FACTORIES))
        except Exception:
            raise _kind(first)(_why(first)) from first


def _kind(err):
    """The exception that says what went wrong."""
    missing = meta.missing(err)
    if missing:
        return TraceError if missing.rpartition("::")[2] in _SIZED_BY_VALUES else KernelMissing
    return ValuesNeeded if _NEEDS_VALUES.search(str(err)) else TraceError


# What PyTorch says when values are asked for, which tensors of the meta device do not have.
_NEEDS_VALUES = re.compile(r"aten::(_local_scalar_dense|nonzero|equal|is_nonzero|masked_select|_unique2?|unique_\w+)\b"
                           r"|cannot be called on meta tensors|copy out of meta tensor|[Dd]ata.dependent")


def _why(err) -> str:
    """Why a model could not be run, without PyTorch's list of all of its backends."""
    missing = meta.missing(err)
    if missing and missing.rpartition("::")[2] not in _SIZED_BY_VALUES:
        return f"PyTorch {models.release('torch')} cannot run {missing} on the meta device"
    first = re.split(r"\s*\n|\s+This could be because", str(err).strip(), maxsplit=1)[0].strip(" .") or type(err).__name__
    if missing or _NEEDS_VALUES.search(str(err)):
        return (f"its operators or shapes depend on the values of its input, so that it has no single graph ({first}). "
                "Export a part of it that does not, as docs/profiling.md does with detection networks")
    return f"the model cannot be run on the meta device: {first}"


# Operators whose results have as many elements as the values say.
_SIZED_BY_VALUES = {"nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive", "nms",
                    "repeat_interleave", "bincount"}


def trace_with_values(module, inputs) -> Traced:
    """As trace(), for a module and inputs with values: branches may depend on them, sizes may not."""
    return _run(module, inputs, contextlib.nullcontext())


def _check_size(call: ops.Call) -> None:
    """Refuse a result with as many elements as the values say; x[mask] is one."""
    chosen = call.name == "index" and any(tensor.dtype in (torch.bool, torch.uint8) for tensor in tensors_in([call.get("indices")]))
    if chosen or call.name in _SIZED_BY_VALUES:
        raise TraceError(f"sizes of its tensors depend on values ({call.name})")


def _run(module, inputs, mode) -> Traced:
    recorder = Recorder(module)
    arguments = inputs.values() if isinstance(inputs, dict) else inputs if isinstance(inputs, tuple) else [inputs]
    for tensors in _inputs(arguments):
        recorder.add_input(tensors)
    # Without autograd, which would add copies of its own ahead of operators executed in place.
    with torch.no_grad(), _composites(recorder), _modules(module, recorder), recorder.mode.watched(), mode, _Listener(recorder):
        result = models.call(module, inputs)
    output = models.first_tensor(result)
    if output is None:
        raise TraceError("the model returns no tensor")
    kind, node = recorder.origin(output)
    if kind != "node":
        raise TraceError("the model's output does not depend on its input")
    nodes = recorder.nodes
    live = grad.find_live(nodes, recorder.without, recorder.roots(tensors_in([result])))
    untrained = grad.freeze(nodes, live)
    nodes, places = grad.detach(nodes, recorder.without, recorder.floating)
    nodes, kept = _without_parts(nodes, {places[i] for i in recorder.parts})
    grad.tie_frozen(nodes)
    grad.fill_sparse(nodes)
    return Traced(nodes, kept[places[node]], untrained, recorder.mode.checkpoints)


def _without_parts(nodes: list, parts: set) -> tuple:
    """The nodes but for those of PARTS that nothing reads, and the new number of each node that stays."""
    parts = parts - {i for node in nodes for i in node["inputs"]}
    kept = {node["id"]: place for place, node in enumerate(node for node in nodes if node["id"] not in parts)}
    return [dict(node, id=kept[node["id"]], inputs=[kept[i] for i in node["inputs"]]) for node in nodes if node["id"] in kept], kept
