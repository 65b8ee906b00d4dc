"""Tests of the profiler. Run: python3 -m unittest discover -s test/tools"""

import csv
import dataclasses
import io
import json
import os
import sys
import tempfile
import unittest
import warnings
from contextlib import redirect_stderr
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

try:
    import torch
except ImportError as err:
    raise unittest.SkipTest(f"PyTorch is not installed: {err}")

from perfmodel_tools import device, measure, models, profile
from perfmodel_tools.__main__ import main


def setUpModule():
    """unittest shows what other packages say of each other; the command line does not."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="(?!perfmodel_tools)")


TINY = """
import torch
def tiny():
    layers = [torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 8, 8)
"""

FAILING = """
made = []
def unmakeable():
    made.append(1)
    if len(made) > 1:
        raise TypeError("architectures is None")
    return tiny()

class NoBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, gradient):
        raise KeyError("gradient")

class Last(torch.nn.Module):
    def forward(self, x):
        return NoBackward.apply(x)

def no_backward():
    layers, inputs = tiny()
    return torch.nn.Sequential(*layers, Last()), inputs
"""


class Statistics(unittest.TestCase):
    def test_outliers_do_not_count(self):
        self.assertEqual(measure.middle_median([10, 11, 12, 13, 14, 15, 16, 900]), 13.5)
        self.assertEqual(measure.middle_median([7]), 7)

    def test_spread_is_the_interquartile_range_over_the_median(self):
        self.assertAlmostEqual(measure.spread([1, 2, 3, 4, 5]), 2 / 3)
        self.assertEqual(measure.spread([4.0, 4.0, 4.0]), 0)


class Device(unittest.TestCase):
    def test_cpu_name_tells_the_threads(self):
        self.assertTrue(device.cpu_name(1).endswith("(1 thread)"))
        self.assertTrue(device.cpu_name(4).endswith("(4 threads)"))

    def test_unknown_device(self):
        with self.assertRaisesRegex(RuntimeError, "expected cpu"):
            device.open_device("abacus", 1)
        for name in ("cuda:x", "cuda:", "cudax"):
            with self.assertRaisesRegex(RuntimeError, f"unknown device '{name}': expected cpu"):
                device.open_device(name, 1)

    def test_busy_time_counts_what_overlaps_once(self):
        self.assertEqual(device.busy_time([]), (0, 0))
        self.assertEqual(device.busy_time([(5_000_000, 9_000_000), (1_000_000, 2_000_000), (6_000_000, 8_000_000), (8_500_000, 10_000_000)]), (6.0, 4))

    def test_busy_time_is_measured_in_one_more_step(self):
        def busy(step):
            step()
            return 4.0, 7

        def measured(limits):
            runner = mock.Mock(parts=("step_ms",))
            runner.device.stopwatch.return_value.milliseconds.return_value = [10.0]
            runner.device.busy.side_effect = busy
            result = measure.measure(runner, None, limits)
            return result.busy_ms, result.kernels, runner.step.call_count

        limits = measure.Limits(warmup=1, warmup_s=0, steps=2)
        self.assertEqual(measured(limits), (None, None, 3))
        self.assertEqual(measured(dataclasses.replace(limits, busy=True)), (4.0, 7, 4))

    def test_a_row_is_not_lost_where_busy_time_cannot_be_told(self):
        with mock.patch.object(torch.profiler, "profile", side_effect=RuntimeError("no CUPTI")):
            self.assertEqual(device.CudaDevice.busy(mock.Mock(), lambda: None), (None, None))


class Plan(unittest.TestCase):
    def plan(self, seed, sample=1.0):
        return profile.plan(["a", "b", "c"], [64, 96], [4, 1, 2], ["fp32"], ["nchw"], sample, seed)

    def test_the_seed_decides_the_order(self):
        self.assertEqual(self.plan(1), self.plan(1))
        self.assertNotEqual(self.plan(1), self.plan(2))
        self.assertEqual(set(self.plan(1)), set(self.plan(2)))

    def test_visits_stay_together_with_small_batches_first(self):
        tasks = self.plan(3)
        self.assertEqual([t.batch for t in tasks], 6 * [1, 2, 4])
        for first in range(0, len(tasks), 3):
            self.assertEqual(len({t.visit for t in tasks[first:first + 3]}), 1)

    def test_sample(self):
        self.assertTrue(0 < len(self.plan(1, 0.5)) < 18)


class FromPlan(unittest.TestCase):
    """What a plan may ask for; nothing is measured."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def profile(self, plan, *more):
        """Exit status and stderr."""
        path = os.path.join(self.folder, "plan.csv")
        with open(path, "w") as file:
            file.write(plan)
        err = io.StringIO()
        with redirect_stderr(err):
            status = main(["profile", "--plan", path, "-o", os.path.join(self.folder, "out.csv"), "--max-step", "0.000000001", *more])
        return status, err.getvalue()

    def test_formats_that_do_not_exist(self):
        for column, value, reason in (("dtype", "fp64", "unknown number format 'fp64': there is fp32, tf32, amp, bf16, fp16"),
                                      ("layout", "nchv", "unknown layout 'nchv': there is nchw, nhwc")):
            status, err = self.profile(f"graph,batch,{column}\nlenet@28,1,\nlenet@28,2,{value}\n")
            self.assertEqual(status, 2)
            self.assertIn(reason, err)
            self.assertEqual(os.listdir(self.folder), ["plan.csv"])

    def test_formats_that_the_device_lacks(self):
        status, err = self.profile("graph,batch,dtype\nlenet@28,1,\nlenet@28,2,tf32\nlenet@28,3,fp16\n")
        self.assertEqual(status, 0)
        self.assertEqual([line.split(":")[0] for line in err.splitlines() if "no such number format" in line],
                         ["skipped fp16", "skipped tf32"])
        self.assertIn("1 configurations", err)

    def test_one_name_for_all(self):
        status, err = self.profile("graph,batch\nlenet@28,1\nmlp_small@32,1\n", "--name", "mine@1")
        self.assertEqual(status, 2)
        self.assertIn("--name and --plan exclude each other", err)

    def test_other_files(self):
        for text in ("graph\nlenet@28\n", "graph,batch\nlenet@28\n", "graph,batch\ndetector@v2,1\n"):
            status, err = self.profile(text)
            self.assertEqual((status, err.count("\n")), (2, 1), err)
            self.assertIn("plan.csv", err)


