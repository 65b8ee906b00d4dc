"""Recommendation, tables, points: networks of few and simple operators."""

import functools

import torch
from torch import nn

from .entry import Network


def _mlp(widths, last=None) -> nn.Sequential:
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers, *([nn.Linear(widths[-1], last)] if last else []))


class Dlrm(nn.Module):
    """Naumov 2019: tables of embeddings and their products."""

    def __init__(self, width, fields, rows, size):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(fields))
        self.bottom = _mlp([13, 512, 256, width])
        self.top = _mlp([width + (fields + 1) ** 2, 512, 256], 2)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        all_ = torch.stack([x] + [table(sparse[:, k]) for k, table in enumerate(self.tables)], 1)
        products = (all_ @ all_.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, products], 1))


class WideDeep(nn.Module):
    """Cheng 2016."""

    def __init__(self, width, fields, rows, size):
        super().__init__()
        self.wide, self.deep = nn.Embedding(rows, 1), nn.Embedding(rows, width)
        self.body = _mlp([13 + fields * width, 1024, 512, 256], 2)

    def forward(self, dense, sparse):
        deep = self.body(torch.cat([dense, self.deep(sparse).flatten(1)], 1))
        return deep + self.wide(sparse).sum(1)


def _click(fields, rows):
    def make(batch, size, device):
        return torch.randn(batch, 13, device=device), torch.randint(rows, (batch, fields), device=device)
    return make


class Ncf(nn.Module):
    """Users and items (He 2017)."""

    def __init__(self, width, users, items, size):
        super().__init__()
        self.user, self.item = nn.Embedding(users, width), nn.Embedding(items, width)
        self.user2, self.item2 = nn.Embedding(users, width), nn.Embedding(items, width)
        self.body, self.out = _mlp([2 * width, 256, 128, 64]), nn.Linear(64 + width, 2)

    def forward(self, pair):
        user, item = pair[:, 0], pair[:, 1]
        deep = self.body(torch.cat([self.user2(user), self.item2(item)], 1))
        return self.out(torch.cat([deep, self.user(user) * self.item(item)], 1))


class PointNet(nn.Module):
    """Qi 2016: a set of points."""

    def __init__(self, size):
        super().__init__()
        def conv(i, o):
            return [nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU()]
        self.each = nn.Sequential(*conv(3, 64), *conv(64, 64), *conv(64, 128), *conv(128, 1024))
        self.all = nn.Sequential(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 256), nn.Dropout(0.3),
                                 nn.ReLU(), nn.Linear(256, 40))

    def forward(self, x):
        return self.all(self.each(x).amax(2))


class TabTransformer(nn.Module):
    """A column is a token (Huang 2020)."""

    def __init__(self, width, depth, fields, rows, size):
        super().__init__()
        self.table = nn.Embedding(rows, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, 0.1, batch_first=True)
        self.body = nn.TransformerEncoder(layer, depth)
        self.out = _mlp([13 + fields * width, 256], 2)

    def forward(self, dense, sparse):
        return self.out(torch.cat([self.body(self.table(sparse)).flatten(1), dense], 1))


NETWORKS = [
    Network("dlrm_small", "", None, functools.partial(Dlrm, 64, 26, 10000), _click(26, 10000)),
    Network("widedeep", "", None, functools.partial(WideDeep, 32, 26, 50000), _click(26, 50000)),
    Network("ncf", "", None, functools.partial(Ncf, 64, 20000, 10000),
            lambda batch, size, device: torch.randint(10000, (batch, 2), device=device)),
    Network("pointnet", "seq", 512, PointNet, lambda batch, size, device: torch.randn(batch, 3, size, device=device)),
    Network("tabtransformer", "", None, functools.partial(TabTransformer, 32, 6, 26, 10000), _click(26, 10000)),
]
