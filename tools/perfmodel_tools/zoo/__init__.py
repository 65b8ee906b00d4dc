"""Networks of our own: what torchvision does not have, defined here with random weights."""

from . import generative, recurrent, tabular, text, vision
from .entry import Network

NETWORKS = {network.name: network
            for part in (vision, generative, text, recurrent, tabular) for network in part.NETWORKS}
