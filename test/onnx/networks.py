"""Language and sequence models, written as people write them, for the comparison of the two importers.

Every function returns (module, example_input); sizes are those of the model it is named after, with fewer
layers where layers only repeat. Weights are random: only shapes matter.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = 8192


def ids(length=128):
    return torch.ones(2, length, dtype=torch.long)


class Attention(nn.Module):
    """Multi-head attention by matmul, with linear layers of its own."""

    def __init__(self, width, heads, causal=False, bias=True, length=128):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.q, self.k, self.v = (nn.Linear(width, width, bias=bias) for _ in range(3))
        self.out = nn.Linear(width, width, bias=bias)
        self.register_buffer("mask", torch.tril(torch.ones(1, 1, length, length)))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, memory=None, bias=None):
        memory = x if memory is None else memory
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        if bias is not None:
            scores = scores + bias
        if self.causal:
            scores = scores.masked_fill(self.mask == 0, -1e9)
        mixed = torch.matmul(F.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        return self.out(mixed.view(x.shape[0], x.shape[1], -1))


class Bert(nn.Module):
    """Post-norm encoder over word and position embeddings."""

    def __init__(self, width=768, heads=12, depth=4, narrow=None):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, narrow or width)
        self.position = nn.Embedding(512, narrow or width)
        self.norm = nn.LayerNorm(narrow or width)
        self.widen = nn.Linear(narrow, width) if narrow else nn.Identity()
        self.register_buffer("places", torch.arange(512).unsqueeze(0))
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "mix": Attention(width, heads), "norm1": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width),
            "down": nn.Linear(4 * width, width), "norm2": nn.LayerNorm(width)}) for _ in range(depth))
        self.pooler = nn.Linear(width, width)

    def forward(self, x):
        h = self.norm(self.word(x) + self.position(self.places[:, :x.shape[1]]))
        h = self.widen(h)
        for b in self.blocks:
            h = b["norm1"](h + b["mix"](h))
            h = b["norm2"](h + b["down"](F.gelu(b["up"](h))))
        return torch.tanh(self.pooler(h[:, 0]))


class Gpt(nn.Module):
    """Pre-norm decoder with one projection for queries, keys and values, and tanh Gelu."""

    def __init__(self, width=768, heads=12, depth=4, approximate="tanh"):
        super().__init__()
        self.heads = heads
        self.word = nn.Embedding(VOCABULARY, width)
        self.position = nn.Parameter(torch.zeros(1, 1024, width))
        self.register_buffer("mask", torch.tril(torch.ones(1, 1, 128, 128)))
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "norm1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
            "norm2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "act": nn.GELU(approximate=approximate),
            "down": nn.Linear(4 * width, width)}) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def mix(self, b, x):
        n, length, width = x.shape
        q, k, v = b["qkv"](x).split(width, dim=2)
        q, k, v = (t.view(n, length, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(width // self.heads))
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        mixed = F.softmax(scores, dim=-1) @ v
        return b["out"](mixed.transpose(1, 2).contiguous().view(n, length, width))

    def forward(self, x):
        h = self.word(x) + self.position[:, :x.shape[1]]
        for b in self.blocks:
            h = h + self.mix(b, b["norm1"](h))
            h = h + b["down"](b["act"](b["up"](b["norm2"](h))))
        return self.head(self.norm(h))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Llama(nn.Module):
    """RMS norms, rotary positions, gated SiLU."""

    def __init__(self, width=512, heads=8, depth=4, hidden=1408):
        super().__init__()
        self.heads = heads
        self.word = nn.Embedding(VOCABULARY, width)
        self.register_buffer("cos", torch.randn(1, 1, 128, width // heads))
        self.register_buffer("sin", torch.randn(1, 1, 128, width // heads))
        self.register_buffer("mask", torch.triu(torch.full((1, 1, 128, 128), -1e9), diagonal=1))
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "norm1": RmsNorm(width), "q": nn.Linear(width, width, bias=False), "k": nn.Linear(width, width, bias=False),
            "v": nn.Linear(width, width, bias=False), "out": nn.Linear(width, width, bias=False), "norm2": RmsNorm(width),
            "gate": nn.Linear(width, hidden, bias=False), "up": nn.Linear(width, hidden, bias=False),
            "down": nn.Linear(hidden, width, bias=False)}) for _ in range(depth))
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def rotate(self, x):
        half = x.shape[-1] // 2
        return x * self.cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * self.sin

    def forward(self, x):
        h = self.word(x)
        n, length, width = h.shape
        for b in self.blocks:
            y = b["norm1"](h)
            q, k, v = (b[i](y).view(n, length, self.heads, -1).transpose(1, 2) for i in "qkv")
            scores = torch.matmul(self.rotate(q), self.rotate(k).transpose(2, 3)) / math.sqrt(q.shape[-1]) + self.mask
            mixed = torch.matmul(F.softmax(scores, dim=-1), v).transpose(1, 2).contiguous().reshape(n, length, width)
            h = h + b["out"](mixed)
            y = b["norm2"](h)
            h = h + b["down"](F.silu(b["gate"](y)) * b["up"](y))
        return self.head(self.norm(h))


class T5(nn.Module):
    """Encoder and decoder with a shared table, relative position bias and no biases in the layers."""

    def __init__(self, width=512, heads=8, depth=3, hidden=2048):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, width)
        self.bias = nn.Parameter(torch.zeros(1, heads, 128, 128))
        self.encoder = nn.ModuleList(self.block(width, heads, hidden, False) for _ in range(depth))
        self.decoder = nn.ModuleList(self.block(width, heads, hidden, True) for _ in range(depth))
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    @staticmethod
    def block(width, heads, hidden, decoder):
        parts = {"norm1": RmsNorm(width), "mix": Attention(width, heads, causal=decoder, bias=False), "norm2": RmsNorm(width),
                 "up": nn.Linear(width, hidden, bias=False), "down": nn.Linear(hidden, width, bias=False)}
        if decoder:
            parts.update(norm3=RmsNorm(width), cross=Attention(width, heads, bias=False))
        return nn.ModuleDict(parts)

    def forward(self, x, y):
        h = self.word(x)
        for b in self.encoder:
            h = h + b["mix"](b["norm1"](h), bias=self.bias)
            h = h + b["down"](F.relu(b["up"](b["norm2"](h))))
        d = self.word(y)
        for b in self.decoder:
            d = d + b["mix"](b["norm1"](d), bias=self.bias)
            d = d + b["cross"](b["norm3"](d), memory=h)
            d = d + b["down"](F.relu(b["up"](b["norm2"](d))))
        return self.head(d)


class TorchEncoder(nn.Module):
    """PyTorch's own encoder layers."""

    def __init__(self, width=512, heads=8, depth=3, batch_first=False, norm_first=False, activation="gelu"):
        super().__init__()
        self.batch_first = batch_first
        self.word = nn.Embedding(VOCABULARY, width)
        layer = nn.TransformerEncoderLayer(width, heads, 2048, 0.0, activation, batch_first=batch_first, norm_first=norm_first)
        self.layers = nn.TransformerEncoder(layer, depth)
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        h = self.word(x)
        h = self.layers(h if self.batch_first else h.transpose(0, 1))
        return self.head(h.mean(1 if self.batch_first else 0))


