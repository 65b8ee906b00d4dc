"""Networks whose steps others measured and published, as they defined them: to predict these steps and to learn from them."""

import torch
from torch import nn

from .entry import Network, images, tokens
from .text import Attention, Bert


class DecoderLayer(nn.Module):
    """Attention and a feed-forward part, each with its norm before it or after the sum."""

    def __init__(self, width, heads, act, norm_first, bias):
        super().__init__()
        self.norm_first = norm_first
        self.norm1, self.norm2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads, bias=bias)
        self.attention.out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), act(), nn.Linear(4 * width, width), nn.Dropout(0.1))
        self.drop = nn.Dropout(0.1)

    def forward(self, x, mask):
        if self.norm_first:
            x = x + self.drop(self.attention(self.norm1(x), bias=mask))
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.drop(self.attention(x, bias=mask)))
        return self.norm2(x + self.feed(x))


class Decoder(nn.Module):
    """The next word at every position; the last layer has the weights of the words."""

    def __init__(self, words, layers, size):
        super().__init__()
        self.word, self.layers = words, nn.ModuleList(layers)
        self.out = nn.Linear(words.embedding_dim, words.num_embeddings, bias=False)
        self.out.weight = words.weight
        self.register_buffer("places", torch.arange(size))
        self.register_buffer("mask", torch.full((size, size), float("-inf")).triu(1))

    def body(self, x):
        for layer in self.layers:
            x = layer(x, self.mask)
        return x


class Opt350m(Decoder):
    """Zhang 2022: OPT with 350 million parameters, whose words are narrower than its layers and whose norms come last."""

    def __init__(self, size):
        super().__init__(nn.Embedding(50272, 512), (DecoderLayer(1024, 16, nn.ReLU, False, True) for _ in range(24)), size)
        self.position = nn.Embedding(size + 2, 1024)
        self.widen, self.narrow = nn.Linear(512, 1024, bias=False), nn.Linear(1024, 512, bias=False)

    def forward(self, x):
        return self.out(self.narrow(self.body(self.widen(self.word(x)) + self.position(self.places + 2))))


class GptNeo(Decoder):
    """Black 2021: GPT-Neo with 2.7 billion parameters."""

    def __init__(self, size):
        super().__init__(nn.Embedding(50257, 2560), (DecoderLayer(2560, 20, nn.GELU, True, False) for _ in range(32)), size)
        self.position, self.norm = nn.Embedding(size, 2560), nn.LayerNorm(2560)

    def forward(self, x):
        return self.out(self.norm(self.body(self.word(x) + self.position(self.places))))


def resnet18_cifar(size):
    """For small images: the first convolution keeps the size, and nothing is pooled after it."""
    import torchvision                          # which need not be here
    net = torchvision.models.resnet18(num_classes=10)
    net.conv1, net.maxpool = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.Identity()
    return net


def shufflenetv2_cifar(size):
    """For small images, likewise."""
    import torchvision
    net = torchvision.models.shufflenet_v2_x1_0(num_classes=100)
    net.conv1[0], net.maxpool = nn.Conv2d(3, 24, 3, 1, 1, bias=False), nn.Identity()
    return net


class Ssd300(nn.Module):
    """Liu 2016 as in NVIDIA's DeepLearningExamples, on ResNet-50 without its last stage: six maps, of 38 x 38 to 1 x 1, each with a head for boxes and one for 81 classes."""

    def __init__(self, size):
        super().__init__()
        import torchvision                      # which need not be here
        self.backbone = nn.Sequential(*list(torchvision.models.resnet50().children())[:7])
        first = self.backbone[-1][0]
        first.conv1.stride = first.conv2.stride = first.downsample[0].stride = (1, 1)
        widths, between = [1024, 512, 512, 256, 256, 256], [256, 256, 128, 128, 128]
        self.extra = nn.ModuleList(self._extra(i, m, o, at) for at, (i, m, o) in enumerate(zip(widths, between, widths[1:])))
        boxes = [4, 6, 6, 6, 4, 4]
        self.place = nn.ModuleList(nn.Conv2d(w, 4 * n, 3, padding=1) for w, n in zip(widths, boxes))
        self.kind = nn.ModuleList(nn.Conv2d(w, 81 * n, 3, padding=1) for w, n in zip(widths, boxes))

    @staticmethod
    def _extra(i, middle, o, at):
        shape = {"stride": 2, "padding": 1} if at < 3 else {}
        return nn.Sequential(nn.Conv2d(i, middle, 1, bias=False), nn.BatchNorm2d(middle), nn.ReLU(True),
                             nn.Conv2d(middle, o, 3, bias=False, **shape), nn.BatchNorm2d(o), nn.ReLU(True))

    def forward(self, x):
        maps = [self.backbone(x)]
        for layer in self.extra:
            maps.append(layer(maps[-1]))
        return (torch.cat([h(m).view(m.shape[0], 4, -1) for h, m in zip(self.place, maps)], 2),
                torch.cat([h(m).view(m.shape[0], 81, -1) for h, m in zip(self.kind, maps)], 2))


NETWORKS = [
    Network("opt_350m", "seq", 2048, Opt350m, tokens(50272)), Network("gpt_neo_2_7b", "seq", 2048, GptNeo, tokens(50257)),
    Network("bert_base_squad", "seq", 384, lambda size: Bert(768, 12, size), tokens(30522)),
    Network("bert_large_squad", "seq", 384, lambda size: Bert(1024, 24, size), tokens(30522)),
    Network("ssd300_resnet50", "image", 300, Ssd300, images()),
    Network("resnet18_cifar", "image", 32, resnet18_cifar, images()), Network("shufflenetv2_cifar", "image", 32, shufflenetv2_cifar, images()),
]
