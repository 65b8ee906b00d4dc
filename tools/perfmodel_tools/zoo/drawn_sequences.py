"""Networks for text, signals and tables, drawn at random as in drawn.py."""

import functools

import torch
import torch.nn.functional as F
from torch import nn

from .drawn import Draw
from .entry import Network, signal, tokens
from .text import Attention, RmsNorm
from .vision import Residual

WORDS = (1000, 4000, 10000, 30000)


class Gated(nn.Module):
    """A gated feed-forward layer (Shazeer 2020)."""

    def __init__(self, width, hidden, act):
        super().__init__()
        self.gate, self.up, self.down, self.act = nn.Linear(width, hidden), nn.Linear(width, hidden), nn.Linear(hidden, width), act()

    def forward(self, x):
        return self.down(self.act(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    """A layer of a transformer: norms before, after, or both in parallel; another sequence in a second attention."""

    def __init__(self, width, heads, order, norm, feed, crossed=False, bias=True, drop=0.1):
        super().__init__()
        self.order = order
        self.attention, self.norm1, self.norm2, self.feed = Attention(width, heads, drop, bias), norm(width), norm(width), feed()
        self.cross, self.norm3 = (Attention(width, heads, drop, bias), norm(width)) if crossed else (None, None)

    def forward(self, x, mask=None, memory=None):
        if self.order == "parallel":
            y = self.norm1(x)
            x = x + self.attention(y, bias=mask) + self.feed(y)
        elif self.order == "before":
            x = x + self.attention(self.norm1(x), bias=mask)
        else:
            x = self.norm1(x + self.attention(x, bias=mask))
        if self.cross is not None:
            x = self.norm3(x + self.cross(x, memory))
        if self.order == "parallel":
            return x
        return x + self.feed(self.norm2(x)) if self.order == "before" else self.norm2(x + self.feed(x))


class Former(nn.Module):
    """A transformer over words: classifier, language model, or encoder and decoder."""

    def __init__(self, name, words, parts, size):
        super().__init__()
        d = Draw(name)
        head = d.one(16, 32, 64, 64)
        width = head * d.one(2, 4, 6, 8) if head < 64 else head * d.one(2, 3, 4, 6)
        order, norm, heads = d.one("before", "before", "after", "parallel"), d.one(nn.LayerNorm, nn.LayerNorm, RmsNorm), width // head
        hidden, act, bias, drop = width * d.one(2, 3, 4, 4), d.one(nn.GELU, nn.ReLU, nn.SiLU), d.maybe(0.7), d.one(0.0, 0.1)
        gated, self.goal = d.maybe(0.3), d.one("word", "class", "tag")

        def feed():
            if gated:
                return Gated(width, hidden, act)
            return nn.Sequential(nn.Linear(width, hidden, bias), act(), nn.Dropout(drop), nn.Linear(hidden, width, bias))

        def layers(crossed):
            return nn.ModuleList(Layer(width, heads, order, norm, feed, crossed, bias, drop) for _ in range(depth))
        depth = d.one(1, 2, 2, 3, 4, 6)
        self.word, self.place = nn.Embedding(words, width), nn.Parameter(torch.zeros(size, width)) if d.maybe(0.7) else None
        self.encoder, self.decoder = layers(False), layers(True) if parts else None
        self.norm = norm(width)
        self.out = nn.Linear(width, words if self.goal == "word" else 30, bias=False)
        masked = d.maybe(0.5) or parts
        self.register_buffer("mask", torch.full((size, size), float("-inf")).triu(1) if masked else None)

    def _embed(self, x):
        y = self.word(x)
        return y if self.place is None else y + self.place[:x.shape[1]]

    def forward(self, x, y=None):
        memory, mask = None, self.mask
        if y is not None:
            memory = self._embed(x)
            for layer in self.encoder:
                memory = layer(memory)
        x = self._embed(x if y is None else y)
        mask = None if mask is None else mask[:x.shape[1], :x.shape[1]]
        for layer in self.encoder if y is None else self.decoder:
            x = layer(x, mask, memory)
        x = self.norm(x)
        return self.out(x.mean(1) if self.goal == "class" else x)


class Recurrent(nn.Module):
    """Layers of LSTM, GRU or RNN over words; what they find is tagged, classified, or pooled by attention."""

    def __init__(self, name, words, size):
        super().__init__()
        d = Draw(name)
        cell, width, hidden, layers = d.one(nn.LSTM, nn.LSTM, nn.GRU, nn.GRU, nn.RNN), d.between(32, 512, 16), d.between(32, 640, 16), d.one(1, 1, 2, 3)
        both, drop = d.maybe(0.4), d.one(0.0, 0.2) if layers > 1 else 0.0
        wide = hidden * (2 if both else 1)
        self.word = nn.Embedding(words, width)
        self.front = nn.Conv1d(width, width, 3, padding=1) if d.maybe(0.25) else None
        self.body = cell(width, hidden, layers, batch_first=True, bidirectional=both, dropout=drop)
        self.goal = d.one("word", "tag", "last", "pool")
        self.score = nn.Linear(wide, 1) if self.goal == "pool" else None
        self.out = nn.Linear(wide, words if self.goal == "word" else d.one(2, 12, 50))

    def forward(self, x):
        x = self.word(x)
        if self.front is not None:
            x = torch.relu(self.front(x.transpose(1, 2))).transpose(1, 2)
        x = self.body(x)[0]
        if self.goal == "pool":
            x = (torch.softmax(self.score(x), 1) * x).sum(1)
        return self.out(x[:, -1] if self.goal == "last" else x)


class Steps(nn.Module):
    """A cell that is called step by step, with or without a look at the input; the loop is in the graph."""

    def __init__(self, name, words, size):
        super().__init__()
        d = Draw(name)
        width, hidden, self.look = d.between(32, 384, 16), d.between(32, 512, 16), d.one("no", "dot", "dot", "sum")
        self.word = nn.Embedding(words, width)
        self.cells = nn.ModuleList()
        for layer in range(d.one(1, 1, 2)):
            seen = (width if layer == 0 else hidden) + (hidden if layer == 0 and self.look != "no" else 0)
            self.cells.append(d.one(nn.LSTMCell, nn.GRUCell, nn.RNNCell)(seen, hidden))
        self.memory, self.query, self.score = nn.Linear(width, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)
        self.out, self.each = nn.Linear(hidden, words), d.maybe(0.5)

    def _context(self, keys, state):
        if self.look == "dot":
            weights = torch.softmax(self.query(state)[:, None] @ keys.transpose(1, 2), -1)
            return (weights @ keys)[:, 0]
        weights = torch.softmax(self.score(torch.tanh(keys + self.query(state)[:, None])), 1)
        return (weights * keys).sum(1)

    def forward(self, x):
        x = self.word(x)
        keys = torch.tanh(self.memory(x))
        states = [keys.mean(1) for _ in self.cells]
        inner, found = list(states), []
        for step in range(x.shape[1]):
            y = x[:, step]
            if self.look != "no":
                y = torch.cat([y, self._context(keys, states[0])], 1)
            for k, cell in enumerate(self.cells):
                if isinstance(cell, nn.LSTMCell):
                    states[k], inner[k] = cell(y, (states[k], inner[k]))
                else:
                    states[k] = cell(y, states[k])
                y = states[k]
            found.append(self.out(y) if self.each else y)
        found = torch.stack(found, 1)
        return found if self.each else self.out(found)


def sound(name, size):
    """Convolutions over time, with strides, dilation or pooling."""
    d = Draw(name)
    act, norm, kernel = d.one(nn.ReLU, nn.GELU, nn.SiLU), d.one(nn.BatchNorm1d, nn.BatchNorm1d, None), d.one(3, 5, 9, 15)
    channels, layers, how = d.between(16, 96, 8), [], d.one("stride", "pool", "dilation")

    def conv(i, o, stride=1, dilation=1, groups=1):
        made = [nn.Conv1d(i, o, kernel, stride, kernel // 2 * dilation, dilation, groups)]
        return made + ([norm(o)] if norm else []) + [act()]
    layers += conv(1, channels, 2)
    for k in range(d.one(2, 3, 4)):
        wide = channels if how == "dilation" else min(384, 2 * channels)
        layers += conv(channels, wide, 2 if how == "stride" else 1, 1 << k if how == "dilation" else 1)
        if how == "pool":
            layers.append(nn.MaxPool1d(2))
        if d.maybe(0.6):
            depthwise = conv(wide, wide, groups=wide) if d.maybe(0.4) else conv(wide, wide)
            layers.append(Residual(nn.Sequential(*depthwise, nn.Conv1d(wide, wide, 1))))
        channels = wide
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(channels, d.one(2, 10, 35)))


class Table(nn.Module):
    """Columns of numbers and of categories: embeddings, products of pairs, layers with or without norms."""

    def __init__(self, name, fields, rows, size):
        super().__init__()
        d = Draw(name)
        embedded, act, norm, drop = d.one(4, 8, 16, 32, 64), d.one(nn.ReLU, nn.ReLU, nn.SiLU, nn.GELU), d.one(None, None, nn.BatchNorm1d, nn.LayerNorm), d.one(0.0, 0.1, 0.3)
        self.tables = nn.ModuleList(nn.Embedding(rows, embedded) for _ in range(fields)) if d.maybe(0.5) else None
        self.table = nn.Embedding(rows, embedded) if self.tables is None else None
        self.pairs = d.one("", "", "products", "sum")
        width = d.between(32, 1024, 32)
        layers = [nn.Linear(13 + fields * embedded + {"": 0, "products": fields * fields, "sum": embedded}[self.pairs], width), act()]
        for _ in range(d.one(1, 2, 3, 5)):
            block = [nn.Linear(width, width), *([norm(width)] if norm else []), act(), *([nn.Dropout(drop)] if drop else [])]
            layers += [Residual(nn.Sequential(*block, nn.Linear(width, width)))] if d.maybe(0.3) else block
        self.body = nn.Sequential(*layers, nn.Linear(width, 2))

    def forward(self, dense, sparse):
        if self.tables is None:
            x = self.table(sparse)
        else:
            x = torch.stack([table(sparse[:, k]) for k, table in enumerate(self.tables)], 1)
        parts = [dense, x.flatten(1)]
        if self.pairs == "products":
            parts.append((x @ x.transpose(1, 2)).flatten(1))
        elif self.pairs == "sum":
            parts.append(0.5 * (x.sum(1) ** 2 - (x ** 2).sum(1)))
        return self.body(torch.cat(parts, 1))


def _click(fields, rows):
    def make(batch, size, device):
        return torch.randn(batch, 13, device=device), torch.randint(rows, (batch, fields), device=device)
    return make


def _words(kind, number, build, *sizes, pair=False) -> Network:
    name = f"drawn{kind}_{number}"
    d = Draw(name + " size")
    size, words, parts = d.one(*sizes), d.one(*WORDS), (1, d.one(0.5, 1)) if pair else ()
    args = (name, words, parts) if build is Former else (name, words)
    return Network(name, "seq", size, functools.partial(build, *args), tokens(words, *parts))


def _sound(number) -> Network:
    name = f"drawnsound_{number}"
    d = Draw(name + " size")
    return Network(name, "seq", d.one(64, 128, 250), functools.partial(sound, name), signal(1, d.one(4, 16)))


def _table(number) -> Network:
    name = f"drawntable_{number}"
    d = Draw(name + " size")
    fields, rows = d.one(6, 12, 20, 39), d.one(1000, 10000, 30000)
    return Network(name, "", None, functools.partial(Table, name, fields, rows), _click(fields, rows))


NETWORKS = [
    *(_words("former", n, Former, 16, 32, 64, 128) for n in range(28)),
    *(_words("pair", n, Former, 16, 32, 64, pair=True) for n in range(8)),
    *(_words("recurrent", n, Recurrent, 16, 32, 64) for n in range(30)),
    *(_words("steps", n, Steps, 8, 12, 16, 24) for n in range(20)),
    *(_sound(n) for n in range(14)), *(_table(n) for n in range(20)),
]
