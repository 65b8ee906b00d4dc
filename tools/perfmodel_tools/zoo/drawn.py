"""Networks drawn at random from the parts that published ones are made of.

A number names a network: the same number draws the same network. They widen what a predictor learns from, because their
shapes, orders of layers and mixtures are not those of a few dozen papers.
"""

import functools
import random

import torch
from torch import nn

from .entry import Network, images, vectors
from .vision import Excite, RepVgg, Residual


class Draw:
    """Choices that depend on a name alone."""

    def __init__(self, name):
        self._random = random.Random(name)

    def one(self, *options):
        return self._random.choice(options)

    def maybe(self, probability) -> bool:
        return self._random.random() < probability

    def between(self, low, high, step=1) -> int:
        """A multiple of step from low to high; small ones as often as large ones, on a scale of ratios."""
        drawn = low * (high / low) ** self._random.random()
        return max(low, int(drawn / step + 0.5) * step)


ACTIVATIONS = (nn.ReLU, nn.ReLU, nn.ReLU, functools.partial(nn.ReLU, True), nn.ReLU6, nn.SiLU, nn.SiLU, nn.GELU, nn.Hardswish,
               functools.partial(nn.LeakyReLU, 0.1), nn.ELU, nn.Tanh)


def _group_norm(channels):
    return nn.GroupNorm(next(g for g in (32, 16, 8, 4, 1) if channels % g == 0), channels)


class Style:
    """What the blocks of one network have in common."""

    def __init__(self, d: Draw):
        self.act = d.one(*ACTIVATIONS)
        self.norm = d.one(nn.BatchNorm2d, nn.BatchNorm2d, nn.BatchNorm2d, nn.BatchNorm2d, _group_norm, nn.InstanceNorm2d, None)
        self.kernel = d.one(3, 3, 3, 3, 5, 7)
        self.expand = d.one(2, 3, 4, 6)
        self.group_width = d.one(4, 8, 16, 24, 32, 48, 64)
        self.excite = d.maybe(0.3)
        self.shrink = d.one("stride", "stride", "max", "average")

    def conv(self, i, o, kernel=1, stride=1, groups=1, act=True) -> nn.Sequential:
        layers = [nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=self.norm is None)]
        if self.norm:
            layers.append(self.norm(o))
        if act:
            layers.append(self.act())
        return nn.Sequential(*layers)

    def shortcut(self, i, o, stride):
        return self.conv(i, o, 1, stride, act=False) if stride > 1 or i != o else None

    def gate(self, channels) -> list:
        return [Excite(channels, 4)] if self.excite and channels >= 8 else []


class Cat(nn.Module):
    """Several paths side by side, joined along the channels."""

    def __init__(self, *paths):
        super().__init__()
        self.paths = nn.ModuleList(paths)

    def forward(self, x):
        return torch.cat([path(x) for path in self.paths], 1)


