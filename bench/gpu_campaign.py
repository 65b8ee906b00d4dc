#!/usr/bin/env python3
"""Measure as many different networks in a few minutes of a GPU as possible.

    bench/gpu_campaign.py OUT_DIR [MINUTES] [LIKE]      measure
    bench/gpu_campaign.py OUT_DIR graphs [LIKE]         then export the graphs of what it has measured, with a process a core; never beside a measurement

Writes OUT_DIR/profiles.csv, as `perfmodel_tools profile` does, and OUT_DIR/busy.csv: for each row the mean power in the last two thirds of the timed
steps, and of one more step the time in which the GPU ran a kernel, and how many. LIKE is a profiles.csv of another GPU: near half of the time goes to
the same configurations. Runs on the first CUDA device; needs PyTorch 2 with torchvision, timm, transformers and pynvml. Networks, formats and batches
are drawn from a seed, and the sets follow one another; each gets its share of the time. The timed steps of a row take at least 0.45 s or five steps.
"""

import csv
import multiprocessing
import pathlib
import random
import re
import sys
import threading
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from perfmodel_tools import export, measure as measuring, models, profile, zoo  # noqa: E402
from perfmodel_tools.device import open_device  # noqa: E402
from perfmodel_tools.profile import NO_OPTIMIZER, Profiler, Quality, Table, Task  # noqa: E402
from perfmodel_tools.progress import Progress  # noqa: E402

BUSY = "graph,batch,dtype,layout,mode,optimizer,step_ms,seconds,power_w,busy_ms,kernels".split(",")
INSTANT_POWER = 186     # NVML_FI_DEV_POWER_INSTANT
PERIOD_S = 0.025
LM = str(ROOT / "bench" / "lm.py")
HEAVY = {"vit_h_14", "regnet_y_128gf", "efficientnet_b6", "efficientnet_b7", "efficientnet_v2_l"}
TIMM = """resnet50d resnext50_32x4d res2next50 ecaresnet26t resnest50d skresnext50_32x4d selecsls42b ese_vovnet39b hardcorenas_a fbnetc_100 mnasnet_100
tf_efficientnet_lite0 mixnet_s mobilenetv4_conv_small mobilenetv4_hybrid_medium mobileone_s1 fastvit_t8 efficientformer_l1 efficientformerv2_s1 inception_v4
inception_resnet_v2 dla34 lcnet_100 regnetz_b16 resnetaa50d resnetrs50 convnext_pico convnextv2_nano deit3_small_patch16_224 beit_base_patch16_224
swinv2_cr_tiny_224 gcvit_tiny gcresnet50t lambda_resnet26t halonet26t eca_botnext26ts_256 mvitv2_tiny volo_d1_224 crossvit_small_240 convit_small tnt_s_patch16_224
gmlp_s16_224 resmlp_24_224 sequencer2d_s maxvit_tiny_rw_224 pvt_v2_b1 edgenext_x_small mobilevitv2_100 tinynet_a spnasnet_100 dm_nfnet_f0 nfnet_l0 eca_nfnet_l0
nf_regnet_b1 cs3darknet_m cspresnet50 cspresnext50 focalnet_tiny_srf davit_tiny inception_next_tiny caformer_s18 convformer_s18 repghostnet_100 repvit_m1
tiny_vit_5m_224 vit_small_patch16_224 vit_base_patch32_224 vit_relpos_small_patch16_224 vit_small_r26_s32_224 eva02_tiny_patch14_224 hgnet_small hgnetv2_b1
ghostnetv2_100 starnet_s1 nextvit_small hiera_tiny_224 twins_pcpvt_small xcit_nano_12_p16_224 visformer_tiny pit_ti_224 poolformerv2_s12 rdnet_tiny mambaout_tiny
efficientvit_b1 efficientvit_m2 ecaresnet50d convmixer_768_32 deit_small_patch16_224 mixer_b16_224 cait_xxs24_224 xcit_small_12_p16_224 dla60 res2net50_26w_4s dpn68
gernet_l repvgg_b0 cspdarknet53 coat_lite_small edgenext_small rexnet_100 tresnet_m nest_tiny pit_s_224""".split()
LENGTHS = {"t5": (256,), "distilbert": (256, 512), "gpt2": (512,), "opt": (512,), "mobilebert": (128,), "xlm-roberta": (256,), "camembert": (128,), "deberta": (256,),
           "bart": (256,), "pegasus": (128,), "funnel": (256,), "squeezebert": (128,), "nystromformer": (512,), "mpnet": (256,), "fnet": (512,), "convbert": (256,),
           "ernie": (512,), "roformer": (256,), "m2m_100": (128,), "swin": (None,), "swinv2": (None,), "beit": (None,), "dinov2": (None,), "vit_mae": (None,),
           "focalnet": (None,), "vit_msn": (None,), "yolos": (None,), "pvt": (None,)}
LMS = {"gpt2_124m": ((512, 8), (1024, 8)), "gpt2_355m": ((512, 8),), "llama_160m": ((512, 16), (1024, 8)), "llama_1b": ((1024, 4),), "llama_3b": ((1024, 2),)}
WAYS = (("amp", "nhwc", 0.5), ("amp", "nchw", 0.4), ("tf32", "nchw", 0.2), ("tf32", "nhwc", 0.12), ("fp32", "nchw", 0.1), ("bf16", "nhwc", 0.15), ("bf16", "nchw", 0.05))


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


