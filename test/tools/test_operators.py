"""Tests of the profiler of single operators. Run: python3 -m unittest discover -s test/tools"""

import collections
import csv
import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

try:
    import torch
except ImportError as err:
    raise unittest.SkipTest(f"PyTorch is not installed: {err}")

from perfmodel_tools import operators
from perfmodel_tools.__main__ import main
from perfmodel_tools.measure import Skip


def plan(seed=1, dtypes=("fp32",), layouts=("nchw",)):
    return operators.Plan(seed, tuple(operators.KINDS), dtypes, layouts, 1e8, 2**22)


class Drawing(unittest.TestCase):
    def test_a_number_decides_the_case(self):
        one, two = plan().draw(7), plan().draw(7)
        self.assertEqual((one[0].shapes, one[1:]), (two[0].shapes, two[1:]))
        self.assertNotEqual([plan(1).draw(n)[0].shapes for n in range(5)], [plan(2).draw(n)[0].shapes for n in range(5)])

    def test_bounds_are_kept(self):
        for number in range(300):
            case, batch, _, _ = plan().draw(number)
            count = 0
            for shape in case.shapes:
                elements = batch * case.lead
                for size in shape:
                    elements *= size
                count += elements
            self.assertLessEqual(4 * count, 2**22)
            self.assertLessEqual(batch * case.flops, 1e8)

    def test_every_kind_is_one_operator_of_the_catalogue(self):
        found = collections.Counter()
        for kind in operators.KINDS:
            for number in range(8):
                drawn = operators.Plan(3, (kind,), ("fp32",), ("nchw",), 1e8, 2**22).draw(number)
                with self.subTest(kind=kind, number=number):
                    nodes = operators.document(drawn[0], "x")["nodes"]
                    found[nodes[-1]["op"]] += 1
                    for node in nodes[:-1]:
                        self.assertEqual(node["op"], "Input")
                        self.assertEqual(node["shape"][0], drawn[0].lead)
        for op in ("Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "BatchNormalization", "LayerNormalization",
                   "GroupNormalization", "Softmax", "MaxPool", "AveragePool", "Gather", "Concat", "Dropout"):
            self.assertIn(op, found)
        self.assertFalse([op for op in found if op.startswith("aten::") and op != "aten::roll"])

    def test_the_first_format_is_drawn_for_half(self):
        drawn = [plan(1, ("fp32", "amp", "bf16"), ("nchw", "nhwc")).draw(n)[2:] for n in range(400)]
        for index, values in ((0, {"fp32": 200, "amp": 100, "bf16": 100}), (1, {"nchw": 200, "nhwc": 200})):
            count = collections.Counter(one[index] for one in drawn)
            for value, wanted in values.items():
                self.assertAlmostEqual(count[value], wanted, delta=50)

    def test_more_than_one_operator_is_passed_over(self):
        case = operators.Case(lambda: operators.Call(lambda x: x.relu().exp()), [(4,)])
        with self.assertRaisesRegex(Skip, "Relu, Exp"):
            operators.document(case, "x")


class Runs(unittest.TestCase):
    """Real measurements of small operators."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.csv = os.path.join(folder.name, "ops.csv")

    def run_ops(self, *more):
        err = io.StringIO()
        with redirect_stderr(err):
            status = main(["profile-ops", "-o", self.csv, "--row-budget", "0.002", "--max-gflop", "0.01", "--max-mb", "1",
                           "--max-spread", "1000", "--quiet", *more])
        self.assertEqual(status, 0)
        with open(self.csv, newline="") as file:
            return list(csv.DictReader(file))

    def test_rows_are_complete_and_a_second_run_goes_on(self):
        rows = self.run_ops("--count", "6")
        self.assertEqual(list(rows[0]), operators.COLUMNS)
        self.assertEqual(len(rows), 6)
        for row in rows:
            nodes = json.loads(row["operator"])["nodes"]
            self.assertEqual([node["op"] for node in nodes[:-1]], ["Input"] * (len(nodes) - 1))
            self.assertGreater(float(row["forward_ms"]), 0)
            self.assertRegex(row["source"], r"; draw 1:\d+$")
        with open(self.csv, "a") as file:
            file.write('"{""format"":""perfm')
        again = self.run_ops("--count", "9")
        self.assertEqual(again[:6], rows)
        self.assertEqual(len({row["source"] for row in again}), 9)

    def test_number_formats_and_layouts(self):
        rows = self.run_ops("--count", "8", "--kinds", "conv", "--dtype", "amp", "bf16", "--layout", "nhwc")
        self.assertEqual({row["dtype"] for row in rows}, {"amp", "bf16"})
        self.assertEqual({row["layout"] for row in rows}, {"nhwc"})

    def test_unknown_kind(self):
        with redirect_stderr(io.StringIO()) as err:
            self.assertEqual(main(["profile-ops", "--kinds", "conv", "prayer", "-o", self.csv]), 2)
        self.assertIn("unknown kind 'prayer': there is conv1x1, conv,", err.getvalue())

    def test_a_folder_that_is_not_there(self):
        with mock.patch("sys.stderr", io.StringIO()):
            self.assertEqual(main(["profile-ops", "-o", "/nonexistent/x"]), 2)

    def test_somebody_elses_file(self):
        with open(self.csv, "w") as file:
            file.write("a,b\n1,2")
        with mock.patch("sys.stderr", io.StringIO()):
            self.assertNotEqual(main(["profile-ops", "-o", self.csv]), 0)
        with open(self.csv) as file:
            self.assertEqual(file.read(), "a,b\n1,2")


if __name__ == "__main__":
    unittest.main()
