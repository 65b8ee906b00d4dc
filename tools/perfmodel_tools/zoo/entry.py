"""What a network of the zoo is, and the inputs that networks share."""

import dataclasses
from typing import Any, Callable, Optional

import torch
from torch import nn


@dataclasses.dataclass(frozen=True)
class Network:
    """A network by name. kind: what its size means: 'image' (pixels a side), 'seq' (positions) or '' (no size)."""

    name: str
    kind: str
    size: Optional[int]                         # the usual one
    build: Callable[[Optional[int]], nn.Module]
    inputs: Callable[..., Any]                  # inputs(batch, size, device)


def images(channels: int = 3):
    """A batch of square images."""
    return lambda batch, size, device: torch.randn(batch, channels, size, size, device=device)


def tokens(vocabulary: int, *parts: float):
    """Token numbers; with parts, several sequences whose lengths are these parts of the size."""
    def make(batch, size, device):
        drawn = [torch.randint(vocabulary, (batch, max(1, int(size * part))), device=device) for part in parts or (1,)]
        return tuple(drawn) if parts else drawn[0]
    return make


def vectors(*shape):
    """Real numbers of a shape that does not depend on a size."""
    return lambda batch, size, device: torch.randn(batch, *shape, device=device)


def signal(channels: int = 1, step: int = 1):
    """Sound and the like: (batch, channels, step * size)."""
    return lambda batch, size, device: torch.randn(batch, channels, step * size, device=device)
