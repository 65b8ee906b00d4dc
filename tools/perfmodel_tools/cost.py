"""Guess the time and the memory of a training step, or of a forward pass, before running it."""

import math
import statistics

from .trace import build_on_meta, trace


def count(build, make_input) -> dict:
    """flops and elements written in a forward pass of one sample, and the number of parameters."""
    module = build_on_meta(build)
    nodes = trace(module, make_input(2, device="meta")).nodes
    written = [math.prod(node["shape"]) for node in nodes if not node.get("view")]
    return {"flops": sum(node.get("flops", 0) for node in nodes) / 2, "elements": sum(written) / 2,
            "params": sum(p.numel() for p in module.parameters())}


class CostModel:
    """Step time from counted work; the rate is learnt, per model, from the rows measured so far."""

    def __init__(self, device):
        self._device = device
        self._rates = {}                        # model -> seconds per unit of work, one per row

    def _work(self, counts: dict, batch: int, mode: str) -> float:
        per_sample = 3 * counts["flops"] + self._device.work_per_element * counts["elements"]
        if mode == "inference":
            return batch * per_sample / 3
        return batch * per_sample + 20 * counts["params"]

    def seconds(self, model: str, counts: dict, batch: int, mode: str = "train") -> float:
        """Expected time of one step."""
        rates = self._rates.get(model) or [r for some in self._rates.values() for r in some]
        rate = statistics.median(rates) if rates else 1 / self._device.guess_flops
        return rate * self._work(counts, batch, mode)

    def learn(self, model: str, counts: dict, batch: int, seconds: float, mode: str = "train") -> None:
        """A step of the model took so long."""
        self._rates.setdefault(model, []).append(seconds / self._work(counts, batch, mode))

    def bytes(self, counts: dict, batch: int, mode: str = "train") -> float:
        """
        Upper guess. Training: every forward output kept, as much again while going backward, four copies of weights.
        Inference: every output kept, and the weights.
        """
        if mode == "inference":
            return 4 * (batch * counts["elements"] + counts["params"])
        return 4 * (2 * batch * counts["elements"] + 4 * counts["params"])
