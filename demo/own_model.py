"""A network of one's own, for demo/own_model.sh: convolutions, then attention over what is left of the image."""

import torch
from torch import nn


class Mine(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        def stage(i, o):
            return [nn.Conv2d(i, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o), nn.SiLU(),
                    nn.Conv2d(o, o, 5, 1, 2, groups=o, bias=False), nn.BatchNorm2d(o), nn.SiLU(), nn.Conv2d(o, o, 1)]
        self.front = nn.Sequential(*stage(3, width // 2), *stage(width // 2, width), *stage(width, 2 * width))
        self.attention = nn.MultiheadAttention(2 * width, 4, batch_first=True)
        self.norm, self.head = nn.LayerNorm(2 * width), nn.Linear(2 * width, 100)

    def forward(self, x):
        x = self.front(x).flatten(2).transpose(1, 2)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return self.head(self.norm(x).mean(1))


def build(image=96):
    """What export and profile ask for: the module, and an input with the batch in dimension 0."""
    return Mine(), torch.randn(1, 3, image, image)