class Shuffle(nn.Module):
    """Half of the channels pass a body, then both halves are mixed (Ma 2018)."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        a, b = x.chunk(2, 1)
        x = torch.cat([a, self.body(b)], 1)
        n, c, h, w = x.shape
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class Inside(nn.Module):
    """Layers over the last dimension, for a body that sees channels there."""

    def __init__(self, width, expand, act):
        super().__init__()
        self.norm, self.wide, self.act = nn.LayerNorm(width), nn.Linear(width, expand * width), act()
        self.narrow = nn.Linear(expand * width, width)

    def forward(self, x):
        return self.narrow(self.act(self.wide(self.norm(x.permute(0, 2, 3, 1))))).permute(0, 3, 1, 2)


def _plain(s, i, o, stride):
    return s.conv(i, o, s.kernel, stride)


def _basic(s, i, o, stride):
    body = nn.Sequential(s.conv(i, o, 3, stride), s.conv(o, o, 3, act=False), *s.gate(o))
    return Residual(body, s.shortcut(i, o, stride), s.act())


def _bottleneck(s, i, o, stride):
    inner = max(8, o // s.expand)
    body = nn.Sequential(s.conv(i, inner), s.conv(inner, inner, 3, stride), s.conv(inner, o, act=False), *s.gate(o))
    return Residual(body, s.shortcut(i, o, stride), s.act())


def _grouped(s, i, o, stride):
    inner = max(1, o // 2 // s.group_width) * s.group_width
    body = nn.Sequential(s.conv(i, inner), s.conv(inner, inner, 3, stride, inner // s.group_width), s.conv(inner, o, act=False),
                         *s.gate(o))
    return Residual(body, s.shortcut(i, o, stride), s.act())


def _inverted(s, i, o, stride):
    inner = s.expand * i
    body = nn.Sequential(s.conv(i, inner), s.conv(inner, inner, s.kernel, stride, inner), *s.gate(inner), s.conv(inner, o, act=False))
    return Residual(body) if stride == 1 and i == o else body


def _separable(s, i, o, stride):
    return nn.Sequential(s.conv(i, i, s.kernel, stride, i), s.conv(i, o))


def _inside(s, i, o, stride):
    first = [nn.Conv2d(i, o, stride, stride)] if stride > 1 or i != o else []
    return nn.Sequential(*first, Residual(nn.Sequential(nn.Conv2d(o, o, 7, padding=3, groups=o), Inside(o, s.expand, s.act))))


def _fire(s, i, o, stride):
    inner = max(8, o // 8)
    return nn.Sequential(s.conv(i, inner, 1, stride), Cat(s.conv(inner, o // 2), s.conv(inner, o - o // 2, 3)))


def _branches(s, i, o, stride):
    part = max(8, o // 4 // 8 * 8)
    pooled = nn.Sequential(nn.MaxPool2d(3, 1, 1) if s.excite else nn.AvgPool2d(3, 1, 1), s.conv(i, part))
    paths = Cat(s.conv(i, part), nn.Sequential(s.conv(i, part), s.conv(part, part, 3)),
                nn.Sequential(s.conv(i, part), s.conv(part, part, 3), s.conv(part, part, 3)), pooled)
    return nn.Sequential(paths, s.conv(4 * part, o, 1, stride))


def _dense(s, i, o, stride):
    grow = max(8, (o - i) // 2 if o > i else o // 4)
    layers, channels = [], i
    for _ in range(2):
        layers.append(Cat(nn.Identity(), nn.Sequential(s.conv(channels, 4 * grow), s.conv(4 * grow, grow, 3))))
        channels += grow
    return nn.Sequential(*layers, s.conv(channels, o), *([nn.AvgPool2d(2)] if stride > 1 else []))


def _shuffle(s, i, o, stride):
    half = o // 2
    body = nn.Sequential(s.conv(half, half), s.conv(half, half, 3, 1, half, act=False), s.conv(half, half))
    return nn.Sequential(*([s.conv(i, o, 3, stride)] if stride > 1 or i != o else []), Shuffle(body))


def _repvgg(s, i, o, stride):
    return RepVgg(i, o, stride)


BLOCKS = (_plain, _basic, _bottleneck, _grouped, _inverted, _separable, _inside, _fire, _branches, _dense, _shuffle, _repvgg)


def _stem(d, s, width) -> list:
    kind = d.one("small", "half", "half", "large", "patch")
    if kind == "large":
        return [s.conv(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)]
    if kind == "patch":
        return [nn.Conv2d(3, width, 4, 4)]
    return [s.conv(3, width, 3, 1 if kind == "small" else 2)]


def _head(d, s, channels) -> list:
    classes = d.one(10, 100, 1000)
    kind = d.one("mean", "mean", "mean", "mlp", "flat")
    if kind == "mean":
        return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), *([nn.Dropout(0.2)] if d.maybe(0.3) else []), nn.Linear(channels, classes)]
    side, hidden = (1 if kind == "mlp" else d.one(2, 3, 4)), d.between(128, 2048, 64)
    return [nn.AdaptiveAvgPool2d(side), nn.Flatten(), nn.Linear(side * side * channels, hidden), s.act(), nn.Dropout(0.5),
            nn.Linear(hidden, classes)]


def convolutional(name, size):
    """Stages of blocks of one or two kinds; the image gets smaller from stage to stage."""
    d = Draw(name)
    s, kinds = Style(d), [d.one(*BLOCKS) for _ in range(d.one(1, 1, 2))]
    channels = d.between(16, 64, d.one(4, 8, 16))
    layers = _stem(d, s, channels)
    for stage in range(d.one(2, 3, 3, 4)):
        wide = int(channels * d.one(1.5, 2, 2) / 8 + 0.5) * 8
        for block in range(d.one(1, 2, 2, 3, 4)):
            strided = block == 0 and stage > 0
            if strided and s.shrink != "stride":
                layers.append(nn.MaxPool2d(2) if s.shrink == "max" else nn.AvgPool2d(2))
            layers.append(kinds[stage % len(kinds)](s, channels, wide, 2 if strided and s.shrink == "stride" else 1))
            channels = wide
    return nn.Sequential(*layers, *_head(d, s, channels))


class Hourglass(nn.Module):
    """Down and up again, with or without bridges: segmentation, translation of images, autoencoders."""

    def __init__(self, name, size):
        super().__init__()
        d = Draw(name)
        s = Style(d)
        levels, width, self.how = d.one(2, 3, 3), d.between(8, 48, 8), d.one("cat", "cat", "add", "")
        widths = [width << k for k in range(levels + 1)]
        twice, grow = d.maybe(0.5), d.one("transposed", "nearest", "bilinear", "shuffle")
        self.begin = s.conv(3, width, s.kernel)
        self.down = nn.ModuleList(self._block(s, i, o, 2, twice) for i, o in zip(widths, widths[1:]))
        pairs = list(zip(widths[::-1], widths[-2::-1]))
        self.grow = nn.ModuleList(self._grow(grow, i, o) for i, o in pairs)
        self.up = nn.ModuleList(self._block(s, 2 * o if self.how == "cat" else o, o, 1, twice) for _, o in pairs)
        self.end = nn.Conv2d(width, d.one(2, 3, 21), 1)

    @staticmethod
    def _block(s, i, o, stride, twice):
        return nn.Sequential(s.conv(i, o, 3, stride), *([s.conv(o, o, 3)] if twice else []))

    @staticmethod
    def _grow(how, i, o):
        if how == "transposed":
            return nn.ConvTranspose2d(i, o, 4, 2, 1)
        if how == "shuffle":
            return nn.Sequential(nn.Conv2d(i, 4 * o, 1), nn.PixelShuffle(2))
        return nn.Sequential(nn.Upsample(scale_factor=2, mode=how), nn.Conv2d(i, o, 3, padding=1))

    def forward(self, x):
        x = self.begin(x)
        kept = []
        for block in self.down:
            kept.append(x)
            x = block(x)
        for grow, block in zip(self.grow, self.up):
            x, bridge = grow(x), kept.pop()
            if self.how:
                x = torch.cat([x, bridge], 1) if self.how == "cat" else x + bridge
            x = block(x)
        return self.end(x)


def generator(name, size):
    """From numbers to an image, by transposed convolutions of several sizes or by upsampling."""
    d = Draw(name)
    s, channels, steps = Style(d), d.between(64, 384, 16), {16: 2, 32: 3, 64: 4}[size]
    layers = [nn.Flatten(), nn.Linear(100, 16 * channels), nn.Unflatten(1, (channels, 4, 4))]
    kernel, upsample = d.one(4, 4, 2), d.maybe(0.3)
    for _ in range(steps):
        wide = max(16, channels // 2)
        if upsample:
            layers += [nn.Upsample(scale_factor=2), s.conv(channels, wide, 3)]
        else:
            layers += [nn.ConvTranspose2d(channels, wide, kernel, 2, kernel // 2 - 1), *([s.norm(wide)] if s.norm else []), s.act()]
        channels = wide
    return nn.Sequential(*layers, nn.Conv2d(channels, 3, 3, padding=1), nn.Tanh())


def small(name, size):
    """A few layers on small images, without normalisation."""
    d = Draw(name)
    act, kernel, channels = d.one(nn.ReLU, nn.Tanh, nn.Sigmoid, nn.ELU), d.one(3, 5, 5), d.between(4, 32, 2)
    pool, layers, inputs, side = d.one(nn.MaxPool2d, nn.AvgPool2d), [], 1, size
    for _ in range(d.one(2, 2, 3)):
        layers += [nn.Conv2d(inputs, channels, kernel, padding=kernel // 2), act(), pool(2)]
        inputs, channels, side = channels, 2 * channels, side // 2
    flat, hidden = inputs * side * side, d.between(32, 512, 16)
    layers += [nn.Flatten(), nn.Linear(flat, hidden), act(), *([nn.Dropout(0.25)] if d.maybe(0.5) else []), nn.Linear(hidden, 10)]
    return nn.Sequential(*layers)


def _image(kind, number, build, *sizes, inputs=None) -> Network:
    name = f"drawn{kind}_{number}"
    size = Draw(name + " size").one(*sizes)
    return Network(name, "image", size, functools.partial(build, name), inputs or images())


NETWORKS = [
    *(_image("conv", n, convolutional, 32, 48, 64, 64, 96, 128) for n in range(90)),
    *(_image("hourglass", n, Hourglass, 32, 48, 64, 96) for n in range(16)),
    *(_image("generator", n, generator, 16, 32, 64, inputs=vectors(100)) for n in range(10)),
    *(_image("small", n, small, 16, 24, 32, inputs=images(1)) for n in range(14)),
]
