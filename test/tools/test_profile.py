"""Tests of the profiler. Run: python3 -m unittest discover -s test/tools"""

import csv
import io
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stderr

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

try:
    import torch
except ImportError as err:
    raise unittest.SkipTest(f"PyTorch is not installed: {err}")

from perfmodel_tools import device, measure, profile
from perfmodel_tools.__main__ import main

TINY = """
import torch
def tiny():
    layers = [torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 8, 8)
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


class Runs(unittest.TestCase):
    """Real measurements of a tiny model."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = os.path.join(folder.name, "tiny.py")
        self.csv = os.path.join(folder.name, "profiles.csv")
        with open(self.model, "w") as file:
            file.write(TINY)

    def run_profile(self, *more):
        err = io.StringIO()
        with redirect_stderr(err):
            status = main(["profile", self.model + ":tiny", "-o", self.csv, "--warmup", "1", "--steps", "4",
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

    def test_other_columns_are_refused(self):
        with open(self.csv, "w") as file:
            file.write("a,b\n1,2\n")
        with self.assertRaises(SystemExit):
            self.run_profile("--batch", "1")


if __name__ == "__main__":
    unittest.main()
