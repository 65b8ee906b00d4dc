"""Which operators of a model have a gradient: not those under torch.no_grad(), nor those that are only read behind a detach()."""

import contextlib
import re

import torch
from torch.utils import checkpoint


class Detached(int):
    """The number of a node whose result is read without its gradient."""


class Shape(list):
    """The shape of a parameter, or of a part of one, and which parameter it is; OWNER: if it is trained. STORED: where it is stored."""

    def __init__(self, shape, owner, stored=None):
        super().__init__(shape)
        self.owner, self.stored = owner, stored


class GradMode:
    """The grad mode that the model sets. PyTorch's own stays off during a trace, because autograd would add operators.

    A torch.autograd.Function says itself what its gradient is, so inside one neither the mode nor a detach() means anything.
    """

    def __init__(self):
        self._on = True
        self._functions = []                # whether the mode was on, for each autograd.Function that is running
        self._inference = torch.is_inference_mode_enabled()
        self.checkpoints = False            # whether the model recomputes a part of itself

    @property
    def on(self) -> bool:
        """Whether an operator that runs now has a gradient."""
        mode = self._functions[0] if self._functions else self._on
        return mode and torch.is_inference_mode_enabled() == self._inference

    @property
    def in_function(self) -> bool:
        return bool(self._functions)

    @contextlib.contextmanager
    def watched(self):
        """Keep the mode up to date for the time of one run."""
        with contextlib.ExitStack() as undo:
            _replace(undo, torch._C, "_set_grad_enabled", self._set)
            _replace(undo, torch, "is_grad_enabled", lambda: self._on and not self._functions)
            _replace(undo, torch.autograd.Function, "apply", classmethod(self._apply(vars(torch.autograd.Function).get("apply"))))
            # before PyTorch 2.1
            if hasattr(checkpoint, "_checkpoint_without_reentrant"):
                _replace(undo, checkpoint, "_checkpoint_without_reentrant", self._noting(checkpoint._checkpoint_without_reentrant))
            # since then, and as of 2.14
            for name in ("_checkpoint_without_reentrant_generator", "_checkpoint_without_reentrant_generator_impl"):
                if hasattr(checkpoint, name):
                    _replace(undo, checkpoint, name, self._beside)
            yield

    def _set(self, mode) -> None:
        self._on = bool(mode)

    def _apply(self, own):
        def apply(cls, *args, **kwargs):
            if cls is checkpoint.CheckpointFunction:
                self.checkpoints = True
                return args[0](*args[2:])           # (function, keep random state, arguments)
            before = self._on
            self._functions.append(self.on)
            try:
                # a method of Python or, as in PyTorch 2.14, of C
                return own.__get__(None, cls)(*args, **kwargs) if own else super(torch.autograd.Function, cls).apply(*args, **kwargs)
            finally:
                self._functions.pop()
                self._on = before
        return apply

    def _noting(self, function):
        def run(*args, **kwargs):
            self.checkpoints = True
            return function(*args, **kwargs)
        return run

    def _beside(self, *args, **kwargs):
        """What PyTorch does before and after a part that is recomputed: nothing, where there is no backward pass."""
        self.checkpoints = True
        yield


def _replace(undo, owner, name: str, value) -> None:
    """Set an attribute until the stack is unwound."""
    old = vars(owner).get(name)
    setattr(owner, name, value)
    undo.callback(lambda: delattr(owner, name) if old is None else setattr(owner, name, old))


def freeze(nodes: list, live: set) -> set:
    """Mark the nodes whose weights are not trained, and return the parameters that no node trains."""
    trained = _owners(nodes[i] for i in live)
    feeds_dead = _feeds_dead(nodes, live)
    lost = set()
    for node in nodes:
        owners = _owners([node])
        if node["id"] in live or not owners:
            continue
        lost |= owners - trained
        # What a spectral normalisation computes of trained weights is left as it is: they would be there twice.
        if node["id"] in feeds_dead or owners - trained:
            node["attrs"]["frozen"] = 1
    return lost


def tie_frozen(nodes: list) -> None:
    """Say of frozen weights which other module stores them; calls of one module tell that by themselves."""
    first = {}
    for node in nodes:
        stored = node["weights"][0].stored if node.get("weights") and "frozen" in node["attrs"] else None
        owner = first.setdefault(stored, node)
        if stored is not None and owner.get("module") != node.get("module"):
            node["attrs"]["tied"] = owner["id"]