class BusyProfiler(Profiler):
    """A profiler that writes down power and busy time beside the time of a step."""

    def __init__(self, meter, file, *args):
        super().__init__(*args)
        self._meter, self._file = meter, file

    def _fits(self, spec, task):
        return True         # a card of this size has room for what is drawn here, and what has none is told by the device

    def _count(self, spec):
        return {"flops": 1, "elements": 1, "params": 1}

    def _result(self, spec, runner, task, label):
        self._measured = super()._result(spec, runner, task, label)
        return self._measured

    def _keep(self, row, again):
        super()._keep(row, again)
        result = self._measured
        seconds = result.step_ms * result.steps / 1000
        watts = self._meter.mean(result.ended_at - seconds, result.ended_at)
        csv.writer(self._file).writerow([row[name] for name in BUSY[:7]] + [f"{seconds:.2f}", "" if watts is None else f"{watts:.0f}",
                                                                           "" if result.busy_ms is None else f"{result.busy_ms:.4f}", result.kernels])
        self._file.flush()


def like(path):
    """The configurations of a table of profiles."""
    origins = {"torchvision": "torchvision:", "timm": "timm:", "transformers": "transformers:", "perfmodel_tools.zoo": "zoo:", "lm.py": LM + ":"}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            origin = origins.get(row["source"].rpartition("; ")[2].split(" ")[0])
            size = re.fullmatch(r"[^@]*@s?([0-9]+)( .*)?", row["graph"])
            if origin:
                yield Task(origin + row["model"], int(size.group(1)) if size and origin != "timm:" else None, int(row["batch"]), row["dtype"], row["layout"],
                           row["optimizer"], row["mode"])


def images(rng, names, batches):
    for name in names:
        for dtype, layout, share in WAYS:
            if rng.random() < share:
                yield from (Task(name, None, batch, dtype, layout) for batch in rng.sample(batches, 2))


def sequences(rng):
    for name, lengths in LENGTHS.items():
        for length in lengths:
            for dtype in rng.sample(("amp", "bf16", "tf32"), 2):
                for batch in rng.sample([4, 8, 16, 32, 64], 2):
                    yield Task("transformers:" + name, length, batch, dtype, "nchw", rng.choice(("adamw", "sgd_momentum")))


def language_models():
    for name, cases in LMS.items():
        for length, batch in cases:
            yield from (Task(f"{LM}:{name}", length, batch, dtype, "nchw", "adamw") for dtype in ("amp", "bf16"))


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


def drawn_sets(rng, path):
    """(share of the time, tasks) of each set; a network of LIKE comes in the first set alone."""
    same = list(like(path)) if path else []
    known = {models.split_name(task.name) for task in same}
    vision = [name for name in models.torchvision_names() if name not in HEAVY]
    new = ((0.14, images(rng, vision, [8, 32, 64, 128, 256])), (0.24, images(rng, ["timm:" + name for name in TIMM], [16, 32, 64, 128])),
           (0.15, sequences(rng)), (0.08, language_models()), (0.12, of_the_zoo(rng)), (0.07, passes(rng)))
    sets = [(share, [task for task in tasks if task.mode == "inference" or LM in task.name or models.split_name(task.name) not in known])
            for share, tasks in new]
    total = sum(share for share, _ in sets)
    return ([(0.45, same)] if same else []) + [((0.55 if same else 1) * share / total, tasks) for share, tasks in sets]


def graph_line(what):
    """A line of NDJSON, or what is wrong."""
    try:
        return export.to_line(export.export_graph(models.resolve(*what)))
    except Exception as err:                # whatever a network raises
        return f"{what}: {err}"


def is_among(names, what):
    """Whether the graph of (model, size) has one of the names."""
    try:
        return models.resolve(*what).graph in names
    except (models.ModelError, ValueError):
        return False


def write_graphs(out, sets):
    with open(out / "profiles.csv", newline="", encoding="utf-8") as file:
        measured = {row["graph"] for row in csv.DictReader(file)}
    drawn = sorted({(task.name, task.size) for _, tasks in sets for task in tasks}, key=str)
    wanted = [what for what in drawn if is_among(measured, what)]
    with multiprocessing.get_context("fork").Pool(initializer=torch.set_num_threads, initargs=(1,)) as pool, \
            open(out / "graphs.ndjson", "w", encoding="utf-8") as file:
        for line in pool.imap_unordered(graph_line, wanted):
            (file if line.startswith("{") else sys.stderr).write(line if line.startswith("{") else line[:300] + "\n")
            file.flush()


def main():
    if not 2 <= len(sys.argv) <= 4 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit("usage: bench/gpu_campaign.py OUT_DIR [MINUTES | graphs] [LIKE], OUT_DIR a folder that exists")
    out, what, path = pathlib.Path(sys.argv[1]), (sys.argv[2:] + ["10"])[0], (sys.argv[3:] + [None])[0]
    rng = random.Random(20261127)
    sets = drawn_sets(rng, path)
    if what == "graphs":
        write_graphs(out, sets)
        return
    device = open_device("cuda", 1)
    device.search_kernels(False)
    meter = Meter()
    meter.start()
    limits = measuring.Limits(warmup=6, warmup_s=0.2, steps=25, min_steps=5, row_s=0.45, busy=True)
    begin, spent = time.monotonic(), 0.0
    with open(out / "busy.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow(BUSY)
        for share, drawn in sets:
            spent += share
            tasks = profile.in_visits(drawn, rng)
            BusyProfiler(meter, file, device, Table(str(out / "profiles.csv")), limits, profile.default_framework(device), begin + 60 * float(what) * spent,
                         Progress(len(tasks), False), Quality(0)).run(tasks)


if __name__ == "__main__":
    main()
