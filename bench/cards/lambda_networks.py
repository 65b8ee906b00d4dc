"""The networks of Lambda's benchmark as NVIDIA's DeepLearningExamples define them, for bench/lambda.sh; ResNet-50 is torchvision's."""

import pathlib
import sys

import torch
import torchvision
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from perfmodel_tools.zoo.text import Bert  # noqa: E402


class Ssd(nn.Module):
    """SSD300 on ResNet-50 without its last stage: six maps, of 38 x 38 to 1 x 1, each with a head for boxes and one for 81 classes."""

    def __init__(self):
        super().__init__()
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


def _bert(width, depth, seq):
    return Bert(width, depth, seq), torch.randint(0, 30522, (1, seq))


def bert_base_squad(seq=384):
    return _bert(768, 12, seq)


def bert_large_squad(seq=384):
    return _bert(1024, 24, seq)


def ssd300_resnet50(image=300):
    return Ssd(), torch.randn(1, 3, image, image)
