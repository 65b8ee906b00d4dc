"""Transformers and other networks for text, with random weights."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from .entry import Network, tokens


class Attention(nn.Module):
    """Attention of several heads, of a sequence over itself or over another one, in its parts."""

    def __init__(self, width, heads, dropout=0.1, bias=True):
        super().__init__()
        self.heads, self.drop = heads, nn.Dropout(dropout)
        self.q, self.k = nn.Linear(width, width, bias), nn.Linear(width, width, bias)
        self.v, self.out = nn.Linear(width, width, bias), nn.Linear(width, width, bias)

    def _split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory=None, bias=None, turn=None):
        memory = x if memory is None else memory
        q, k, v = self._split(self.q(x)), self._split(self.k(memory)), self._split(self.v(memory))
        if turn is not None:
            q, k = turn(q), turn(k)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        weights = self.drop(torch.softmax(scores if bias is None else scores + bias, -1))
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape))


class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(width, heads), nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed(x))


class Bert(nn.Module):
    """Devlin 2018, classifying the first position."""

    def __init__(self, width, depth, size, words=30522):
        super().__init__()
        self.word, self.position, self.kind = nn.Embedding(words, width), nn.Embedding(size, width), nn.Embedding(2, width)
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        self.layers = nn.Sequential(*(BertLayer(width, width // 64) for _ in range(depth)))
        self.pool, self.out = nn.Linear(width, width), nn.Linear(width, 2)
        self.register_buffer("places", torch.arange(size))

    def forward(self, x):
        x = self.word(x) + self.position(self.places) + self.kind(torch.zeros_like(x))
        x = self.layers(self.drop(self.norm(x)))
        return self.out(torch.tanh(self.pool(x[:, 0])))


class GptLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x, mask):
        b, n, width = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(width, 2))
        scores = (q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)).masked_fill(mask, float("-inf"))
        x = x + self.out((F.dropout(torch.softmax(scores, -1), 0.1) @ v).transpose(1, 2).reshape(b, n, width))
        return x + self.feed(self.norm2(x))


class Gpt(nn.Module):
    """Radford 2019: the next word at every position."""

    def __init__(self, width, depth, words, size):
        super().__init__()
        self.word, self.position, self.drop = nn.Embedding(words, width), nn.Embedding(size, width), nn.Dropout(0.1)
        self.layers = nn.ModuleList(GptLayer(width, width // 64) for _ in range(depth))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.register_buffer("places", torch.arange(size))
        self.register_buffer("mask", torch.ones(size, size).triu(1).bool())

    def forward(self, x):
        x = self.drop(self.word(x) + self.position(self.places))
        for layer in self.layers:
            x = layer(x, self.mask)
        return self.out(self.norm(x))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class T5Layer(nn.Module):
    def __init__(self, width, heads, crossed):
        super().__init__()
        self.norm1, self.attention = RmsNorm(width), Attention(width, heads, bias=False)
        self.norm2, self.cross = (RmsNorm(width), Attention(width, heads, bias=False)) if crossed else (None, None)
        self.norm3 = RmsNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width, False), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4 * width, width, False))

    def forward(self, x, bias, memory=None):
        x = x + self.attention(self.norm1(x), bias=bias)
        if memory is not None:
            x = x + self.cross(self.norm2(x), memory)
        return x + self.feed(self.norm3(x))


class T5(nn.Module):
    """Raffel 2019: encoder and decoder, relative positions as a bias of the scores."""

    def __init__(self, width, depth, words, size):
        super().__init__()
        heads = width // 64
        self.word = nn.Embedding(words, width)
        self.encoder = nn.ModuleList(T5Layer(width, heads, False) for _ in range(depth))
        self.decoder = nn.ModuleList(T5Layer(width, heads, True) for _ in range(depth))
        self.encoder_bias, self.decoder_bias = nn.Embedding(32, heads), nn.Embedding(32, heads)
        self.norm1, self.norm2, self.out = RmsNorm(width), RmsNorm(width), nn.Linear(width, words, bias=False)
        place = torch.arange(size)
        self.register_buffer("bucket", (place[None] - place[:, None]).clamp(-16, 15) + 16)
        self.register_buffer("mask", torch.full((size, size), float("-inf")).triu(1))

    def forward(self, x, y):
        a, b = x.shape[1], y.shape[1]
        bias = self.encoder_bias(self.bucket[:a, :a]).permute(2, 0, 1)
        x = self.word(x)
        for layer in self.encoder:
            x = layer(x, bias)
        x, y = self.norm1(x), self.word(y)
        bias = self.decoder_bias(self.bucket[:b, :b]).permute(2, 0, 1) + self.mask[:b, :b]
        for layer in self.decoder:
            y = layer(y, bias, x)
        return self.out(self.norm2(y))


class LlamaLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        hidden = width * 8 // 3 // 64 * 64
        self.norm1, self.norm2, self.attention = RmsNorm(width), RmsNorm(width), Attention(width, heads, 0.0, False)
        self.gate, self.up = nn.Linear(width, hidden, False), nn.Linear(width, hidden, False)
        self.down = nn.Linear(hidden, width, False)

    def forward(self, x, mask, turn):
        x = x + self.attention(self.norm1(x), bias=mask, turn=turn)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Touvron 2023: rotary positions, gated feed-forward."""

    def __init__(self, width, depth, words, size):
        super().__init__()
        self.word, self.norm, self.out = nn.Embedding(words, width), RmsNorm(width), nn.Linear(width, words, False)
        self.layers = nn.ModuleList(LlamaLayer(width, width // 64) for _ in range(depth))
        angle = torch.arange(size)[:, None] / 10000 ** (torch.arange(0, 64, 2) / 64)
        self.register_buffer("cos", torch.cat([angle.cos(), angle.cos()], -1))
        self.register_buffer("sin", torch.cat([angle.sin(), angle.sin()], -1))
        self.register_buffer("mask", torch.full((size, size), float("-inf")).triu(1))

    def _turn(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, x):
        x = self.word(x)
        for layer in self.layers:
            x = layer(x, self.mask, self._turn)
        return self.out(self.norm(x))


class Translator(nn.Module):
    """nn.Transformer between two vocabularies (Vaswani 2017)."""

    def __init__(self, width, depth, words, size):
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.body = nn.Transformer(width, width // 64, depth, depth, 4 * width, batch_first=True)
        self.out = nn.Linear(width, words)
        self.register_buffer("mask", torch.full((size, size), float("-inf")).triu(1))

    def forward(self, x, y):
        return self.out(self.body(self.source(x), self.target(y), tgt_mask=self.mask))


class TextCnn(nn.Module):
    """Kim 2014."""

    def __init__(self, width, words, size):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.convs = nn.ModuleList(nn.Conv1d(width, 100, k) for k in (3, 4, 5))
        self.drop, self.out = nn.Dropout(0.5), nn.Linear(300, 2)

    def forward(self, x):
        x = self.word(x).transpose(1, 2)
        return self.out(self.drop(torch.cat([torch.relu(conv(x)).amax(2) for conv in self.convs], 1)))


class FastText(nn.Module):
    """The mean of word vectors, classified (Joulin 2016)."""

    def __init__(self, width, words, size):
        super().__init__()
        self.word, self.out = nn.Embedding(words, width), nn.Linear(width, 20)

    def forward(self, x):
        return self.out(self.word(x).mean(1))


def _net(name, size, words, build, *args, parts=()) -> Network:
    return Network(name, "seq", size, functools.partial(build, *args), tokens(words, *parts))


NETWORKS = [
    *(_net(f"bert_{name}", 64, 30522, Bert, width, depth) for name, width, depth in
      (("tiny", 128, 2), ("mini", 256, 4), ("small", 512, 4), ("medium", 512, 8), ("base", 768, 12))),
    *(_net(f"gpt_{name}", 64, words, Gpt, width, depth, words) for name, width, depth, words in
      (("nano", 128, 3, 8192), ("micro", 256, 4, 8192), ("mini", 384, 6, 16384), ("small", 768, 12, 50257))),
    *(_net(f"t5_{name}", 64, words, T5, width, depth, words, parts=(1, 0.5)) for name, width, depth, words in
      (("tiny", 128, 2, 8192), ("mini", 256, 4, 8192), ("small", 512, 6, 32128))),
    _net("llama_nano", 64, 8192, Llama, 256, 4, 8192), _net("llama_micro", 64, 16384, Llama, 512, 6, 16384),
    _net("translator_mini", 32, 8192, Translator, 256, 3, 8192, parts=(1, 1)),
    _net("translator_small", 32, 16384, Translator, 512, 4, 16384, parts=(1, 1)),
    _net("textcnn", 64, 20000, TextCnn, 300, 20000), _net("fasttext", 64, 50000, FastText, 100, 50000),
]
