"""Tests of the graph exporter. Run: python3 -m unittest discover -s test/tools"""

import gzip
import hashlib
import io
import json
import os
import sys
import tempfile
import threading
import types
import unittest
import warnings
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

try:
    import torch
    from torch import nn
    import torch.utils.checkpoint
except ImportError as err:
    raise unittest.SkipTest(f"PyTorch is not installed: {err}")

try:
    import torchvision
except ImportError:
    torchvision = None

from perfmodel_tools import export, models
from perfmodel_tools.__main__ import main


def setUpModule():
    """unittest shows what other packages say of each other; the command line does not."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="(?!perfmodel_tools)")


def ops_of(graph):
    """Names of all operators, in order."""
    return [node["op"] for node in graph["nodes"]]


def only(graph, op):
    """The one node of an operator."""
    found = [node for node in graph["nodes"] if node["op"] == op]
    assert len(found) == 1, f"{len(found)} nodes of {op} in {ops_of(graph)}"
    return found[0]


def canonical(node):
    """What a node says about itself, apart from its place in the graph and the names of modules."""
    said = {key: value for key, value in node.items() if key not in ("id", "inputs", "module")}
    return json.dumps(said, sort_keys=True, separators=(",", ":"))


def digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def summary(graph):
    """Count and forward operations of every operator."""
    result = {}
    for node in graph["nodes"]:
        entry = result.setdefault(node["op"], [0, 0])
        entry[0] += 1
        entry[1] += node.get("flops", 0)
    return result


def run(*arguments):
    """Exit status, stdout and stderr of the command line."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(list(arguments))
    return status, out.getvalue(), err.getvalue()


