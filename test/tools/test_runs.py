"""Tests of the converter of runs. Run: python3 -m unittest discover -s test/tools"""

import csv
import io
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

from perfmodel_tools.__main__ import main

MLFLOW = '''run_id,status,start_time,end_time,metrics.step_time,metrics.throughput,params.model,params.gpu,params.batch_size,params.amp
a1,FINISHED,2026-03-01 08:00:00+00:00,2026-03-01 09:00:00+00:00,0.0851,752,resnet50@224,RTX 3090,64,amp
a2,FAILED,2026-03-01 08:00:00+00:00,2026-03-01 08:01:00+00:00,0.2,10,resnet50@224,RTX 3090,64,amp
a3,FINISHED,2026-03-02 08:00:00+00:00,2026-03-02 09:00:00+00:00,,,resnet50@224,RTX 3090,64,amp
a4,FINISHED,2026-03-02 08:00:00+00:00,2026-03-02 09:00:00+00:00,nan,100,resnet50@224,RTX 3090,64,amp
a5,FINISHED,2026-03-02 08:00:00+00:00,2026-03-02 09:00:00+00:00,0.1,640,"net, ""b""",,64,amp
'''
WANDB = '''"Name","State","Created","model","batch_size","step_ms"
"run-1","finished","2026-03-01T08:00:00.000Z","vgg16@224","32.0","34.5"
"run-2","crashed","2026-03-01T08:00:00.000Z","vgg16@224","32","34.5"
"run-3","finished","2026-03-01T08:00:00.000Z","vgg16@224","0","34.5"
'''


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def convert(self, text, *arguments):
        """(exit code, rows, what was said)"""
        path = os.path.join(self.folder, "runs.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(["runs", path, *arguments])
        return code, list(csv.DictReader(io.StringIO(out.getvalue()))), err.getvalue()

    def test_mlflow(self):
        code, rows, said = self.convert(MLFLOW, "--graph", "params.model", "--gpu", "params.gpu", "--batch", "params.batch_size", "--dtype", "params.amp",
                                        "--step-s", "metrics.step_time")
        self.assertEqual(code, 0)
        self.assertEqual([row["step_ms"] for row in rows], ["85.1"])
        self.assertEqual((rows[0]["graph"], rows[0]["gpu"], rows[0]["batch"], rows[0]["dtype"]), ("resnet50@224", "RTX 3090", "64", "amp"))
        self.assertEqual(rows[0]["measured_at"], "2026-03-01 09:00:00+00:00")
        self.assertIn("1 of 5 runs; 1 not finished; 3 without", said)

    def test_throughput(self):
        _, rows, _ = self.convert(MLFLOW, "--graph", "params.model", "--gpu", "=A100", "--batch", "params.batch_size", "--world-size", "=4", "--samples-per-s", "metrics.throughput")
        self.assertEqual([row["step_ms"] for row in rows], ["340.426", "2560", "400"])
        self.assertEqual({row["world_size"] for row in rows}, {"4"})
        self.assertEqual(rows[2]["graph"], 'net, "b"')

    def test_wandb(self):
        output = os.path.join(self.folder, "profiles.csv")
        code, _, said = self.convert(WANDB, "--graph", "model", "--gpu", "=RTX 3090", "--batch", "batch_size", "--step-ms", "step_ms", "-o", output)
        self.assertEqual(code, 0)
        with open(output, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["batch"], row["step_ms"], row["measured_at"]) for row in rows], [("32", "34.5", "2026-03-01T08:00:00.000Z")])
        self.assertIn("1 of 3 runs", said)

    def test_whole_numbers(self):
        text = "\ufeffmodel,gpus,b,ms\nvgg16@224,8.0,32.0,34.5\nvgg16@224,8,32.5,34.5\nvgg16@224,0.5,32,34.5\nvgg16@224,,32,34.5\n"
        _, rows, said = self.convert(text, "--graph", "model", "--gpu", "=T4", "--batch", "b", "--world-size", "gpus", "--step-ms", "ms")
        self.assertEqual([(row["batch"], row["world_size"], row["nodes"]) for row in rows], [("32", "8", ""), ("32", "1", "")])
        self.assertIn("2 of 4 runs; 2 without", said)

    def test_errors(self):
        for text, arguments, expected in (
                (WANDB, ("--graph", "nothing", "--gpu", "=T4", "--batch", "batch_size", "--step-ms", "step_ms"), "has no column 'nothing'; it has Name"),
                (WANDB, ("--graph", "model", "--batch", "batch_size", "--step-ms", "step_ms"), "say which GPU"),
                ("Name\n", ("--graph", "model", "--gpu", "=T4", "--batch", "b", "--step-ms", "s"), "has no runs"),
                ("model,b,ms\nvgg16@224,32,34.5\nvgg16@224,64,70,extra\n", ("--graph", "model", "--gpu", "=T4", "--batch", "b", "--step-ms", "ms"),
                 "run 2: more fields than the header names")):
            code, rows, said = self.convert(text, *arguments)
            self.assertEqual((code, rows), (2, []))
            self.assertIn(expected, said)


if __name__ == "__main__":
    unittest.main()