class TorchDecoder(nn.Module):
    """PyTorch's whole transformer on continuous inputs."""

    def __init__(self, width=256, heads=8):
        super().__init__()
        self.net = nn.Transformer(width, heads, 2, 2, 1024, 0.0, batch_first=True)
        self.head = nn.Linear(width, 100)

    def forward(self, x, y):
        return self.head(self.net(x, y))


class Mixer(nn.Module):
    """MLP over patches and channels in turn."""

    def __init__(self, width=512, patches=196, depth=4):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 16, 16)
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "norm1": nn.LayerNorm(width), "a": nn.Linear(patches, 256), "b": nn.Linear(256, patches),
            "norm2": nn.LayerNorm(width), "c": nn.Linear(width, 2048), "d": nn.Linear(2048, width)}) for _ in range(depth))
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        h = self.stem(x).flatten(2).transpose(1, 2)
        for b in self.blocks:
            h = h + b["b"](F.gelu(b["a"](b["norm1"](h).transpose(1, 2)))).transpose(1, 2)
            h = h + b["d"](F.gelu(b["c"](b["norm2"](h))))
        return self.head(h.mean(dim=1))


class Conformer(nn.Module):
    """Attention and convolutions over sound: gated linear units, depthwise Conv1d, SiLU."""

    def __init__(self, width=256, heads=4, depth=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 64, 3, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 2), nn.ReLU())
        self.proj = nn.Linear(64 * 19, width)
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "n1": nn.LayerNorm(width), "up1": nn.Linear(width, 1024), "down1": nn.Linear(1024, width),
            "n2": nn.LayerNorm(width), "mix": Attention(width, heads), "n3": nn.LayerNorm(width),
            "point": nn.Conv1d(width, 2 * width, 1), "depth": nn.Conv1d(width, width, 31, padding=15, groups=width),
            "bn": nn.BatchNorm1d(width), "point2": nn.Conv1d(width, width, 1), "n4": nn.LayerNorm(width)})
            for _ in range(depth))

    def forward(self, x):
        h = self.stem(x)
        h = self.proj(h.transpose(1, 2).flatten(2))
        for b in self.blocks:
            h = h + 0.5 * b["down1"](F.silu(b["up1"](b["n1"](h))))
            h = h + b["mix"](b["n2"](h))
            y = F.glu(b["point"](b["n3"](h).transpose(1, 2)), dim=1)
            h = h + b["point2"](F.silu(b["bn"](b["depth"](y)))).transpose(1, 2)
            h = b["n4"](h)
        return h


class Recurrent(nn.Module):
    """Two layers of LSTM or GRU over words."""

    def __init__(self, kind, bidirectional=False):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, 300)
        self.net = kind(300, 512, 2, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(1024 if bidirectional else 512, 1000)

    def forward(self, x):
        return self.head(self.net(self.word(x))[0])


def bert_base():
    return Bert(), ids()


def electra_small():
    return Bert(256, 4, 6, narrow=128), ids()


def gpt2():
    return Gpt(), ids()


def gpt_erf():
    return Gpt(512, 8, 4, "none"), ids()


def llama():
    return Llama(), ids()


def t5_small():
    return T5(), (ids(), ids())


def torch_encoder():
    return TorchEncoder(), ids()


def torch_encoder_pre():
    return TorchEncoder(384, 6, 3, True, True, "relu"), ids(64)


def torch_transformer():
    return TorchDecoder(), (torch.randn(2, 96, 256), torch.randn(2, 48, 256))


def mixer():
    return Mixer(), torch.randn(2, 3, 224, 224)


def conformer():
    return Conformer(), torch.randn(2, 1, 160, 80)


def lstm():
    return Recurrent(nn.LSTM), ids(64)


def bilstm():
    return Recurrent(nn.LSTM, True), ids(64)


def gru():
    return Recurrent(nn.GRU), ids(64)


ALL = ["bert_base", "electra_small", "gpt2", "gpt_erf", "llama", "t5_small", "torch_encoder", "torch_encoder_pre",
       "torch_transformer", "mixer", "conformer", "lstm", "bilstm", "gru"]
