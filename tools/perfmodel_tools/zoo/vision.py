"""Networks for images that torchvision does not have, written after their papers."""

import functools

import torch
from torch import nn

from .entry import Network, images


def conv_bn(inputs, outputs, kernel=3, stride=1, groups=1, act=nn.ReLU) -> nn.Sequential:
    """Convolution, batch normalisation, activation."""
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, act()) if act else nn.Sequential(*layers)


class Residual(nn.Module):
    """x + f(x), with another path for x where its shape changes."""

    def __init__(self, body, shortcut=None, after=None):
        super().__init__()
        self.body, self.shortcut, self.after = body, shortcut or nn.Identity(), after or nn.Identity()

    def forward(self, x):
        return self.after(self.body(x) + self.shortcut(x))


def head(channels, classes=1000) -> list:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]


def lenet(size):
    flat = 16 * ((size - 4) // 2 - 4 >> 1) ** 2
    return nn.Sequential(nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
                         nn.Flatten(), nn.Linear(flat, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))


def mlp(width, depth, size):
    layers = [nn.Flatten(), nn.Linear(3 * size * size, width), nn.ReLU()]
    for _ in range(depth - 2):
        layers += [nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2)]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def nin(size):
    """Network in network (Lin 2013)."""
    def block(i, o, kernel, stride):
        return [nn.Conv2d(i, o, kernel, stride, kernel // 2), nn.ReLU(), nn.Conv2d(o, o, 1), nn.ReLU(),
                nn.Conv2d(o, o, 1), nn.ReLU()]
    return nn.Sequential(*block(3, 96, 11, 4), nn.MaxPool2d(3, 2), *block(96, 256, 5, 1), nn.MaxPool2d(3, 2, 1),
                         *block(256, 384, 3, 1), nn.Dropout(), *block(384, 1000, 3, 1), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten())


def _basic(i, o, stride, width_drop=0.0):
    drop = [nn.Dropout(width_drop)] if width_drop else []
    body = nn.Sequential(conv_bn(i, o, 3, stride), *drop, conv_bn(o, o, act=None))
    return Residual(body, conv_bn(i, o, 1, stride, act=None) if stride > 1 or i != o else None, nn.ReLU())


def cifar_resnet(depth, widths, drop, size):
    """ResNets for small images (He 2015), and wide ones (Zagoruyko 2016)."""
    layers, channels = [conv_bn(3, 16)], 16
    for stage, width in enumerate(widths):
        for block in range((depth - 2) // 6):
            layers.append(_basic(channels, width, 2 if stage and not block else 1, drop))
            channels = width
    return nn.Sequential(*layers, *head(channels, 10))


def mobilenet_v1(scale, size):
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + 5 * [(512, 1)] + [(1024, 2), (1024, 1)]
    channels = int(32 * scale)
    layers = [conv_bn(3, channels, 3, 2)]
    for width, stride in plan:
        width = int(width * scale)
        layers += [conv_bn(channels, channels, 3, stride, groups=channels), conv_bn(channels, width, 1)]
        channels = width
    return nn.Sequential(*layers, *head(channels))


_leaky = functools.partial(nn.LeakyReLU, 0.1)


def darknet19(size):
    layers, channels = [], 3
    for width in (32, "M", 64, "M", 128, -64, 128, "M", 256, -128, 256, "M", 512, -256, 512, -256, 512, "M",
                  1024, -512, 1024, -512, 1024):
        if width == "M":
            layers.append(nn.MaxPool2d(2))
        else:
            layers.append(conv_bn(channels, abs(width), 1 if width < 0 else 3, act=_leaky))
            channels = abs(width)
    return nn.Sequential(*layers, nn.Conv2d(channels, 1000, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def darknet53(size):
    layers, channels = [conv_bn(3, 32, act=_leaky)], 32
    for width, count in ((64, 1), (128, 2), (256, 8), (512, 8), (1024, 4)):
        layers.append(conv_bn(channels, width, 3, 2, act=_leaky))
        layers += [Residual(nn.Sequential(conv_bn(width, width // 2, 1, act=_leaky), conv_bn(width // 2, width, act=_leaky)))
                   for _ in range(count)]
        channels = width
    return nn.Sequential(*layers, *head(channels))


def _separable(i, o):
    return [nn.ReLU(), nn.Conv2d(i, i, 3, 1, 1, groups=i, bias=False), nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o)]


def xception(size):
    """Chollet 2016."""
    layers, channels = [conv_bn(3, 32, 3, 2), conv_bn(32, 64)], 64
    for width in (128, 256, 728):
        body = nn.Sequential(*_separable(channels, width), *_separable(width, width), nn.MaxPool2d(3, 2, 1))
        layers.append(Residual(body, conv_bn(channels, width, 1, 2, act=None)))
        channels = width
    layers += [Residual(nn.Sequential(*(3 * _separable(728, 728)))) for _ in range(8)]
    return nn.Sequential(*layers, *_separable(728, 1024), nn.MaxPool2d(3, 2, 1), *_separable(1024, 1536),
                         *_separable(1536, 2048), nn.ReLU(), *head(2048))


class RepVgg(nn.Module):
    """A block of RepVGG as it trains: 3x3, 1x1 and identity side by side (Ding 2021)."""

    def __init__(self, i, o, stride):
        super().__init__()
        self.wide, self.narrow = conv_bn(i, o, 3, stride, act=None), conv_bn(i, o, 1, stride, act=None)
        self.same = nn.BatchNorm2d(i) if i == o and stride == 1 else None

    def forward(self, x):
        y = self.wide(x) + self.narrow(x)
        return torch.relu(y + self.same(x) if self.same else y)


def repvgg(widths, counts, size):
    layers, channels = [RepVgg(3, widths[0], 2)], widths[0]
    for width, count in zip(widths, counts):
        layers += [RepVgg(channels if k == 0 else width, width, 2 if k == 0 else 1) for k in range(count)]
        channels = width
    return nn.Sequential(*layers, *head(channels))


def convmixer(width, depth, kernel, patch, size):
    """Trockman 2022."""
    def act_norm(i, kernel, groups):
        return nn.Sequential(nn.Conv2d(i, i, kernel, padding=kernel // 2, groups=groups), nn.GELU(), nn.BatchNorm2d(i))
    layers = [nn.Conv2d(3, width, patch, patch), nn.GELU(), nn.BatchNorm2d(width)]
    for _ in range(depth):
        layers += [Residual(act_norm(width, kernel, width)), act_norm(width, 1, 1)]
    return nn.Sequential(*layers, *head(width))


class Patches(nn.Module):
    """An image as a sequence of patches."""

    def __init__(self, width, patch):
        super().__init__()
        self.project = nn.Conv2d(3, width, patch, patch)

    def forward(self, x):
        return self.project(x).flatten(2).transpose(1, 2)


class Across(nn.Module):
    """A module over the positions instead of the channels."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x.transpose(1, 2)).transpose(1, 2)


def feed_forward(width, hidden) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class MeanHead(nn.Module):
    def __init__(self, width, classes=1000):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        return self.out(self.norm(x).mean(1))


def mixer(width, depth, patch, size):
    """MLP-Mixer (Tolstikhin 2021)."""
    n = (size // patch) ** 2
    layers = [Patches(width, patch)]
    for _ in range(depth):
        layers += [Residual(nn.Sequential(nn.LayerNorm(width), Across(feed_forward(n, width // 2)))),
                   Residual(nn.Sequential(nn.LayerNorm(width), feed_forward(width, 4 * width)))]
    return nn.Sequential(*layers, MeanHead(width))


class Affine(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return self.scale * x + self.shift


def resmlp(width, depth, patch, size):
    """Touvron 2021: no normalisation, no attention."""
    n = (size // patch) ** 2
    layers = [Patches(width, patch)]
    for _ in range(depth):
        layers += [Residual(nn.Sequential(Affine(width), Across(nn.Linear(n, n)), Affine(width))),
                   Residual(nn.Sequential(Affine(width), feed_forward(width, 4 * width), Affine(width)))]
    return nn.Sequential(*layers, MeanHead(width))


class Deit(nn.Module):
    """A small vision transformer, without dropout (Touvron 2020)."""

    def __init__(self, width, depth, heads, size, patch=16):
        super().__init__()
        self.patches = Patches(width, patch)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, nn.LayerNorm(width))
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.position
        return self.head(self.blocks(x)[:, 0])


class Excite(nn.Module):
    """Squeeze and excite (Hu 2017)."""

    def __init__(self, channels, reduction=16):
        super().__init__()
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, channels // reduction, 1), nn.ReLU(),
                                  nn.Conv2d(channels // reduction, channels, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.gate(x)


def se_resnet(counts, size):
    layers, channels = [conv_bn(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate(counts):
        width = 64 << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            body = nn.Sequential(conv_bn(channels, width, 1), conv_bn(width, width, 3, stride),
                                 conv_bn(width, 4 * width, 1, act=None), Excite(4 * width))
            short = conv_bn(channels, 4 * width, 1, stride, act=None) if block == 0 else None
            layers.append(Residual(body, short, nn.ReLU()))
            channels = 4 * width
    return nn.Sequential(*layers, *head(channels))


class PoolMix(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)

    def forward(self, x):
        return self.pool(x) - x


def poolformer(counts, size):
    """Yu 2021."""
    layers, channels = [nn.Conv2d(3, 64, 7, 4, 2)], 64
    for width, count in zip((64, 128, 320, 512), counts):
        if width != channels:
            layers.append(nn.Conv2d(channels, width, 3, 2, 1))
        for _ in range(count):
            layers += [Residual(nn.Sequential(nn.GroupNorm(1, width), PoolMix())),
                       Residual(nn.Sequential(nn.GroupNorm(1, width), nn.Conv2d(width, 4 * width, 1), nn.GELU(),
                                              nn.Conv2d(4 * width, width, 1)))]
        channels = width
    return nn.Sequential(*layers, nn.GroupNorm(1, channels), *head(channels))


def _image(name, build, *args, size=64, channels=3) -> Network:
    return Network(name, "image", size, functools.partial(build, *args), images(channels))


NETWORKS = [
    _image("lenet", lenet, size=28, channels=1),
    _image("mlp_small", mlp, 256, 3, size=32), _image("mlp_medium", mlp, 1024, 4, size=32),
    _image("mlp_large", mlp, 2048, 6, size=32),
    _image("nin", nin, size=128),
    *(_image(f"cifarresnet{d}", cifar_resnet, d, (16, 32, 64), 0.0, size=32) for d in (20, 56, 110)),
    _image("wrn_16_4", cifar_resnet, 14, (64, 128, 256), 0.3, size=32),
    _image("wrn_28_2", cifar_resnet, 26, (32, 64, 128), 0.3, size=32),
    _image("mobilenetv1_050", mobilenet_v1, 0.5, size=128), _image("mobilenetv1_100", mobilenet_v1, 1.0, size=128),
    _image("darknet19", darknet19, size=128), _image("darknet53", darknet53, size=128),
    _image("xception", xception, size=128),
    _image("repvgg_a0", repvgg, (48, 96, 192, 1280), (2, 4, 14, 1), size=128),
    _image("repvgg_b0", repvgg, (64, 128, 256, 1280), (4, 6, 16, 1), size=128),
    _image("convmixer_256_8", convmixer, 256, 8, 9, 8, size=128), _image("convmixer_512_12", convmixer, 512, 12, 5, 8, size=128),
    _image("mixer_s16", mixer, 512, 8, 16, size=128), _image("mixer_t8", mixer, 256, 6, 8, size=64),
    _image("resmlp_12", resmlp, 384, 12, 16, size=128),
    _image("deit_tiny", Deit, 192, 12, 3, size=128), _image("deit_small", Deit, 384, 12, 6, size=128),
    _image("seresnet50", se_resnet, (3, 4, 6, 3), size=128), _image("seresnet26", se_resnet, (2, 2, 2, 2), size=128),
    _image("poolformer_s12", poolformer, (2, 2, 6, 2), size=128),
]
