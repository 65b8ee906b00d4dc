#!/usr/bin/env python3
"""Measure as many different networks in a few minutes of a GPU as possible. data/*_h200.csv come from an earlier form of this script.

    bench/gpu_campaign.py OUT_DIR [MINUTES]

Writes OUT_DIR/profiles.csv, as `perfmodel_tools profile` does, and OUT_DIR/power.csv: the mean power in the last two thirds of the timed steps of a row.
Runs on the first CUDA device; needs torchvision, timm, transformers and pynvml. Networks, formats and batches are drawn from a seed, and the sets
follow one another; each gets its share of the time. The timed steps of a row take at least 0.45 s or five steps.
"""

import csv
import pathlib
import random
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from perfmodel_tools import measure as measuring  # noqa: E402
from perfmodel_tools import models, profile, zoo  # noqa: E402
from perfmodel_tools.device import open_device  # noqa: E402
from perfmodel_tools.profile import NO_OPTIMIZER, Profiler, Quality, Table, Task  # noqa: E402
from perfmodel_tools.progress import Progress  # noqa: E402

POWER = "graph,batch,dtype,layout,mode,optimizer,step_ms,seconds,power_w".split(",")
INSTANT_POWER = 186     # NVML_FI_DEV_POWER_INSTANT
PERIOD_S = 0.025
HEAVY = {"vit_h_14", "regnet_y_128gf", "efficientnet_b6", "efficientnet_b7", "efficientnet_v2_l"}
TIMM = """resnetv2_50 seresnet50 ecaresnet50d dm_nfnet_f0 eca_nfnet_l0 nf_regnet_b1 convmixer_768_32 deit_small_patch16_224 mixer_b16_224 cait_xxs24_224
xcit_small_12_p16_224 pvt_v2_b2 levit_256 poolformer_s24 hrnet_w18 dla60 res2net50_26w_4s skresnet34 dpn68 ghostnet_100 gernet_l repvgg_b0 botnet26t_256
visformer_small twins_svt_small cspdarknet53 coat_lite_small mobilevit_s edgenext_small efficientnetv2_rw_t rexnet_100 xception41 tresnet_m nest_tiny pit_s_224
coatnet_0_rw_224""".split()
LENGTHS = {"bert": (128, 512), "roberta": (384,), "t5": (256,), "distilbert": (256,), "albert": (256,), "electra": (512,), "vit": (None,), "deit": (None,), "convnextv2": (None,)}
WAYS = (("amp", "nhwc", 0.55), ("amp", "nchw", 0.5), ("tf32", "nchw", 0.22), ("tf32", "nhwc", 0.2), ("fp32", "nchw", 0.12), ("bf16", "nhwc", 0.12), ("bf16", "nchw", 0.05))


class Meter(threading.Thread):
    """The power that the device draws, again and again."""

    def __init__(self):
        super().__init__(daemon=True)
        import pynvml
        pynvml.nvmlInit()
        self._nvml, self._device = pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)
        self._samples = []

    def run(self):
        while True:
            watts = self._nvml.nvmlDeviceGetFieldValues(self._device, [INSTANT_POWER])[0].value.uiVal / 1000
            self._samples.append((time.time(), watts))
            time.sleep(PERIOD_S)

    def mean(self, begin, end):
        """Mean in the last two thirds of a time, None where it is too short."""
        inside = [watts for at, watts in self._samples if begin + (end - begin) / 3 <= at <= end]
        return sum(inside) / len(inside) if end - begin >= 0.4 and len(inside) > 3 else None


class PowerProfiler(Profiler):
    """A profiler that writes down power beside time."""

    def __init__(self, meter, power, *args):
        super().__init__(*args)
        self._meter, self._power = meter, power

    def _fits(self, spec, task):
        return True         # a card of this size has room for what is drawn here, and what has none is told by the device

    def _count(self, spec):
        return {"flops": 1, "elements": 1, "params": 1}

    def _keep(self, row, again):
        super()._keep(row, again)
        end = time.time()
        seconds = float(row["step_ms"]) * int(row["steps"]) / 1000
        watts = self._meter.mean(end - seconds, end)
        if watts is not None:
            csv.writer(self._power).writerow([row[name] for name in POWER[:7]] + [f"{seconds:.2f}", f"{watts:.0f}"])
            self._power.flush()


def images(rng, names, batches):
    for name in names:
        for dtype, layout, share in WAYS:
            if rng.random() < share:
                yield from (Task(name, None, batch, dtype, layout) for batch in rng.sample(batches, 2))


def sequences(rng):
    for name, lengths in LENGTHS.items():
        for length in lengths:
            for dtype in ("amp", "bf16"):
                for batch in rng.sample([4, 8, 16, 32, 64], 2):
                    yield Task("transformers:" + name, length, batch, dtype, "nchw", rng.choice(("adamw", "sgd_momentum")))


def of_the_zoo(rng):
    for name, network in zoo.NETWORKS.items():
        size = network.size and network.size * 2
        for dtype in rng.sample(("amp", "tf32", "fp32", "bf16"), 2):
            layout = rng.choice(("nchw", "nhwc")) if network.kind == "image" else "nchw"
            yield from (Task("zoo:" + name, size, batch, dtype, layout) for batch in rng.sample([16, 64, 256], 2))


def passes(rng):
    for name in rng.sample(models.torchvision_names(), 24):
        dtype, layout = rng.choice((("amp", "nhwc"), ("amp", "nchw"), ("tf32", "nchw"), ("bf16", "nhwc"), ("fp32", "nchw")))
        yield from (Task(name, None, batch, dtype, layout, NO_OPTIMIZER, "inference") for batch in (1, 64))


def main():
    out, minutes = pathlib.Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 10
    rng = random.Random(20261126)
    device = open_device("cuda", 1)
    device.search_kernels(False)
    meter = Meter()
    meter.start()
    vision = [name for name in models.torchvision_names() if name not in HEAVY]
    sets = ((0.45, images(rng, vision, [8, 32, 64, 128, 256])), (0.18, of_the_zoo(rng)), (0.12, sequences(rng)),
            (0.17, images(rng, ["timm:" + name for name in TIMM], [16, 32, 64, 128])), (0.08, passes(rng)))
    limits = measuring.Limits(warmup=6, warmup_s=0.2, steps=25, min_steps=5, row_s=0.45)
    begin, spent = time.monotonic(), 0.0
    with open(out / "power.csv", "w", newline="") as power:
        csv.writer(power).writerow(POWER)
        for share, drawn in sets:
            spent += share
            tasks = profile.in_visits(list(drawn), rng)
            PowerProfiler(meter, power, device, Table(str(out / "profiles.csv")), limits, profile.default_framework(device), begin + 60 * minutes * spent,
                          Progress(len(tasks), False), Quality(0)).run(tasks)


if __name__ == "__main__":
    main()
