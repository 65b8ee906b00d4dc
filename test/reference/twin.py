"""MDOT in PyTorch: the same network as src/core/kinds/mdot, written another way.

Two things use it: make_golden.py, which checks the core's outputs and
gradients against those of autograd, and bench/twin.py, which trains it to
compare speed.  For the latter it is written as one would write it to be fast:
samples of a minibatch are stacked, job tokens first and operators behind
them, every linear layer runs over all of them at once without padding, and
only attention pads (and masks): samples are sorted by length and padded to the
longest of a few neighbours, because padding to the longest of the minibatch
would make its matrices six times as large on graphs of usual lengths.

Works with PyTorch 1.13 and later, on the CPU.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F

EXPONENT_MIN, EXPONENT_MAX = -3.0, 6.0
RESIDUAL_MAX = 0.7
GROWTH_MAX = 0.5
LEAK = 0.01
LAUNCH_US = 5.0
REST_US = 100.0
HUBER_DELTA = 0.2


@dataclass
class Config:
    """Sizes and choices, under the names of pm_mdot_config."""

    d: int
    heads: int
    layers: int
    d_op: int
    op_heads: int
    op_layers: int
    hidden: int
    n_types: int
    n_dtypes: int
    n_frameworks: int
    n_gpus: int
    n_classes: int
    n_slots: int
    n_loads: int
    n_job: int
    position_dim: int
    n_relations: int
    head: str = "additive"
    loss: str = "log_huber"
    residual: bool = False
    estimates: int = 2
    dropout: float = 0.0
    drop_path: float = 0.0
    head_dropout: float = 0.0
    unknown: float = 0.0
    raw_scale: float = 1.0
    log_mean: float = 0.0
    log_sigma: float = 1.0


@dataclass
class Sample:
    """One encoded row (pm_input); n operators."""

    type: torch.Tensor          # [n]
    op_class: torch.Tensor      # [n]
    config: torch.Tensor        # [n, 2 * n_slots]
    load: torch.Tensor          # [n, n_loads]
    copies: torch.Tensor        # [n]
    compute_us: torch.Tensor    # [n]
    memory_us: torch.Tensor     # [n]
    compute_ref_us: torch.Tensor    # [n] at the batch that the features are of
    memory_ref_us: torch.Tensor     # [n]
    to_peak: torch.Tensor       # [n] factors that turn these times into those at the device's peaks
    floor_us: torch.Tensor      # [n] that the device takes at least
    kernels: torch.Tensor       # [n]
    position: torch.Tensor      # [n, position_dim]
    relation: torch.Tensor      # [n + 1, n + 1]
    produced: torch.Tensor      # [n, n] sparse: share of each operator (column) in what each (row) reads
    consumed: torch.Tensor      # [n, n] sparse: the same in what reads it
    job: torch.Tensor           # [n_job]
    dtype: int
    layout: int
    framework: int
    gpu: int
    step_ms: float
    weight: float = 1.0


class Group:
    """Samples of like length that attention pads to the longest of them."""

    def __init__(self, samples, rows, log_copies):
        self.n, self.longest = len(samples), max(len(s.type) for s in samples) + 1
        self.rows = torch.cat(rows)     # of the stacked matrix
        # where each of them stands in the padded [n * longest]
        self.slot = torch.cat([i * self.longest + torch.arange(len(r)) for i, r in enumerate(rows)])
        relation = torch.zeros(self.n, self.longest, self.longest, dtype=torch.long)
        for i, s in enumerate(samples):
            n = len(rows[i])
            relation[i, :n, :n] = s.relation
        self.relation = relation.view(1, -1)
        key = log_copies.new_full((self.n * self.longest,), -math.inf)
        key[self.slot] = log_copies[self.rows]
        self.key = key.view(self.n, 1, self.longest)    # log copies; -inf: padding


class Batch:
    """Samples stacked: job tokens are rows 0..n-1, operators come behind."""

    PER_OPERATOR = ("type", "op_class", "config", "load", "copies", "compute_us", "memory_us",
                    "compute_ref_us", "memory_ref_us", "to_peak", "floor_us", "kernels", "position")

    def __init__(self, samples, together=2):
        # predictions come in this order
        self.order = sorted(range(len(samples)), key=lambda i: len(samples[i].type))
        samples = [samples[i] for i in self.order]
        for name in self.PER_OPERATOR:
            setattr(self, name, torch.cat([getattr(s, name) for s in samples]))
        real = self.load.dtype
        lengths = [len(s.type) for s in samples]
        self.n, self.longest = len(samples), max(lengths)
        self.job = torch.stack([s.job for s in samples])
        for name in ("dtype", "layout", "framework", "gpu"):
            setattr(self, name, torch.tensor([getattr(s, name) for s in samples]))
        self.step_ms = torch.tensor([s.step_ms for s in samples], dtype=real)
        self.weight = torch.tensor([s.weight for s in samples], dtype=real)
        self.sample = torch.repeat_interleave(torch.arange(self.n), torch.tensor(lengths))   # of each operator
        self.owner = torch.cat([torch.arange(self.n), self.sample])     # of each row
        first = [sum(lengths[:i]) for i in range(self.n)]
        self.within = torch.arange(len(self.sample)) - torch.tensor(first)[self.sample]
        total = torch.zeros(self.n, dtype=real).index_add_(0, self.sample, self.copies)
        self.share = (self.copies / total[self.sample]).unsqueeze(1)
        log_copies = torch.cat([torch.zeros(self.n, dtype=real), torch.log(self.copies)])
        rows = [torch.cat([torch.tensor([i]), self.n + first[i] + torch.arange(lengths[i])]) for i in range(self.n)]
        self.groups = [Group(samples[i:i + together], rows[i:i + together], log_copies)
                       for i in range(0, self.n, together)]
        self.produced = self.all_edges([s.produced for s in samples], first)
        self.consumed = self.all_edges([s.consumed for s in samples], first)
        self.unsort = torch.argsort(torch.cat([g.rows for g in self.groups]))

    @staticmethod
    def all_edges(edges, first):
        """One sparse matrix over the operators of all samples."""
        edges = [e.coalesce() for e in edges]
        index = torch.cat([e.indices() + at for e, at in zip(edges, first)], 1)
        size = first[-1] + edges[-1].shape[0]
        return torch.sparse_coo_tensor(index, torch.cat([e.values() for e in edges]), (size, size)).coalesce()


def gelu(x):
    """GELU in its tanh form."""
    return F.gelu(x, approximate="tanh")


def leaky_clamp(x, low, high):
    """x held to [low, high], but for a leak that keeps a gradient."""
    held = x.clamp(low, high)
    return held + LEAK * (x - held)


class EncoderLayer(nn.Module):
    """Pre-LN Transformer encoder layer; attention is handed in by the caller."""

    def __init__(self, d, heads, relations=0):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.ln2 = nn.LayerNorm(d)
        self.up = nn.Linear(d, 2 * d)
        self.down = nn.Linear(2 * d, d)
        if relations:
            self.bias = nn.Parameter(torch.zeros(heads, relations))

    def forward(self, x, attend, drop):
        """attend(layer, qkv) mixes the values; drop acts on a branch."""
        x = x + drop(self.out(attend(self, self.qkv(self.ln1(x)))))
        return x + drop(self.down(gelu(self.up(self.ln2(x)))))


def attend_triples(layer, qkv):
    """Attention among the three rows of each operator: qkv is [u, 3, 3 d]."""
    u, _, wide = qkv.shape
    dh = wide // 3 // layer.heads
    q, k, v = qkv.view(u, 3, 3, layer.heads, dh).permute(2, 0, 3, 1, 4)
    # 3 x 3 products are too small for bmm: broadcast and sum
    scores = (q.unsqueeze(3) * k.unsqueeze(2)).sum(-1) / math.sqrt(dh)
    mixed = (F.softmax(scores, -1).unsqueeze(-1) * v.unsqueeze(2)).sum(3)
    return mixed.transpose(1, 2).reshape(u, 3, wide // 3)


class GraphAttention:
    """Attention inside each sample, with relation bias and multiplicity of keys."""

    def __init__(self, batch):
        self.batch = batch

    def __call__(self, layer, qkv):
        mixed = torch.cat([self.attend(layer, g, qkv.index_select(0, g.rows)) for g in self.batch.groups])
        return mixed.index_select(0, self.batch.unsort)

    @staticmethod
    def attend(layer, g, qkv):
        h, d = layer.heads, qkv.shape[1] // 3
        padded = qkv.new_zeros(g.n * g.longest, 3 * d).index_copy(0, g.slot, qkv)
        q, k, v = padded.view(g.n, g.longest, 3, h, d // h).permute(2, 3, 0, 1, 4).reshape(3, h * g.n, g.longest, -1)
        # gather, because the backward pass of an embedding is slow for so many indices
        bias = layer.bias.gather(1, g.relation.expand(h, -1)).view(h, g.n, g.longest, g.longest) + g.key
        scores = torch.baddbmm(bias.flatten(0, 1), q, k.transpose(1, 2), alpha=1 / math.sqrt(d // h))
        mixed = (F.softmax(scores, -1) @ v).view(h, g.n, g.longest, -1)
        return mixed.permute(1, 2, 0, 3).reshape(g.n * g.longest, d).index_select(0, g.slot)


class Estimate(nn.Module):
    """One estimate of the operators' times and of the rest of the step."""

    def __init__(self, c):
        super().__init__()
        d, h = c.d, c.hidden
        self.dropout = c.head_dropout
        self.head = nn.Linear(d, 4 * h)
        self.compute, self.memory = nn.Linear(h, 1), nn.Linear(h, 1)
        self.launch, self.growth = nn.Linear(h, 1), nn.Linear(h, 1)
        self.rest1, self.rest2 = nn.Linear(d, h), nn.Linear(h, 1)
        self.adapter = nn.Parameter(torch.zeros(c.n_gpus, c.n_classes))

    def forward(self, batch, z, scale):
        """[b] microseconds; scale [ops]: factors on the times that it starts from."""
        job, ops = z[:batch.n], z[batch.n:]
        h = F.dropout(gelu(self.head(ops)), self.dropout, self.training)
        h_compute, h_memory, h_launch, h_growth = h.chunk(4, 1)
        adapter = self.adapter[batch.gpu[batch.sample], batch.op_class]
        a = torch.exp(leaky_clamp(self.compute(h_compute).squeeze(1) + adapter, EXPONENT_MIN, EXPONENT_MAX)) * scale
        m = torch.exp(leaky_clamp(self.memory(h_memory).squeeze(1) + adapter, EXPONENT_MIN, EXPONENT_MAX)) * scale
        work = batch.compute_us * a + batch.memory_us * m
        reference = batch.compute_ref_us * a + batch.memory_ref_us * m
        ones = torch.ones_like(work)
        ratio = torch.where((work > 0) & (reference > 0), work, ones) / torch.where(reference > 0, reference, ones)
        device = work * ratio ** (GROWTH_MAX * torch.tanh(self.growth(h_growth).squeeze(1)))
        eighth = device ** 8 + batch.floor_us ** 8
        device = torch.where(eighth > 0, eighth, ones) ** 0.125 * (eighth > 0)
        launch = LAUNCH_US * batch.kernels * F.softplus(self.launch(h_launch).squeeze(1), threshold=30)
        # an operator without any cost would have an infinite slope; it counts as zero
        fourth = device ** 4 + launch ** 4
        time = torch.where(fourth > 0, fourth, torch.ones_like(fourth)) ** 0.25 * (fourth > 0)
        rest = REST_US * F.softplus(self.rest2(gelu(self.rest1(job))).squeeze(1), threshold=30)
        return rest.index_add(0, batch.sample, batch.copies * time)


