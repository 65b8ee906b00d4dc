"""The tables of the accuracy benchmark, on results made up here."""
import os
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "bench", "accuracy"))

import explain_neusight  # noqa: E402
import report  # noqa: E402

HEAD = "graph,family,structure,gpu,batch,layout,framework,step_ms,predicted_ms\n"


def write_cell(folder, label, fold, factor, split="structure", trust=False):
    facts = {"set": "data", "split": split, "fold": fold, "label": label, "split_seed": 1, "seed": 42, "n_train": 8,
             "structures": 4, "train_s": 2, "predict_us": 10, "blas": "none", "source": "s"}
    with open(os.path.join(folder, f"data__{split}__{fold}__{label}.csv"), "w") as f:
        f.writelines(f"# {k}={v}\n" for k, v in facts.items())
        f.write(HEAD.replace("\n", ",low_ms,high_ms,in_domain\n") if trust else HEAD)
        for i in range(5):
            f.write(f"net{fold}{i},net,{fold}{i},cpu,1,nchw,x,{100 + i},{(100 + i) * factor}")
            f.write((f",{90 + i},{105 if i else 99},{int(i > 0)}\n" if i < 4 else ",,,1\n") if trust else "\n")


class Report(unittest.TestCase):
    def test_errors(self):
        e = report.errors([("f", "s", "nchw", 100, 110), ("f", "s", "nchw", 200, 180)])
        self.assertAlmostEqual(e["mape"], 10)
        self.assertAlmostEqual(e["mae"], 15)
        self.assertAlmostEqual(e["rmse"], 250 ** 0.5)
        self.assertAlmostEqual(e["bias"], 0)

    def test_margin_and_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            for fold in "01":
                write_cell(folder, "mdot", fold, 1.01)
                write_cell(folder, "linear", fold, 1.1, trust=True)
                write_cell(folder, "roofline", fold, 0.96)
                write_cell(folder, "mdot@50", fold, 1.02)
                write_cell(folder, "linear~0.9", fold, 1.1, trust=True)
            write_cell(folder, "ets", "0", 1.0)
            found = report.load(folder)
            text = report.render(folder)
        methods = report.complete(found["data", "structure"])
        self.assertNotIn("ets", methods)
        best, theirs, ours, below, low, high = report.margin(methods, ["linear", "roofline"], "mae")
        self.assertEqual(best, "roofline")
        self.assertAlmostEqual(below, 75)
        self.assertAlmostEqual(low, 75)
        self.assertAlmostEqual(theirs / ours, 4)
        self.assertIn("| mdot | 10 | 1.0 | 1.0 | 1.0 | 1.0 / 1.0 / 1.0 | 100 | +1.0 | 2.00 | 10 |", text)
        self.assertIn("ets (1 of 2 folds)", text)
        self.assertIn("- CPU core: networks: ets\n", text)
        self.assertIn("| CPU core: networks | 10 | **1.0** | 4.0 | 10.0 | - |", text)
        self.assertIn("| CPU core | 50 % | 4 | 8 | 10 | 2.00 |", text)
        # 3 of 4 hold, the other is out of the domain; a row without an interval does not count
        self.assertIn("| CPU core: networks | linear | 2 | 8 | 75.0 |  | 11 | 75 | 10.0 | 10.0 |", text)
        self.assertIn("| CPU core | net04 | 1 | 104 | 105 | 10 | 1.0 |", text)

    def test_remeasured(self):
        with tempfile.TemporaryDirectory() as folder:
            write_cell(folder, "mdot", "0", 1.02)
            path = os.path.join(folder, "profiles.csv")
            with open(path, "w") as f:
                f.write("graph,gpu,batch,layout,framework,step_ms\n")
                f.writelines(f"net0{i},cpu,1,nchw,{report.BEFORE},{50 + i}\n" for i in range(3))
                f.write("net03,cpu,1,nchw,pytorch 1.12 cu113,1\n")
            found = {("timm-nchw", "structure"): report.load(folder)["data", "structure"]}
            text = report.remeasured(found, path)
        self.assertIn(f"| nchw | its measurement under {report.BEFORE}, times 1.980 | 3 | 0.65 | 0.7 | 0.8 |", text)
        self.assertIn("| nchw | mdot, which has not seen the network | 3 | 2.00 | 2.0 | 2.0 |", text)


class Explain(unittest.TestCase):
    def test_ranks(self):
        self.assertEqual(explain_neusight.ranks([3, 1, 1, 2]), [3, 0.5, 0.5, 2])
        self.assertAlmostEqual(explain_neusight.spearman([1, 2, 3, 4], [10, 20, 30, 50]), 1)
        self.assertAlmostEqual(explain_neusight.spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1)

    def test_shares(self):
        groups = {0: {"nodes": [1, 2], "class": "gemm", "one": 3.0, "roofline": 1.0},
                  1: {"nodes": [3], "class": "norm", "one": 2.0, "roofline": 1.0},
                  2: {"nodes": [4, 5], "class": "norm", "one": 9.0, "roofline": 1.0},
                  -1: {"nodes": [-1], "class": "", "one": 1.0, "roofline": 0.0}}
        f = explain_neusight.compare(groups, {1: 2.0, 2: 2.0, 3: 4.0, 4: 1.0, 9: 1.0}, "one")
        self.assertEqual((f["groups"], f["of"]), (2, 3))
        self.assertAlmostEqual(f["matched"], 80)
        self.assertAlmostEqual(f["misplaced"], 25)
        self.assertAlmostEqual(f["share"], 25)


if __name__ == "__main__":
    unittest.main()