class Tasks(unittest.TestCase):
    """A misspelt model costs itself and nothing else."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        table = profile.Table(os.path.join(folder.name, "profiles.csv"))
        self.profiler = profile.Profiler(device.CpuDevice(1), table, measure.Limits(), "pytorch test", float("inf"),
                                         profile.Progress(1, quiet=True))
        self.tasks = [profile.Task(name, 28, batch, "fp32", "nchw") for name in ("zoo:lenett", "zoo:lenet") for batch in (1, 2)]

    def test_the_graph_of_a_row(self):
        line = profile._graph_line(self.profiler, self.tasks)
        self.assertEqual(json.loads(line({"graph": "lenet@28"}))["name"], "lenet@28")
        with self.assertRaisesRegex(models.ModelError, "no model makes the graph 'lenett@28'"):
            line({"graph": "lenett@28"})

    def test_a_graph_that_cannot_be_exported(self):
        with mock.patch.object(profile, "export_graph", side_effect=profile.ExportError("no way")):
            with self.assertRaisesRegex(models.ModelError, "no way"):
                profile._graph_line(self.profiler, self.tasks)({"graph": "lenet@28"})

    def test_noisy_rows_are_measured_again(self):
        spec, task = models.resolve("lenet", 28), self.tasks[3]
        self.profiler.table.rows = [{**self.profiler._row(spec, task, None), "spread": "0.5"}]
        seen = []
        self.profiler._visit = lambda group, again: seen.append((group, again))
        self.profiler.remeasure(self.tasks, 0.25)
        self.assertEqual(seen, [([task], True)])


class Runs(unittest.TestCase):
    """Real measurements of a tiny model."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = os.path.join(folder.name, "tiny.py")
        self.csv = os.path.join(folder.name, "profiles.csv")
        with open(self.model, "w") as file:
            file.write(TINY)

    def run_profile(self, *more, functions=("tiny",)):
        err = io.StringIO()
        with redirect_stderr(err):
            status = main(["profile", *(f"{self.model}:{name}" for name in functions), "-o", self.csv, "--warmup", "1", "--steps", "4",
                           "--max-spread", "0", *more])
        self.assertEqual(status, 0)
        return err.getvalue()

    def rows(self):
        with open(self.csv, newline="") as file:
            return list(csv.DictReader(file))

    def test_rows_are_complete(self):
        log = self.run_profile("--batch", "1", "3", "--framework", "pytorch test")
        rows = self.rows()
        self.assertEqual(sorted(row["batch"] for row in rows), ["1", "3"])
        self.assertEqual(list(rows[0]), profile.COLUMNS)
        for row in rows:
            self.assertEqual((row["graph"], row["mode"], row["framework"]), ("tiny", "train", "pytorch test"))
            parts = [float(row[name]) for name in ("forward_ms", "backward_ms", "update_ms")]
            self.assertTrue(all(part > 0 for part in parts))
            self.assertGreater(float(row["step_ms"]), max(parts))
            self.assertRegex(row["measured_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertIn("2/2", log)

    def test_resumes_and_drops_half_a_line(self):
        self.run_profile("--batch", "1", "2")
        before = self.rows()
        with open(self.csv, "a") as file:
            file.write("tiny,tiny,some gp")
        log = self.run_profile("--batch", "1", "2", "4")
        after = self.rows()
        self.assertEqual(after[:2], before, "rows already there stay as they are")
        self.assertEqual(sorted(row["batch"] for row in after), ["1", "2", "4"])
        self.assertIn("2 rows present", log)

    def test_time_limit_of_a_step(self):
        log = self.run_profile("--batch", "2", "--max-step", "0.0000001")
        self.assertEqual(self.rows(), [])
        self.assertIn("skipped tiny batch 2: a step would take", log)

    def test_channels_last(self):
        self.run_profile("--batch", "2", "--layout", "nchw", "nhwc")
        self.assertEqual(sorted(row["layout"] for row in self.rows()), ["nchw", "nhwc"])

    def test_optimizers(self):
        self.run_profile("--batch", "2", "--optimizer", "sgd", "sgd_momentum", "adam", "adamw")
        self.assertEqual(sorted(row["optimizer"] for row in self.rows()), ["adam", "adamw", "sgd", "sgd_momentum"])
        log = self.run_profile("--batch", "2", "--optimizer", "adam")
        self.assertIn("1 rows present", log)

    def test_inference(self):
        self.run_profile("--batch", "2", "3", "--mode", "train", "inference", "--optimizer", "sgd", "adam")
        passes = [row for row in self.rows() if row["mode"] == "inference"]
        self.assertEqual(sorted((row["batch"], row["optimizer"]) for row in passes), [("2", "none"), ("3", "none")])
        self.assertEqual(len(self.rows()), 6, "a pass is measured once, whatever the optimizers")
        for row in passes:
            self.assertGreater(float(row["step_ms"]), 0)
            self.assertEqual((row["forward_ms"], row["backward_ms"], row["update_ms"]), ("", "", ""))
        log = self.run_profile("--batch", "2", "--mode", "inference", "--recheck", "6")
        self.assertIn("1 rows present", log)
        self.assertEqual(log.count("in the table"), 6)

    def test_recheck_that_measures_nothing_fails(self):
        self.run_profile("--batch", "2", "--name", "mine")
        with open(self.csv) as file:
            old = "\n".join(line.rsplit(",", len(profile.BRACKET))[0] for line in file.read().splitlines()) + "\n"
        with open(self.csv, "w") as file:
            file.write(old)                     # the table of an earlier version
        for more, reason in (([], "1 of 1 rows are of models that are not known, such as that of mine: name their models"),
                             (["--framework", "pytorch 99"], "the table has no rows of")):
            with redirect_stderr(io.StringIO()) as err:
                self.assertEqual(main(["profile", "-o", self.csv, "--recheck", "2", *more]), 1)
            self.assertIn(reason, err.getvalue())
        with open(self.csv) as file:
            self.assertEqual(file.read(), old, "nothing is stored")
        with mock.patch.object(profile.Quality, "reason", lambda quality, result: ""):    # whatever else runs here
            self.assertIn("check: 1 rows measured again", self.run_profile("--batch", "2", "--name", "mine", "--recheck", "2"))

    def test_inference_runs_without_gradients_and_dropout(self):
        seen = []
        module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.9))
        module.register_forward_hook(lambda _, given, out: seen.append((module.training, out.requires_grad)))
        runner = measure.make_runner(module, device.CpuDevice(1), "fp32", "nchw", "none", "inference")
        result = measure.measure(runner, torch.ones(2, 4), measure.Limits(warmup=1, warmup_s=0, steps=2))
        self.assertEqual(set(seen), {(False, False)})
        self.assertEqual((result.steps, result.parts), (2, {}))

    def test_number_formats(self):
        log = self.run_profile("--batch", "2", "--dtype", "fp32", "amp", "tf32")
        self.assertEqual(sorted(row["dtype"] for row in self.rows()), ["amp", "fp32"])
        self.assertIn("skipped tf32", log)

    def test_no_model(self):
        with redirect_stderr(io.StringIO()) as err:
            self.assertEqual(main(["profile", "-o", self.csv]), 2)
        self.assertIn("no model named", err.getvalue())
        self.assertFalse(os.path.exists(self.csv))

    def test_noisy_rows_are_measured_again(self):
        self.run_profile("--batch", "2")
        log = self.run_profile("--batch", "2", "--max-spread", "0.000000001")
        self.assertIn("measuring 1 rows", log)
        self.assertEqual(len(self.rows()), 1)

    def run_plan(self, *more):
        plan = os.path.join(os.path.dirname(self.csv), "plan.csv")
        with open(plan, "w") as file:
            file.write("graph,batch,layout\nlenet@28,1,\nlenet@28,3,nhwc\nmlp_small@32,2,\n")
        err = io.StringIO()
        with redirect_stderr(err):
            status = main(["profile", "--plan", plan, "-o", self.csv, "--warmup", "1", "--steps", "4", *more])
        self.assertEqual(status, 0)
        return err.getvalue()

    def test_plan(self):
        self.run_plan("--max-spread", "0")
        self.assertEqual(sorted((row["graph"], row["batch"], row["layout"]) for row in self.rows()),
                         [("lenet@28", "1", "nchw"), ("lenet@28", "3", "nhwc"), ("mlp_small@32", "2", "nchw")])
        log = self.run_plan("--max-spread", "0", "--recheck", "2")
        self.assertEqual(log.count("in the table"), 2)
        self.assertEqual(len(self.rows()), 3)

    def test_passes_keep_the_fastest_and_can_be_interrupted(self):
        self.run_plan("--max-spread", "0", "--passes", "2")
        with open(self.csv + ".passes", newline="") as file:
            times = {}
            for row in csv.DictReader(file):
                times.setdefault(profile.Table.key(row), []).append(float(row["step_ms"]))
        self.assertEqual([len(two) for two in times.values()], [2, 2, 2])
        for row in self.rows():
            self.assertEqual(float(row["step_ms"]), min(times[profile.Table.key(row)]))
        before = self.rows()
        self.assertIn("rows present", self.run_plan("--max-spread", "0", "--passes", "2"))
        self.assertEqual(self.rows(), before)

    def test_strict_leaves_out_what_stays_disturbed(self):
        log = self.run_plan("--max-spread", "0.000000001", "--strict", "--retries", "1")
        self.assertEqual(self.rows(), [])
        self.assertIn("left out", log)

    def test_other_columns_are_refused_and_left_alone(self):
        for text in ("a,b\n1,2\n", "a,b\n1,2", "a text of one line", ",".join(profile.COLUMNS) + ",mine\n1,2", "graph,model\n1"):
            with open(self.csv, "w") as file:
                file.write(text)
            with self.assertRaisesRegex(SystemExit, "has other columns than this version writes"):
                profile.Table(self.csv)
            with open(self.csv) as file:
                self.assertEqual(file.read(), text)

    def test_half_a_header_and_one_of_another_program(self):
        header = ",".join(profile.COLUMNS)
        for text, rows in (("", 0), (header[:30], 0), (header, 0), (header.replace(",", '","').join('""') + "\r\n" + (len(profile.COLUMNS) - 1) * "1," + "1\r\n", 1)):
            with open(self.csv, "w", newline="") as file:
                file.write(text)
            table = profile.Table(self.csv)
            self.assertEqual(len(table.rows), rows)
            with open(self.csv, newline="") as file:
                self.assertEqual(next(csv.reader(file)), profile.COLUMNS)

    def test_a_file_of_an_earlier_version_goes_on(self):
        self.run_profile("--batch", "1")
        with open(self.csv, newline="") as file:
            rows = [row[:-2] for row in csv.reader(file)]
        with open(self.csv, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        self.assertIn("1 rows present", self.run_profile("--batch", "1", "2"))
        self.assertEqual([(list(row), row["batch"], row["oom_batch"]) for row in self.rows()],
                         [(profile.COLUMNS, "1", ""), (profile.COLUMNS, "2", "")])

    def run_with_memory_for(self, most, *more):
        """Steps of more than MOST samples run out of memory."""
        step = measure.Trainer.step

        def limited(trainer, inputs, watch):
            if len(inputs) > most:
                raise RuntimeError("[enforce fail at alloc_cpu.cpp:66] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")
            step(trainer, inputs, watch)

        with mock.patch.object(measure.Trainer, "step", limited):
            return self.run_profile(*more)

    def brackets(self):
        return {row["batch"]: (row["fits_batch"], row["oom_batch"]) for row in self.rows()}

    def test_out_of_memory(self):
        log = self.run_with_memory_for(3, "--batch", "1", "2", "4", "8")
        self.assertEqual(self.brackets(), {"1": ("", ""), "2": ("2", "4")})
        self.assertIn("tiny batch 4 fp32 nchw sgd_momentum: does not fit in memory", log)
        self.assertIn("tiny batch 8: batch 4 does not fit in memory", log)
        # a batch between the two narrows the bracket; another layout has none
        self.run_with_memory_for(3, "--batch", "3")
        self.assertEqual(self.brackets(), {"1": ("", ""), "2": ("", ""), "3": ("3", "4")})
        self.run_profile("--batch", "2", "--layout", "nhwc")
        self.assertEqual(sorted(row["oom_batch"] for row in self.rows()), ["", "", "", "4"])

    def test_out_of_memory_while_the_others_are_put_off(self):
        with mock.patch.object(profile.Quality, "reason", lambda quality, result: "disturbed"):
            log = self.run_with_memory_for(3, "--batch", "1", "2", "4")
        self.assertEqual(log.count("put off\n"), 3)
        self.assertEqual(self.brackets(), {"1": ("", ""), "2": ("2", "4")})

    def test_not_even_one_fits(self):
        self.run_with_memory_for(0, "--batch", "1", "2")
        self.assertEqual(self.rows(), [])

    def test_a_network_that_fails_does_not_end_the_others(self):
        """Whatever it raises, when it is made again for the measurement or in its backward pass."""
        with open(self.model, "a") as file:
            file.write(FAILING)
        log = self.run_profile("--batch", "1", functions=("unmakeable", "no_backward", "tiny"))
        self.assertEqual([row["graph"] for row in self.rows()], ["tiny"])
        self.assertRegex(log, r"skipped unmakeable: /.*:unmakeable\(\) failed, .*: architectures is None")
        self.assertIn("skipped no_backward batch 1 fp32 nchw sgd_momentum: KeyError: 'gradient'", log)

    def test_a_folder_that_is_not_there(self):
        with redirect_stderr(io.StringIO()) as err:
            self.assertEqual(main(["profile", self.model + ":tiny", "-o", "/nonexistent/x"]), 2)
        self.assertEqual(err.getvalue(), "perfmodel_tools: /nonexistent/x: No such file or directory\n")


if __name__ == "__main__":
    unittest.main()