class Twin(nn.Module):
    """The network; forward(batch) gives [estimates, b] ms per training step, in the order of batch.order: their mean is the answer."""

    def __init__(self, c):
        super().__init__()
        k, d, h = c.d_op, c.d, c.hidden
        self.c = c
        self.type_table = nn.Embedding(c.n_types, k)
        self.dtype_table = nn.Embedding(c.n_dtypes, k)
        self.framework_table = nn.Embedding(c.n_frameworks, k)
        self.tag = nn.Parameter(torch.zeros(3, k))
        self.config1, self.config2 = nn.Linear(2 * c.n_slots, k), nn.Linear(k, k)
        self.load1, self.load2 = nn.Linear(c.n_loads, k), nn.Linear(k, k)
        self.op = nn.ModuleList(EncoderLayer(k, c.op_heads) for _ in range(c.op_layers))
        self.lnf = nn.LayerNorm(k)
        self.fuse = nn.Linear(3 * k, d)
        self.position = nn.Linear(c.position_dim, d, bias=False)
        self.job1, self.job2 = nn.Linear(c.n_job, d), nn.Linear(d, d)
        self.seq = nn.ModuleList(EncoderLayer(d, c.heads, c.n_relations) for _ in range(c.layers))
        self.lnz = nn.LayerNorm(d)
        self.produced = nn.Linear(d, d, bias=False)
        self.consumed = nn.Linear(d, d, bias=False)
        self.estimates = nn.ModuleList(Estimate(c) for _ in range(c.estimates))
        self.pool1, self.pool2 = nn.Linear(3 * d, h), nn.Linear(h, 1)
        self.start()

    def start(self):
        """Initial values as the core has them."""
        zero = (self.position, self.produced, self.consumed, self.pool2,
                *(output for e in self.estimates for output in (e.compute, e.memory, e.launch, e.growth, e.rest2)),
                *(branch for layer in self.seq for branch in (layer.out, layer.down)))
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.uniform_(module.weight, -0.5, 0.5)
        for module in zero:
            nn.init.zeros_(module.weight)

    # ---- forward ----

    def hide(self, rows):
        """Now and then, in training, show row 0 (unknown) instead."""
        if self.training and self.c.unknown > 0:
            return rows * (torch.rand(rows.shape) >= self.c.unknown)
        return rows

    def operators(self, batch):
        """[ops, d]: type, configuration and load, fused by a small Transformer."""
        setting = (self.dtype_table(batch.dtype) +
                   self.framework_table(self.hide(batch.framework)))
        x = torch.stack((self.type_table(self.hide(batch.type)) + setting[batch.sample],
                         self.config2(gelu(self.config1(batch.config))),
                         self.load2(gelu(self.load1(batch.load)))), 1) + self.tag
        for layer in self.op:
            x = layer(x, attend_triples, nn.Identity())
        return self.fuse(self.lnf(x).flatten(1))

    def heard(self, batch, o):
        """[ops, d] of what operators read and of what reads them; in training left out for some samples."""
        heard = self.produced(torch.sparse.mm(batch.produced, o)) + self.consumed(torch.sparse.mm(batch.consumed, o))
        if self.training and self.c.drop_path > 0:
            keep = torch.rand(batch.n, 1) >= self.c.drop_path
            heard = heard * (keep.to(o.dtype) / (1 - self.c.drop_path))[batch.sample]
        return heard

    def drop_branch(self, batch):
        """Dropout of units, and of a branch for whole samples, as a function of a branch."""
        def drop(y):
            y = F.dropout(y, self.c.dropout, self.training)
            if self.training and self.c.drop_path > 0:
                keep = torch.rand(batch.n, 1) >= self.c.drop_path
                y = y * (keep.to(y.dtype) / (1 - self.c.drop_path))[batch.owner]
            return y
        return drop

    def sequence(self, batch):
        """[jobs + ops, d] after the sequence Transformer and its layer norm."""
        o = self.operators(batch)
        x = torch.cat([self.job2(gelu(self.job1(batch.job))), o + self.position(batch.position) + self.heard(batch, o)])
        attend, drop = GraphAttention(batch), self.drop_branch(batch)
        for layer in self.seq:
            x = layer(x, attend, drop)
        return self.lnz(x)

    def pooled(self, batch, z):
        """[b] from the job token, the mean over operators and their maximum."""
        job, ops = z[:batch.n], z[batch.n:]
        mean = torch.zeros_like(job).index_add(0, batch.sample, ops * batch.share)
        padded = ops.new_full((batch.n * batch.longest, ops.shape[1]), -math.inf)
        padded = padded.index_copy(0, batch.sample * batch.longest + batch.within, ops)
        top = padded.view(batch.n, batch.longest, -1).max(1).values
        pool = torch.cat([job, mean, top], 1)
        return self.pool2(gelu(self.pool1(pool))).squeeze(1)

    def forward(self, batch):
        z = self.sequence(batch)
        if self.c.head == "pooled":
            return torch.exp(self.c.log_mean + self.c.log_sigma * self.pooled(batch, z)).unsqueeze(0)
        scales = (torch.ones_like(batch.to_peak), batch.to_peak)
        ms = torch.stack([e(batch, z, scale) for e, scale in zip(self.estimates, scales)]) / 1000
        if self.c.residual:
            ms = ms * torch.exp(leaky_clamp(self.pooled(batch, z), -RESIDUAL_MAX, RESIDUAL_MAX))
        return ms

    def loss(self, predicted, batch):
        """Sum over the samples of their weighted losses, the mean over the estimates."""
        truth = batch.step_ms.expand_as(predicted)
        if self.c.loss == "log_huber":
            each = F.huber_loss(torch.log(predicted / truth), torch.zeros_like(truth), reduction="none",
                                delta=HUBER_DELTA)
        elif self.c.loss == "mape":
            each = ((predicted - truth) / truth).abs()
        elif self.c.loss == "mse_raw":
            each = ((predicted - truth) / self.c.raw_scale) ** 2
        else:
            each = ((predicted - truth) / self.c.raw_scale).abs()
        return (batch.weight * each.mean(0)).sum()

    # ---- the core's names ----

    def tensors(self):
        """(name as pm_tensor_print() has it, parameter, whether it is stored transposed)."""
        def linear(weight, bias, module):
            yield weight, module.weight, True
            if module.bias is not None:
                yield bias, module.bias, False

        def norm(name, module):
            yield name + "_g", module.weight, False
            yield name + "_b", module.bias, False

        for name in ("type", "dtype", "framework"):
            yield name, getattr(self, name + "_table").weight, False
        yield "tag", self.tag, False
        yield from norm("fuse_ln", self.lnf)
        yield from norm("seq_ln", self.lnz)
        for weight, bias, module in (
                ("config_w1", "config_b1", self.config1), ("config_w2", "config_b2", self.config2), ("load_w1", "load_b1", self.load1),
                ("load_w2", "load_b2", self.load2), ("fuse_w", "fuse_b", self.fuse), ("position", None, self.position),
                ("produced", None, self.produced), ("consumed", None, self.consumed),
                ("job_w1", "job_b1", self.job1), ("job_w2", "job_b2", self.job2), ("pooled_w1", "pooled_b1", self.pool1),
                ("pooled_w2", "pooled_b2", self.pool2)):
            yield from linear(weight, bias, module)
        for prefix, e in zip(("", "peak_"), self.estimates):
            for name, module in (("hidden_{}", e.head), ("compute_{}", e.compute), ("memory_{}", e.memory), ("launch_{}", e.launch),
                                 ("growth_{}", e.growth), ("rest_{}1", e.rest1), ("rest_{}2", e.rest2)):
                yield from linear(prefix + name.format("w"), prefix + name.format("b"), module)
            yield prefix + "adapter", e.adapter, False
        for prefix, layers in (("op", self.op), ("seq", self.seq)):
            for i, layer in enumerate(layers):
                def name(field):
                    return f"{prefix}_{field}.{i}"
                for field in ("ln1", "ln2"):
                    yield name(field + "_g"), getattr(layer, field).weight, False
                    yield name(field + "_b"), getattr(layer, field).bias, False
                for field, module in (("qkv", layer.qkv), ("o", layer.out), ("1", layer.up), ("2", layer.down)):
                    yield from linear(name("w" + field), name("b" + field), module)
                if prefix == "seq":
                    yield name("bias"), layer.bias, False

    def load(self, values):
        """Take parameters from {name: [rows, cols]}; every tensor, and no other."""
        mine = {name: (parameter, transposed) for name, parameter, transposed in self.tensors()}
        if set(mine) != set(values):
            raise ValueError(f"tensors differ: {sorted(set(mine) ^ set(values))}")
        with torch.no_grad():
            for name, (parameter, transposed) in mine.items():
                value = values[name].t() if transposed else values[name]
                parameter.copy_(value.reshape(parameter.shape))

    def gradients(self):
        """{name: [rows, cols]} in the core's layout; zeros where nothing flowed."""
        result = {}
        for name, parameter, transposed in self.tensors():
            grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            result[name] = grad.t() if transposed else grad
        return result