def fill_sparse(nodes: list) -> None:
    """Take the word `sparse` from tables that something else reads, too: both gradients together are as large as the table."""
    sparse = [node for node in nodes if "sparse" in node.get("attrs", {})]
    full = _owners(node for node in nodes if not {"sparse", "frozen"} & set(node.get("attrs", {})))
    for node in sparse:
        if "frozen" in node["attrs"] or _owners([node]) & full:
            del node["attrs"]["sparse"]


def find_live(nodes: list, without: set, roots: list) -> set:
    """Nodes that a gradient reaches, if what they read has one.

    WITHOUT: nodes that ran without a gradient. ROOTS: those from which gradients come.
    """
    live, todo = set(), list(roots)
    while todo:
        node = todo.pop()
        if node not in live and node not in without:
            live.add(node)
            todo += [i for i in nodes[node]["inputs"] if not isinstance(i, Detached)]
    return live


def _feeds_dead(nodes: list, live: set) -> set:
    """Nodes that work on data without a gradient, and those whose results such nodes use."""
    of_data = depends_on_data(nodes)
    found = set()
    for node in reversed(nodes):
        if node["id"] not in live and (node["id"] in found or of_data[node["id"]]):
            found |= {node["id"], *map(int, node["inputs"])}
    return found


def _owners(nodes) -> set:
    """The trained parameters that nodes read."""
    return {shape.owner for node in nodes for shape in node.get("weights", []) if shape.owner is not None}


def depends_on_data(nodes: list) -> list:
    """For each node, whether it follows from an input."""
    found = []
    for node in nodes:
        found.append(node["op"] == "Input" or any(found[i] for i in node["inputs"]))
    return found


# Operators that have no gradient in any model, as the extension knows, too.
_NO_GRADIENT = re.compile(r"_like$|^aten::(new_|rand|normal|uniform|bernoulli)|^(Bernoulli|Sign|Round|Floor|Ceil)$"
                          r"|^(Equal|Less|LessOrEqual|Greater|GreaterOrEqual|Input)$"
                          r"|^aten::(eq|ne|lt|le|gt|ge|arg(max|min)|any|all|(bitwise|logical)_\w+|isnan|isinf|sign|sgn|heaviside|round|ceil"
                          r"|count_nonzero|bucketize|searchsorted|multinomial|exponential)$")


def follows_weights(node: dict, trained: set) -> bool:
    """Whether a gradient goes from a node's result to trained weights. TRAINED: earlier nodes of which that is true."""
    return (any(shape.owner is not None for shape in node.get("weights", []))
            or any(i in trained and not isinstance(i, Detached) for i in node["inputs"])) and not _NO_GRADIENT.search(node["op"])


def detach(nodes: list, without: set, floating: set) -> tuple:
    """The nodes with an aten::detach wherever an operator reads a trained result without its gradient, and the new number of each node.

    WITHOUT: nodes that ran without a gradient. FLOATING: those with a result of real numbers.
    """
    cut, made, places, detached = _reads_without_gradient(nodes, without, floating), [], [], {}
    for node in nodes:
        inputs = [places[i] for i in node["inputs"]]
        for place, i in enumerate(node["inputs"]):
            if (node["id"], place) in cut:
                if i not in detached:
                    detached[int(i)] = len(made)
                    made.append({"id": len(made), "op": "aten::detach", "inputs": [places[i]], "attrs": {}, "view": True,
                                 **{key: nodes[i][key] for key in ("shape", "shapes") if key in nodes[i]}})
                inputs[place] = detached[i]
        places.append(len(made))
        made.append(dict(node, id=len(made), inputs=inputs))
    return made, places


def _reads_without_gradient(nodes: list, without: set, floating: set) -> set:
    """Pairs of a reader and the place among its inputs of what it reads; without a word, that would be taken to have a gradient."""
    of_data, has, found = depends_on_data(nodes), [], set()
    used = floating.union(*(node["inputs"] for node in nodes))      # not the places that a max_pool1d() makes by the way
    for node in nodes:
        reader = node["id"]
        passes = reader in used and not _NO_GRADIENT.search(node["op"])
        read = [place for place, i in enumerate(node["inputs"]) if passes and has[i]]
        dead = {place for place in read if of_data[node["inputs"][place]]
                and (reader in without or reader not in floating or isinstance(node["inputs"][place], Detached))}
        found |= {(reader, place) for place in dead}
        trains = bool(node.get("weights")) and "frozen" not in node["attrs"]
        has.append(passes and (trains or len(dead) < len(read)))
    return found
