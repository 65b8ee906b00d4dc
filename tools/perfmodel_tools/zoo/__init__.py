"""Networks of our own: what torchvision does not have, defined here with random weights."""

from typing import Optional

from . import drawn, drawn_sequences, generative, published, recurrent, tabular, text, vision
from .entry import Network


def _by_name(*parts) -> dict:
    return {network.name: network for part in parts for network in part.NETWORKS}


NETWORKS = _by_name(vision, generative, text, recurrent, tabular)
DRAWN = _by_name(drawn, drawn_sequences)        # at random, to learn from; nobody asks about them
PUBLISHED = _by_name(published)                 # whose steps others published; some are large


def find(name: str) -> Optional[Network]:
    """The network of this name; None: there is none."""
    return NETWORKS.get(name) or DRAWN.get(name) or PUBLISHED.get(name)