class Fork(nn.Module):
    """A fork, a join, and a skip from the first layer to the last."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.left = nn.Conv2d(8, 8, 1)
        self.right = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.last = nn.Conv2d(16, 8, 1)

    def forward(self, x):
        stem = torch.relu(self.stem(x))
        both = torch.cat([self.left(stem), self.right(stem)], 1)
        return (self.last(both) + stem).mean((2, 3))


class Tokens(nn.Module):
    """Embedding, LSTM, linear."""

    def __init__(self, **options):
        super().__init__()
        self.table = nn.Embedding(100, 16)
        self.lstm = nn.LSTM(16, 24, batch_first=True, **options)
        self.head = nn.Linear(48 if options.get("bidirectional") else 24, 5)

    def forward(self, tokens):
        return self.head(self.lstm(self.table(tokens))[0][:, -1])


@unittest.skipIf(torchvision is None, "torchvision is not installed")
class AgainstTimm(unittest.TestCase):
    """The same networks as in another library, whose graphs were traced by another program."""

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(HERE, "expected_graphs.json")) as file:
            cls.expected = json.load(file)

    def export(self, name):
        model, _, image = name.partition("@")
        return export.export_graph(models.resolve(model, int(image)))

    def test_identical_networks(self):
        for name, wanted in self.expected["identical"].items():
            with self.subTest(name):
                graph = self.export(name)
                self.assertEqual(summary(graph), wanted["ops"])
                self.assertEqual(graph["params"], wanted["params"])
                self.assertEqual(graph["output"], wanted["output"])
                self.assertEqual(digest(map(canonical, graph["nodes"])), wanted["nodes"])
                edges = (json.dumps(node["inputs"], separators=(",", ":")) for node in graph["nodes"])
                self.assertEqual(digest(edges), wanted["edges"])

    def test_networks_written_differently(self):
        for name, wanted in self.expected["same_work"].items():
            with self.subTest(name):
                graph = self.export(name)
                self.assertEqual(graph["params"], wanted["params"])
                products = [n for n in graph["nodes"] if n["op"] in ("Conv", "Gemm", "MatMul")]
                self.assertEqual(sum(n["flops"] for n in products), wanted["product_flops"])
                if "convs" in wanted:
                    convs = sorted(canonical(n) for n in products if n["op"] == "Conv")
                    self.assertEqual(digest(convs), wanted["convs"])
                found = summary(graph)
                self.assertEqual({op: found.get(op) for op in wanted["ops"]}, wanted["ops"])


class Structure(unittest.TestCase):
    """Edges, shapes and the batch dimension of small modules."""

    def check_form(self, graph):
        """What every reader relies on."""
        self.assertEqual(graph["format"], "perfmodel-graph/1")
        for index, node in enumerate(graph["nodes"]):
            self.assertEqual(node["id"], index)
            self.assertTrue(all(i < index for i in node["inputs"]))
            if node["batch_dim"] is not None:
                self.assertLess(node["batch_dim"], len(node["shape"]))
            for shape in node.get("weights", []):
                self.assertTrue(shape)
        self.assertLess(graph["output"], len(graph["nodes"]))

    def test_fork_join_and_long_skip(self):
        graph = export.export_module(Fork(), torch.zeros(1, 3, 10, 10), "fork@10")
        self.check_form(graph)
        self.assertEqual(ops_of(graph), ["Input", "Conv", "Relu", "Conv", "Conv", "Concat", "Conv", "Add",
                                         "GlobalAveragePool"])
        self.assertEqual([node["inputs"] for node in graph["nodes"]],
                         [[], [0], [1], [2], [2], [3, 4], [5], [6, 2], [7]])
        depthwise = graph["nodes"][4]
        self.assertEqual(depthwise["attrs"], {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1],
                                              "dilations": [1, 1], "group": 8})
        self.assertEqual(depthwise["weights"], [[8, 1, 3, 3], [8]])
        self.assertEqual(depthwise["flops"], 2 * 8 * 100 * 9)
        self.assertEqual(graph["nodes"][5]["shape"], [1, 16, 10, 10])
        self.assertEqual(graph["params"], sum(p.numel() for p in Fork().parameters()))

    def test_lstm(self):
        graph = export.export_module(Tokens(bidirectional=True), torch.zeros(1, 7, dtype=torch.long), "lstm")
        self.check_form(graph)
        node = only(graph, "LSTM")
        self.assertEqual(node["attrs"], {"hidden_size": 24, "num_layers": 1, "direction": "bidirectional"})
        self.assertEqual(node["shape"], [1, 7, 48])
        self.assertEqual(node["weights"], 2 * [[96, 16], [96, 24], [96], [96]])
        self.assertEqual(node["flops"], 2 * 7 * 2 * 96 * (16 + 24))
        self.assertEqual(len(node["inputs"]), 1, "the initial state of zeros is not an input")
        self.assertEqual(only(graph, "Gather")["weights"], [[100, 16]])
        self.assertNotIn("aten::zeros", ops_of(graph))

    def test_gru(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.gru = nn.GRU(8, 16, num_layers=2)

            def forward(self, x):
                return self.gru(x.transpose(0, 1))[0]

        node = only(export.export_module(Net(), torch.zeros(1, 5, 8), "gru"), "GRU")
        self.assertEqual((node["shape"], node["batch_dim"]), ([5, 1, 16], 1))
        self.assertEqual(node["attrs"]["num_layers"], 2)
        self.assertEqual(node["flops"], 2 * 5 * (48 * 8 + 48 * 16 * 3))

    def test_transformer_encoder_layer(self):
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        graph = export.export_module(layer, torch.zeros(1, 9, 32), "encoder")
        self.check_form(graph)
        ops = ops_of(graph)
        self.assertEqual(ops.count("LayerNormalization"), 2)
        self.assertIn("Dropout", ops)
        self.assertEqual(graph["nodes"][graph["output"]]["shape"], [1, 9, 32])
        if "Attention" not in ops:          # PyTorch 1.13 has no such function: the parts are seen
            self.assertEqual(only(graph, "Softmax")["flops"], 5 * 4 * 9 * 9)
        macs = 9 * (3 * 32 * 32 + 32 * 32 + 2 * 32 * 64) + 2 * 9 * 9 * 32
        products = sum(n["flops"] for n in graph["nodes"] if n["op"] in ("Gemm", "MatMul", "Attention"))
        self.assertIn(products, (2 * macs, 2 * macs + 5 * 4 * 9 * 9))

    def test_attention_function(self):
        """PyTorch 2 has a function for attention; here a stand-in, so that the test runs everywhere."""
        functional = nn.functional
        old = vars(functional).get("scaled_dot_product_attention")

        def stand_in(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False):
            return torch.softmax(query @ key.transpose(-1, -2), -1) @ value

        class Net(nn.Module):
            def forward(self, x):
                return functional.scaled_dot_product_attention(x, x, x, is_causal=True)

        functional.scaled_dot_product_attention = stand_in
        try:
            graph = export.export_module(Net(), torch.zeros(1, 4, 9, 8), "attention")
        finally:
            if old is None:
                del functional.scaled_dot_product_attention
            else:
                functional.scaled_dot_product_attention = old
        node = only(graph, "Attention")
        self.assertEqual(ops_of(graph), ["Input", "Attention"])
        self.assertEqual((node["inputs"], node["attrs"]), ([0, 0, 0], {"is_causal": 1, "ratio": 0.0}))
        self.assertEqual(node["flops"], 2 * 2 * 4 * 9 * 9 * 8 + 5 * 4 * 9 * 9)

    def test_packed_sequence(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = nn.LSTM(8, 16)

            def forward(self, x):
                # As pack_padded_sequence() would have it, for sequences of equal length.
                sizes = torch.full((5,), len(x), dtype=torch.long, device="cpu")
                packed = nn.utils.rnn.PackedSequence(x.transpose(0, 1).reshape(-1, 8), sizes)
                return self.lstm(packed)[0].data

        node = only(export.export_module(Net(), torch.zeros(1, 5, 8), "packed"), "LSTM")
        self.assertEqual((node["shape"], node["flops"]), ([5, 16], 2 * 5 * 64 * (8 + 16)))

    def test_packed_sequences_of_full_length(self):
        """They do the work of padded ones; lengths below that are refused."""
        class Net(nn.Module):
            def __init__(self, lengths, batch_first, **pad):
                super().__init__()
                self.lstm, self.lengths, self.pad = nn.LSTM(8, 16, batch_first=batch_first), lengths, dict(pad, batch_first=batch_first)

            def forward(self, x, lengths=None):
                x = x if self.pad["batch_first"] else x.transpose(0, 1)
                packed = nn.utils.rnn.pack_padded_sequence(x, self.lengths(x, lengths), self.pad["batch_first"])
                return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], **self.pad)[0]

        given = (torch.zeros(2, 5, 8), torch.tensor([5, 4]))
        for batch_first in (True, False):
            for lengths, example in ((lambda x, _: [5] * (x.numel() // 40), given[:1]), (lambda x, given: given.cpu(), given)):
                graph = export.export_module(Net(lengths, batch_first), example, "packed")
                self.check_form(graph)
                node, last = only(graph, "LSTM"), graph["nodes"][-1]
                self.assertEqual((node["shape"], node["flops"]), ([5, 16], 2 * 5 * 64 * (8 + 16)))
                self.assertEqual((last["shape"], last["batch_dim"]), ([1, 5, 16], 0) if batch_first else ([5, 1, 16], 1))
                self.assertTrue(all(n.get("view") for n in graph["nodes"] if n["op"] not in ("Input", "LSTM")))
        longer = export.export_module(Net(lambda x, _: [5] * len(x), True, total_length=7), given[:1], "longer")
        self.assertEqual(only(longer, "Pad")["shape"], [1, 7, 16])
        for lengths, example in ((lambda x, _: [5] + [4] * (len(x) - 1), given[:1]), (lambda x, given: given - 1, given)):
            with self.assertRaisesRegex(export.ExportError, "lengths below the 5 steps .*give the example input lengths of 5"):
                export.export_module(Net(lengths, True), example, "short")
        # as before, outside of the exporter
        self.assertEqual(nn.utils.rnn.pack_padded_sequence(torch.zeros(5, 2, 8), [5, 4]).data.shape, (9, 8))

    def test_computed_weight_does_not_follow_the_batch(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.kernel = nn.Parameter(torch.zeros(4, 3, 3, 3))

            def forward(self, x):
                return nn.functional.conv2d(x, self.kernel * 2.0)

        graph = export.export_module(Net(), torch.zeros(1, 3, 8, 8), "computed")
        scale, conv = only(graph, "Mul"), only(graph, "Conv")
        self.assertEqual((scale["batch_dim"], scale["weights"]), (None, [[4, 3, 3, 3]]))
        self.assertEqual((scale["flops"], scale["flops0"]), (108, 108))
        self.assertEqual(conv["inputs"], [0, scale["id"]])
        self.assertNotIn("flops0", conv)

    def test_a_part_of_a_parameter(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.both = nn.Parameter(torch.zeros(12, 4))

            def forward(self, x):
                one, two = self.both.split([4, 8])
                return (x @ one.t()) @ two.t()

        nodes = export.export_module(Net(), torch.zeros(1, 4), "parts")["nodes"]
        self.assertEqual([node.get("weights") for node in nodes], [None, [[4, 4]], [[8, 4]]])

    def test_no_grad_and_detach(self):
        """Weights that no gradient reaches are frozen, and are no parameters of the step."""
        class Probe(nn.Module):
            def __init__(self, how):
                super().__init__()
                self.how, self.body, self.head = how, nn.Linear(4, 8), nn.Linear(8, 2)

            def forward(self, x):
                if self.how == "detach":
                    return self.head(self.body(x).relu().detach())
                with torch.no_grad() if self.how == "no_grad" else torch.inference_mode():
                    y = self.body(x).relu_()
                return self.head(y)

        for how in ("detach", "no_grad", "inference_mode"):
            graph, err = self.with_messages(Probe(how))
            self.assertEqual([node.get("attrs", {}).get("frozen") for node in graph["nodes"]], [None, 1, None, None], how)
            self.assertEqual((graph["params"], err), (8 * 2 + 2, ""))
        self.assertTrue(torch.is_grad_enabled() and torch._C._set_grad_enabled.__name__ == "_set_grad_enabled")

    def with_messages(self, module, shape=(1, 4)):
        """The graph, and what is said on stderr."""
        with redirect_stderr(io.StringIO()) as err:
            return export.export_module(module, torch.zeros(*shape), "net"), err.getvalue()

    def test_weights_that_follow_others(self):
        """A teacher whose weights are a mean of the student's; an orthogonal vector of trained weights stays with them."""
        class Mean(nn.Module):
            def __init__(self):
                super().__init__()
                self.student, self.teacher = nn.Linear(4, 4), nn.Linear(4, 4)

            def forward(self, x):
                with torch.no_grad():
                    for one, other in zip(self.student.parameters(), self.teacher.parameters()):
                        other.mul_(0.9).add_(one, alpha=0.1)
                    wanted = self.teacher(x)
                return self.student(x) - wanted

        graph, err = self.with_messages(Mean())
        self.assertEqual((graph["params"], err), (20, ""))
        self.assertEqual([node.get("attrs", {}).get("frozen") for node in graph["nodes"] if node.get("weights")], [1, 1, 1, 1, None])
        graph, _ = self.with_messages(nn.utils.spectral_norm(nn.Linear(4, 4)))
        self.assertFalse([node for node in graph["nodes"] if "frozen" in node.get("attrs", {})])

    def spec(self, build, *sample):
        return models.ModelSpec("net", "", "test", build, lambda batch, device="cpu": torch.zeros(batch, *sample, device=device))

    def test_gradients_that_stay(self):
        """A detach() beside the way of the gradient, a change in place, and what a Function does inside, freeze nothing."""
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, weight):
                with torch.no_grad():
                    return x.detach() @ weight

            @staticmethod
            def backward(ctx, grad):
                return grad, None

        class Net(nn.Module):
            def __init__(self, tail):
                super().__init__()
                self.tail, self.one, self.two = tail, nn.Linear(4, 4), nn.Linear(4, 4)

            def forward(self, x):
                return self.tail(self, self.one(x))

        def in_place(net, y):
            with torch.no_grad():
                y.mul_(2)
            return net.two(y)

        def beside(net, y):
            return net.two(y), y.detach()

        def twice(net, y):
            with torch.no_grad():
                z = net.two(y)
            return net.two(y + z)

        frozen = {}
        for tail in (in_place, beside, lambda net, y: Double.apply(net.two(y), net.two.weight), twice):
            graph, err = self.with_messages(Net(tail))
            frozen[tail.__name__] = [node["id"] for node in graph["nodes"] if node.get("attrs", {}).get("frozen")]
            self.assertEqual(graph["params"], 40)
            self.assertEqual((err, [node["inputs"] for node in graph["nodes"] if node["op"] == "aten::detach"]), ("", [[1]] if tail is twice else []))
        self.assertEqual(frozen, {"in_place": [], "beside": [], "<lambda>": [], "twice": [3]})

    def test_frozen_weights_of_two_modules(self):
        """LoRA: the frozen table of the words is the head's matrix, too, and is stored once."""
        class Net(nn.Module):
            def __init__(self, frozen):
                super().__init__()
                self.words, self.adapter, self.head = nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 9, bias=False)
                self.head.weight = self.words.weight
                self.head.weight.requires_grad = not frozen

            def forward(self, x):
                y = self.words(x.long())
                z = self.adapter(y)
                return self.head(y + z * z.detach())

        graph, _ = self.with_messages(Net(True))
        head, words = only(graph, "MatMul"), only(graph, "Gather")
        self.assertEqual((head["attrs"], words["attrs"]), ({"tied": words["id"], "frozen": 1}, {"frozen": 1}))
        self.assertEqual(graph["params"], 20)
        self.assertIn("aten::detach", ops_of(graph))
        graph, _ = self.with_messages(Net(False))
        self.assertEqual([node for node in graph["nodes"] if "tied" in node.get("attrs", {})], [])

    def test_places_have_no_gradient(self):
        """Experts are chosen by a topk(); masks made of its places have no backward pass. A max_pool1d() makes places that nobody reads."""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate = nn.Linear(4, 4)

            def forward(self, x):
                p, place = self.gate(x).topk(2)
                return (p.unsqueeze(-1) * nn.functional.one_hot(place, 4)).sum(1)

        graph, _ = self.with_messages(Net())
        self.assertEqual(ops_of(graph), ["Input", "Gemm", "TopK", "Unsqueeze", "aten::zeros", "aten::detach", "Unsqueeze", "aten::scatter",
                                         "Mul", "ReduceSum"])
        self.assertEqual([only(graph, op)["inputs"] for op in ("aten::detach", "aten::scatter", "Mul")], [[2], [4, 6], [3, 7]])
        graph, _ = self.with_messages(nn.Sequential(nn.Conv1d(1, 4, 3), nn.MaxPool1d(2)), (1, 1, 9))
        self.assertNotIn("aten::detach", ops_of(graph))

    def test_writing_into_a_part(self):
        """The gradient of what is written into a part of zeros comes from the whole; a mask that is written has none."""
        class Net(nn.Module):
            def __init__(self, trained):
                super().__init__()
                self.trained, self.one = trained, nn.Linear(4, 4)

            def forward(self, x):
                y = self.one(x)
                whole = x.new_zeros(x.shape[0], 8)
                whole[:, :4] = y if self.trained else 1
                whole[:, 4:].add_(y)
                return whole

        nodes = self.with_messages(Net(True))[0]["nodes"]
        self.assertEqual([(node["op"], node["inputs"]) for node in nodes if not node["op"].startswith("Slice")],
                         [("Input", []), ("Gemm", [0]), ("aten::new_zeros", [0]), ("aten::copy", [1]), ("Identity", [2, 5]),
                          ("Add", [8, 1]), ("Identity", [6, 9])])
        self.assertTrue(nodes[6]["view"] and nodes[6]["shape"] == [1, 8])
        nodes = self.with_messages(Net(False))[0]["nodes"]
        self.assertEqual([node["op"] for node in nodes].count("Identity"), 1)

    def test_complex_numbers(self):
        """They are two real ones: nodes say so, and parameters are listed as pairs."""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.filter = nn.Parameter(torch.zeros(3, dtype=torch.cfloat))
                self.pairs = nn.Parameter(torch.zeros(3, 2))

            def forward(self, x):
                return torch.fft.irfft(torch.fft.rfft(x) * 1j * self.filter * torch.view_as_complex(self.pairs), n=4)

        graph, _ = self.with_messages(Net())
        self.assertEqual([(node["op"], node["shape"], node.get("weights"), node.get("attrs", {}).get("complex")) for node in graph["nodes"]],
                         [("Input", [1, 4], None, None), ("aten::_fft_r2c", [1, 3], None, 1), ("Mul", [1, 3], None, 1), ("Mul", [1, 3], [[3, 2]], 1),
                          ("Mul", [1, 3], [[3, 2]], 1), ("aten::_fft_c2r", [1, 4], None, None)])
        self.assertEqual(graph["params"], 12)

    def test_projected_lstm(self):
        """hidden_size is the width of the gates, also where the output is a projection."""
        node = only(self.with_messages(nn.Sequential(nn.LSTM(4, 16, proj_size=3)), (5, 2, 4))[0], "LSTM")
        self.assertEqual((node["attrs"]["hidden_size"], node["shape"][-1]), (16, 3))

    def test_functions_that_look_at_values(self):
        """Distances, classes as vectors, and repetition by a number need no values."""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(4, 4)

            def forward(self, x):
                y = self.one(x).unsqueeze(1)
                return torch.cdist(y.repeat_interleave(3, 1), y, p=1.0)

        graph, _ = self.with_messages(Net())
        self.assertEqual(ops_of(graph)[2:], ["Unsqueeze", "Unsqueeze", "Expand", "aten::clone", "Reshape", "aten::_cdist_forward"])
        self.assertEqual(graph["nodes"][-1]["shape"], [1, 3, 1])

    def test_edges_without_gradient(self):
        """A straight-through estimator, a target of the network itself, and a product with a detached factor."""
        class Net(nn.Module):
            def __init__(self, tail):
                super().__init__()
                self.tail, self.one = tail, nn.Linear(4, 4)

            def forward(self, x):
                return self.tail(self.one(x))

        def no_grad(y):
            with torch.no_grad():
                z = torch.sigmoid(y)
            return y * z

        for tail, ops, inputs in ((lambda y: y + (y.tanh() - y).detach(), ["Tanh", "Sub", "aten::detach", "Add"], [[1], [2, 1], [3], [1, 4]]),
                                  (lambda y: y * y.detach(), ["aten::detach", "Mul"], [[1], [1, 2]]),
                                  (no_grad, ["aten::detach", "Sigmoid", "Mul"], [[1], [2], [1, 3]]),
                                  (lambda y: y * y.detach().argmax(1, keepdim=True), ["aten::argmax", "Mul"], [[1], [1, 2]])):
            nodes = self.with_messages(Net(tail))[0]["nodes"][2:]
            self.assertEqual([node["op"] for node in nodes], ops)
            self.assertEqual([node["inputs"] for node in nodes], inputs)

    def test_checkpointing_is_named(self):
        class Net(nn.Linear):
            def __init__(self, reentrant):
                super().__init__(4, 4)
                self.reentrant = reentrant

            def forward(self, x):
                if self.reentrant is None:
                    return super().forward(x)
                return torch.utils.checkpoint.checkpoint(super().forward, x, use_reentrant=self.reentrant)

        plain, err = self.with_messages(Net(None))
        self.assertEqual(err, "")
        for reentrant in (True, False):
            graph, err = self.with_messages(Net(reentrant))
            self.assertEqual(graph, plain)
            self.assertRegex(err, "^net: .*without torch.utils.checkpoint.*checkpointing => true.*recompute")
            self.assertEqual(err.count("\n"), 1)

    def test_embedding_bag(self):
        for sparse in (False, True):
            net = nn.Sequential(nn.EmbeddingBag(100, 8, mode="mean", sparse=sparse), nn.Linear(8, 2))
            graph = export.export_module(net, torch.zeros(1, 5, dtype=torch.long), "bag")
            node = only(graph, "aten::embedding_bag")
            self.assertEqual(node.get("attrs", {}).get("sparse"), 1 if sparse else None)
            self.assertEqual((node["shape"], node["batch_dim"], node["weights"]), ([1, 8], 0, [[100, 8]]))
            self.assertEqual([graph["nodes"][i]["shape"] for i in node["inputs"]], [[5], [1]], "indices and offsets")

    def test_sparse_gradients(self):
        class Net(nn.Module):
            """A table, and a head that may use it, too."""

            def __init__(self, tied, frozen=False):
                super().__init__()
                self.table, self.head = nn.Embedding(10, 4, sparse=True), nn.Linear(4, 10)
                self.table.requires_grad_(not frozen)
                self.tied = tied

            def forward(self, x):
                x = self.table(x)
                return nn.functional.linear(x, self.table.weight) if self.tied else self.head(x)

        for net, sparse in ((Net(False), 1), (Net(True), None), (Net(False, True), None)):
            graph = export.export_module(net, torch.zeros(1, 5, dtype=torch.long), "table")
            self.assertEqual(only(graph, "Gather").get("attrs", {}).get("sparse"), sparse)

    def test_sparse_tensors(self):
        class Net(nn.Module):
            """The layer of a graph network: its adjacency matrix by the features of all nodes."""

            def __init__(self, rows, product):
                super().__init__()
                self.layer, self.product = nn.Linear(16, 16), product
                adjacency = torch.sparse_coo_tensor(torch.stack([torch.arange(50), torch.arange(50) // 2]), torch.ones(50), (100, 100))
                self.register_buffer("adjacency", adjacency.to_sparse_csr() if rows else adjacency)

            def forward(self, x):
                return self.product(self.adjacency, self.layer(x[0]))

        for rows in (False, True):
            for product in (torch.mm, torch.sparse.mm, torch.matmul):
                graph = export.export_module(Net(rows, product), torch.zeros(1, 100, 16), "graph")
                node = only(graph, "aten::_sparse_mm")
                self.assertEqual((node["shape"], node["consts"]), ([100, 16], [[50]]))

        class Made(nn.Module):
            """Of numbers that are trained."""

            def __init__(self):
                super().__init__()
                self.numbers = nn.Parameter(torch.ones(50))
                self.register_buffer("places", torch.stack([torch.arange(50), torch.arange(50)]))

            def forward(self, x):
                return torch.sparse_coo_tensor(self.places, self.numbers, (100, 100)) @ x[0]

        graph = export.export_module(Made(), torch.zeros(1, 100, 16), "graph")
        made = only(graph, "aten::_sparse_coo_tensor_with_dims_and_tensors")
        self.assertEqual((made["shape"], made["weights"]), ([50], [[50]]))
        self.assertEqual(only(graph, "aten::_sparse_mm")["inputs"][0], made["id"])

    def test_modules(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 3, 3, padding=1)
                self.bn = nn.BatchNorm2d(3)

            def forward(self, x):
                return torch.relu(self.bn(self.conv(x))) + x

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Sequential(Block(), Block())

            def forward(self, x):
                return self.layers(x).mean((2, 3))

        net = Net()
        graph = export.export_module(net, torch.zeros(1, 3, 8, 8), "net")
        self.assertEqual([(node["op"], node.get("module")) for node in graph["nodes"]],
                         [("Input", None)] +
                         [pair for i in "01" for pair in (("Conv", f"layers.{i}.conv"), ("BatchNormalization", f"layers.{i}.bn"),
                                                          ("Relu", f"layers.{i}"), ("Add", f"layers.{i}"))] +
                         [("GlobalAveragePool", None)])
        self.assertFalse(any(part._forward_hooks or part._forward_pre_hooks for part in net.modules()))

    def test_in_place_and_counters(self):
        net = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(),
                            nn.Dropout(0.25), nn.Linear(16, 2))
        graph = export.export_module(net, torch.zeros(1, 3, 2, 2), "inplace")
        self.assertEqual(ops_of(graph), ["Input", "Conv", "BatchNormalization", "Relu", "Reshape", "Dropout", "Gemm"])
        self.assertNotIn("consts", graph["nodes"][2])
        self.assertTrue(graph["nodes"][4]["view"])
        self.assertEqual(graph["nodes"][5]["attrs"], {"ratio": 0.25})
        self.assertEqual(graph["nodes"][6]["weights"], [[2, 16], [2]])

    def test_inplace_abn(self):
        package = types.ModuleType("inplace_abn_of_a_test")
        exec("__name__ = 'inplace_abn.functions'\ndef inplace_abn(*args): raise RuntimeError('no kernel for meta')", vars(package))

        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 4, 3)
                self.norm = nn.BatchNorm2d(4)

            def forward(self, x):
                n = self.norm
                return package.inplace_abn(self.conv(x), n.weight, n.bias, n.running_mean, n.running_var, True, 0.1, 1e-5,
                                           "leaky_relu", 0.01)

        # not with mock.patch.dict, which would take back what PyTorch imports meanwhile and cannot import twice
        sys.modules["inplace_abn_of_a_test"] = package
        self.addCleanup(sys.modules.pop, "inplace_abn_of_a_test")
        graph = export.export_module(Layer(), torch.zeros(2, 3, 8, 8), "abn")
        node = only(graph, "InPlaceABN")
        self.assertEqual(node["attrs"], {"activation": "leaky_relu", "alpha": 0.01})
        self.assertEqual((node["shape"], node["weights"]), ([1, 4, 6, 6], [[4], [4]]))

    def test_transposed_convolution_and_pooling(self):
        net = nn.Sequential(nn.ConvTranspose2d(3, 6, 2, stride=2), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1))
        graph = export.export_module(net, torch.zeros(1, 3, 4, 4), "up")
        self.assertEqual(ops_of(graph)[1:4], ["ConvTranspose", "MaxPool", "GlobalAveragePool"])
        self.assertEqual(graph["nodes"][1]["flops"], 2 * 3 * 16 * 6 * 4)
        self.assertEqual(graph["nodes"][2]["flops"], 6 * 16 * 4)
        self.assertEqual(graph["nodes"][3]["flops"], 6 * 16)

    def test_model_that_changes_with_the_batch_is_refused(self):
        class Net(nn.Module):
            def forward(self, x):
                return x.relu() if len(x) == 2 else x.relu().sigmoid()

        with self.assertRaisesRegex(export.ExportError, "batch 3"):
            export.export_module(Net(), torch.zeros(1, 3), "odd")

    def test_a_product_of_the_batch_with_itself_is_refused(self):
        class Contrast(nn.Module):
            def forward(self, z):
                return z @ z.t()

        for net, place in ((Contrast(), "the model itself"), (nn.Sequential(nn.Linear(4, 4), Contrast()), "module 1")):
            with self.assertRaisesRegex(export.ExportError, f"MatMul of {place} has shape .2, 2. .*without the loss"):
                export.export_module(net, torch.zeros(1, 4), "contrast")

    def test_operators_that_the_meta_device_lacks(self):
        """PyTorch 1.13 has no kernel for them there; those that the tools do not know either are run with values."""
        norm = self.spec(lambda: nn.utils.weight_norm(nn.Conv1d(2, 4, 3)), 2, 8)        # which cannot be copied
        self.assertEqual(ops_of(export.export_graph(norm))[-1], "Conv")
        for pool in (nn.MaxPool3d(2), nn.MaxPool3d(3, 2, 1, ceil_mode=True), nn.MaxPool3d((2, 3, 2), dilation=2, ceil_mode=True)):
            node = only(export.export_module(pool, torch.zeros(1, 2, 8, 9, 11), "pool"), "MaxPool")
            self.assertEqual(node["shape"], list(pool(torch.zeros(1, 2, 8, 9, 11)).shape))

        class Inverse(nn.Linear):
            def forward(self, x):
                return x @ torch.linalg.eigh(self.weight)[1]

        graph = export.export_module(Inverse(4, 4), torch.zeros(1, 4), "inverse")
        self.assertEqual(ops_of(graph)[-1], "MatMul")
        with mock.patch.object(export, "MAX_PARAMS_WITH_VALUES", 3):
            try:
                export.export_module(Inverse(4, 4), torch.zeros(1, 4), "inverse")
            except export.ExportError as err:           # not in PyTorch 2
                self.assertRegex(str(err), "cannot run aten::.*too large to be run with its weights.*load_onnx")

    def test_computed_weights_are_copied(self):
        """weight_norm() leaves a computed tensor in the module, which copy.deepcopy() refuses."""
        net = nn.Sequential(nn.utils.weight_norm(nn.Conv1d(2, 4, 3)), nn.ReLU(), nn.utils.weight_norm(nn.Conv1d(4, 4, 3)))
        held = [net[i].weight for i in (0, 2)]
        graph = export.export_module(net, torch.zeros(1, 2, 8), "norm")
        self.assertEqual((ops_of(graph).count("Conv"), graph["params"]), (2, sum(p.numel() for p in net.parameters())))
        self.assertTrue(all(net[i].weight is weight and not weight.is_meta for i, weight in zip((0, 2), held)))
        net.lock = threading.Lock()
        with self.assertRaisesRegex(export.ExportError, "^norm: the module cannot be copied: .*export FILE.py:FUNCTION"):
            export.export_module(net, torch.zeros(1, 2, 8), "norm")

    def test_batch_norm_of_several_gpus(self):
        def graph(kind):
            return export.export_module(nn.Sequential(nn.Conv2d(3, 4, 1), kind(4)), torch.zeros(1, 3, 8, 8), "net")

        self.assertEqual(graph(nn.SyncBatchNorm), graph(nn.BatchNorm2d))
        with self.assertRaises(ValueError):             # as before, outside of the exporter
            nn.SyncBatchNorm(4)(torch.zeros(1, 4, 8, 8))

    def test_a_first_pass_that_prepares_something(self):
        class Net(nn.Module):
            table = None

            def forward(self, x):
                if self.table is None:
                    self.table = torch.arange(4, device=x.device).cos()
                return x * self.table

        self.assertEqual(ops_of(export.export_module(Net(), torch.zeros(1, 4), "first")), ["Input", "Mul"])

    def test_linear_algebra(self):
        """By PyTorch's names, which the extension knows. What PyTorch checks of the values is no branch on values."""
        class Net(nn.Module):
            def __init__(self, function):
                super().__init__()
                self.one, self.function = nn.Linear(6, 6), function

            def forward(self, x):
                return self.function(self.one(x), x)

        linalg = torch.linalg
        for function, op, flops in ((lambda a, x: linalg.inv(a), "aten::linalg_inv_ex", 2 * 216),
                                    (lambda a, x: linalg.cholesky(a), "aten::linalg_cholesky_ex", 72),
                                    (linalg.solve, "aten::_linalg_solve_ex", 144 + 2 * 216),
                                    (lambda a, x: linalg.solve(a, x[:, :, 0]), "aten::_linalg_solve_ex", 144 + 2 * 36),
                                    (lambda a, x: linalg.solve_triangular(a, x, upper=True), "aten::linalg_solve_triangular", 216),
                                    (lambda a, x: linalg.det(a), "aten::_linalg_det", 144),
                                    (lambda a, x: linalg.slogdet(a)[1], "aten::_linalg_slogdet", 144)):
            node = export.export_module(Net(function), torch.zeros(1, 6, 6), "net")["nodes"][-1]
            self.assertEqual((node["op"], node["flops"], node["batch_dim"]), (op, flops, 0))
        nodes = export.export_module(nn.utils.spectral_norm(nn.Conv2d(3, 8, 3)), torch.zeros(1, 3, 8, 8), "spectral")["nodes"]
        self.assertEqual([(node["op"], node["flops"]) for node in nodes if node["op"] in ("aten::mv", "aten::dot")],
                         3 * [("aten::mv", 2 * 8 * 27)] + [("aten::dot", 2 * 8)])

        class Transformer(nn.Linear):
            def forward(self, x):
                theta = super().forward(x.flatten(1)).view(-1, 2, 3)
                return nn.functional.grid_sample(x, nn.functional.affine_grid(theta, x.shape, False), align_corners=False)

        node = only(export.export_module(Transformer(192, 6), torch.zeros(1, 3, 8, 8), "stn"), "aten::affine_grid_generator")
        self.assertEqual((node["shape"], node["flops"]), ([1, 8, 8, 2], 2 * 3 * 128))

    def test_a_constructor_that_needs_values(self):
        graph = export.export_graph(self.spec(lambda: nn.utils.parametrizations.orthogonal(nn.Linear(8, 8)), 8))
        self.assertEqual(graph["nodes"][-1]["shape"], [1, 8])

    @unittest.skipIf(torchvision is None, "torchvision is not installed")
    def test_operators_of_torchvision(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.offsets, self.conv = nn.Conv2d(4, 18, 3, padding=1), torchvision.ops.DeformConv2d(4, 6, 3, padding=1)

            def forward(self, x):
                return self.conv(x, self.offsets(x))

        graph = export.export_module(Net(), torch.zeros(1, 4, 8, 8), "deform")
        self.assertEqual(ops_of(graph), ["Input", "Conv", "DeformConv"])
        node = graph["nodes"][-1]
        self.assertEqual((node["inputs"], node["weights"], node["flops"]), ([0, 1], [[6, 4, 3, 3], [6]], 2 * 6 * 64 * 4 * 9))
        self.assertEqual(node["attrs"], {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1], "dilations": [1, 1], "group": 1})

        class Boxes(nn.Module):
            def forward(self, x):
                return x[torchvision.ops.nms(x, x[:, 0], 0.5)]

        with self.assertRaisesRegex(export.ExportError, "depend on the values of its input.*detection networks"):
            export.export_module(Boxes(), torch.zeros(1, 4), "boxes")

    @unittest.skipIf(torchvision is None, "torchvision is not installed")
    def test_a_list_of_boxes(self):
        """Of each image: one tensor of all boxes, with the numbers of their images."""
        class Net(nn.Module):
            def __init__(self, boxes):
                super().__init__()
                self.conv, self.boxes = nn.Conv2d(3, 4, 1), boxes

            def forward(self, x, boxes=None):
                return torchvision.ops.roi_align(self.conv(x), self.boxes(x, boxes), 3)

        x, boxes = torch.zeros(1, 3, 8, 8), torch.tensor([[0.0, 0, 4, 4], [1, 1, 3, 3]])
        for made, example, source in ((lambda x, boxes: boxes, (x, [boxes]), [2, 4]),
                                      (lambda x, boxes: boxes, (torch.cat([x, x]), [boxes, boxes[:1]]), [2, 4]),
                                      (lambda x, boxes: list(boxes), (x, boxes[None]), [1, 2, 4]),
                                      (lambda x, boxes: [boxes[i] for i in range(len(x))], (x, boxes[None]), [1, 2, 4]),
                                      (lambda x, _: [boxes.to(x.device)] * len(x), x, None)):
            graph = export.export_module(Net(made), example, "boxes")
            self.check_form(graph)
            both = only(graph, "Concat")
            self.assertEqual((both["shape"], both["batch_dim"]), ([2, 5], 0))
            self.assertEqual([graph["nodes"][i]["shape"] for i in both["inputs"]] or both["consts"], [source or [2, 4]])
            self.assertEqual((graph["nodes"][-1]["op"], graph["nodes"][-1]["shape"]), ("torchvision::roi_align", [2, 4, 3, 3]))
            self.assertEqual(ops_of(graph).count("Slice") + ops_of(graph).count("Split"), 0)
        with self.assertRaisesRegex(export.ExportError, "loop over the samples.*Boxes may be one tensor"):
            export.export_module(Net(lambda x, _: [x.new_zeros(2, 4) for _ in x]), x, "loop")
        graph = export.export_module(torchvision.ops.MultiScaleRoIAlign(["0"], 3, 2), ({"0": x}, [boxes], [(8, 8)]), "scales")
        self.assertEqual(ops_of(graph), ["Input", "Input", "Concat", "torchvision::roi_align"])

    def test_branch_on_values(self):
        """A model that looks at a mask is run with values; one whose sizes depend on them has no graph."""
        class Masked(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Linear(8, 8)

            def forward(self, x):
                return self.inner(x) if bool((torch.ones_like(x) == 1).all()) else x

        class Sized(Masked):
            def forward(self, x):
                keep = bool((torch.ones_like(x) == 1).all())
                return self.inner(x[(x > 0).nonzero()[:, 0]]) if keep else x

        class Chosen(Masked):
            def forward(self, x):
                return self.inner(x[torch.ones_like(x[:, 0]) > 0]) if bool((torch.ones_like(x) == 1).all()) else x

        module = Masked()
        graph = export.export_module(module, torch.randn(1, 8), "masked")
        self.assertEqual("Gemm", graph["nodes"][-1]["op"])
        self.assertEqual("cpu", module.inner.weight.device.type)        # the caller's module stays as it is
        class Written(Masked):
            def forward(self, x):
                y = self.inner(x).clone()
                y[torch.ones_like(y) > 0] = 1
                return y

        self.assertIn("aten::index_put", [node["op"] for node in export.export_module(Written(), torch.randn(1, 8), "written")["nodes"]])
        for net in (Sized(), Chosen()):
            with self.assertRaises(export.ExportError):
                export.export_module(net, torch.randn(1, 8), "sized")

    def test_plain_attention(self):
        """Only a PyTorch that has a kernel for attention can say that a program does not call it."""
        class Plain(torch.nn.Module):
            def forward(self, x):
                return torch.softmax(x @ x.transpose(-1, -2), -1) @ x

        nodes = export.export_module(Plain(), torch.randn(1, 4, 8, 8), "plain")["nodes"]
        softmax = next(node for node in nodes if node["op"] == "Softmax")
        self.assertEqual(hasattr(torch.nn.functional, "scaled_dot_product_attention"), "plain" in softmax["attrs"])

    def test_a_model_that_needs_values_is_refused_in_a_sentence(self):
        class Net(nn.Module):
            def forward(self, x):
                return x * 2 if x.sum() > 0 else x

        for net in (Net(), nn.Sequential(nn.Flatten(), Net())):
            with self.assertRaisesRegex(export.ExportError, "values of its input") as caught:
                export.export_module(net, torch.randn(2, 4), "values@4")
            self.assertLess(len(str(caught.exception)), 400)
            self.assertNotIn("\n", str(caught.exception))

    def test_a_wrong_input_is_told_as_pytorch_does(self):
        with self.assertRaisesRegex(export.ExportError, "cannot be run on the meta device: [^\n]+$"):
            export.export_module(nn.Linear(5, 3), torch.randn(2, 4), "wrong@4")


class CommandLine(unittest.TestCase):
    """python3 -m perfmodel_tools export."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path

    def test_function_in_a_file(self):
        source = self.path("mine.py", "import torch\ndef tiny():\n"
                                      "    return torch.nn.Linear(4, 2), torch.zeros(1, 4)\n")
        status, out, _ = run("export", source + ":tiny", "--name", "tiny@4")
        graph = json.loads(out)
        self.assertEqual(status, 0)
        self.assertEqual((graph["name"], ops_of(graph)), ("tiny@4", ["Input", "Gemm"]))
        status, _, err = run("export", source + ":other")
        self.assertNotEqual(status, 0)
        self.assertIn("no function 'other'", err)

    def test_a_function_in_a_file_makes_no_weights(self):
        source = self.path("big.py", "import torch\ndef big():\n    module = torch.nn.Linear(4, 2)\n"
                                     "    assert module.weight.is_meta\n    return module, (torch.empty(1, 4),)\n")
        self.assertEqual(run("export", source + ":big")[0::2], (0, ""))

    def test_an_example_has_values_where_they_are_needed(self):
        source = self.path("mask.py", "import torch\nclass Net(torch.nn.Linear):\n    def forward(self, x):\n"
                                      "        return super().forward(x) if bool(torch.ones_like(x).all()) else x\n"
                                      "def net():\n    return Net(4, 2), torch.empty(1, 4)\n")
        spec = models.resolve(source + ":net")
        self.assertEqual(ops_of(export.export_graph(spec))[-1], "Gemm")
        self.assertEqual((spec.make_input(2, device="meta").device.type, spec.make_input(2).device.type), ("meta", "cpu"))

    @unittest.skipIf(torchvision is None, "torchvision is not installed")
    def test_several_sizes_to_a_compressed_file(self):
        path = self.path("graphs.ndjson.gz")
        status, _, _ = run("export", "torchvision:resnet18", "--image", "64", "96", "-o", path)
        self.assertEqual(status, 0)
        with gzip.open(path, "rt") as file:
            self.assertEqual([json.loads(line)["name"] for line in file], ["resnet18@64", "resnet18@96"])

    @unittest.skipIf(torchvision is None, "torchvision is not installed")
    def test_films(self):
        for name, frames, params in (("r3d_18", 8, 33371472), ("mvit_v1_b", 16, 36610672)):
            graph = export.export_graph(models.resolve(name))
            self.assertEqual((graph["input"][:3], graph["params"]), ([1, 3, frames], params))

    def test_unknown_names_are_explained(self):
        for name, reason in (("nowhere:resnet50", "unknown model source"), ("missing.py:f", "no such file")):
            status, out, err = run("export", name)
            self.assertNotEqual(status, 0)
            self.assertEqual(out, "")
            self.assertIn(reason, err)

    @unittest.skipIf(torchvision is None, "torchvision is not installed")
    def test_detection_networks_are_refused_with_a_way_out(self):
        with redirect_stderr(io.StringIO()) as err:
            self.assertNotEqual(main(["export", "fasterrcnn_resnet50_fpn", "-o", os.devnull]), 0)
        self.assertIn("demo/detection.py", err.getvalue())
        path = os.path.join(HERE, "..", "..", "demo", "detection.py")
        whole, backbone = (export.export_graph(models.resolve(f"{path}:{part}", 320)) for part in ("build", "backbone"))
        self.assertEqual((whole["params"], backbone["params"]), (41808406, 26852416))
        self.assertEqual(ops_of(whole).count("aten::grid_sampler_2d"), 4)

    def test_tables_that_do_not_serve(self):
        tables = (("missing.csv", None, "No such file"), ("other.csv", "a,b\n1,2\n", "no table of profiles"),
                  ("own.csv", "graph\nlenet@28\ndetector@v2\n", "'detector@v2' does not tell which model"))
        for name, text, reason in tables:
            status, out, err = run("export", "--profiles", self.path(name, text))
            self.assertEqual((status, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(name + ":" if text is None else name, err)
            self.assertIn(reason, err)
        with open(self.path("latin.csv"), "wb") as file:
            file.write("graph\ncafé\n".encode("latin-1"))
        status, _, err = run("export", "--profiles", self.path("latin.csv"))
        self.assertEqual((status, err.count("\n")), (2, 1))

    def test_a_folder_that_is_not_there(self):
        status, _, err = run("export", "zoo:lenet", "-o", "/nonexistent/x")
        self.assertEqual((status, err), (2, "perfmodel_tools: /nonexistent/x: No such file or directory\n"))

    def test_a_reader_that_goes_away_is_no_error(self):
        with mock.patch.object(export, "_write", side_effect=BrokenPipeError()):
            self.assertEqual(run("export", "zoo:lenet")[0::2], (1, ""))


if __name__ == "__main__":
    unittest.main()
