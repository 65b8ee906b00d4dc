"""Tests of the import into a database, with a stand-in for the server. Run: python3 -m unittest discover -s test/tools"""

import gzip
import io
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

from perfmodel_tools import database
from perfmodel_tools.__main__ import main
from perfmodel_tools.progress import Progress


class Recorder:
    """Takes statements; a graph 'one' is loaded, and no measurement is."""

    def __init__(self):
        self.statements = []

    def run(self, sql, *values):
        self.statements.append((sql, values))
        if sql.count("%s") != len(values):
            raise AssertionError(f"{sql} with {len(values)} values")
        if "fewest_nodes" in sql:
            return [(2,)]
        return [("one", 7)] if sql.startswith("SELECT name, graph_id") else []

    def inserted(self):
        """What the inserts name, and their values."""
        return [(sql[sql.index("(") + 1:sql.index(")")].split(", "), values) for sql, values in self.statements if "INSERT" in sql]

    def looked_up(self):
        return [(sql, values) for sql, values in self.statements if sql.startswith("SELECT 1")]


class Rows(unittest.TestCase):
    """Columns that a file does not have, or has empty, are the table's business."""

    def load(self, action, row):
        db = Recorder()
        self.assertEqual(action(db, [row], Progress(1, quiet=True)), 1)
        return db

    def test_a_profile_of_four_columns(self):
        db = self.load(database.import_profiles, {"graph": "one", "gpu": "T4", "batch": "8", "step_ms": "4.5"})
        self.assertEqual(db.inserted(), [(["graph_id", "gpu", "batch", "step_ms"], (7, "T4", "8", "4.5"))])
        self.assertEqual(db.looked_up()[0][1], (7, "T4", "8", "fp32", "nchw", "4.5", None, None, "train", "train", "sgd_momentum", "1", "1", None))

    def test_a_profile_with_empty_fields(self):
        db = self.load(database.import_profiles, {"graph": "one", "gpu": "T4", "batch": "8", "dtype": "", "layout": "nhwc", "mode": "",
                                                  "step_ms": "4.5", "spread": None, "steps": "30"})
        self.assertEqual(db.inserted(), [(["graph_id", "gpu", "batch", "layout", "step_ms"], (7, "T4", "8", "nhwc", "4.5"))])
        self.assertEqual(db.looked_up()[0][1][3:5], ("fp32", "nhwc"))

    def test_a_profile_next_to_one_that_ran_out_of_memory(self):
        db = self.load(database.import_profiles, {"graph": "one", "gpu": "T4", "batch": "8", "step_ms": "4.5", "fits_batch": "8", "oom_batch": "16"})
        self.assertEqual(db.inserted(), [(["graph_id", "gpu", "batch", "step_ms", "fits_batch", "oom_batch"], (7, "T4", "8", "4.5", "8", "16"))])

    def test_a_profile_on_several_devices(self):
        db = self.load(database.import_profiles, {"graph": "one", "gpu": "T4", "batch": "8", "step_ms": "4.5", "world_size": "4", "parallel": '{"tp": 4}'})
        self.assertEqual(db.inserted()[0][0][-1], "parallel")
        self.assertEqual(db.looked_up()[0][1][-3:], ("4", "2", '{"tp": 4}'))
        self.assertEqual(db.inserted()[0][1][3:5], ("4", "2"))

    def test_a_profile_on_several_devices_and_machines(self):
        db = self.load(database.import_profiles, {"graph": "one", "gpu": "T4", "batch": "8", "step_ms": "4.5", "world_size": "4", "nodes": "4"})
        self.assertEqual(db.inserted()[0][1][3:5], ("4", "4"))

    def test_a_column_that_profiles_do_not_have(self):
        with redirect_stderr(io.StringIO()) as err:
            database.import_profiles(Recorder(), [{"graph": "one", "gpu": "T4", "batch": "8", "step_ms": "4.5", "steps": "9", "precision": "amp"}], Progress(1))
        self.assertIn("perfmodel.profile has no column precision: left out", err.getvalue())

    def test_an_operator_of_four_columns(self):
        db = self.load(database.import_operators, {"operator": "{}", "gpu": "T4", "batch": "8", "forward_ms": "0.5"})
        self.assertEqual(db.inserted(), [(["operator", "gpu", "batch", "forward_ms"], ("{}", "T4", "8", "0.5"))])
        sql, values = db.looked_up()[0]
        self.assertEqual(values, ("T4", "{}", "8", "fp32", "nchw", "0.5", None, None))
        for name in ("measured_at", "source"):
            self.assertIn(f"{name} IS NOT DISTINCT FROM", sql)

    def test_an_operator_with_empty_fields(self):
        row = {**dict.fromkeys(database.OPERATOR, ""), "operator": "{}", "gpu": "T4", "batch": "8", "forward_ms": "0.5"}
        self.assertEqual(len(self.load(database.import_operators, row).inserted()[0][0]), 4)

    def test_a_column_that_operators_do_not_have(self):
        with self.assertRaisesRegex(database.DatabaseError, "op_profile takes no column 'forward'"):
            database.import_operators(Recorder(), [{"operator": "{}", "forward": "1"}], Progress(1, quiet=True))


class Files(unittest.TestCase):
    """Files that cannot be imported: one line, before a connection is asked for."""

    def refused(self, name, data):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(data)
            with redirect_stderr(io.StringIO()) as err, mock.patch.object(database, "connect", side_effect=AssertionError):
                self.assertEqual(main(["import", path]), 2)
        self.assertEqual(err.getvalue().count("\n"), 1, err.getvalue())
        self.assertTrue(err.getvalue().startswith(f"perfmodel_tools: {path}"), err.getvalue())
        return err.getvalue()

    def test_not_compressed(self):
        self.assertIn("Not a gzipped file", self.refused("bad.csv.gz", b"graph,gpu,batch,step_ms\n"))

    def test_cut_or_broken(self):
        data = gzip.compress(bytes(range(200)) * 5)
        self.assertIn("cannot be unpacked", self.refused("cut.csv.gz", data[:-20]))
        self.assertIn("cannot be unpacked", self.refused("broken.csv.gz", data[:10] + b"\xff" * 30))

    def test_not_utf_8(self):
        self.assertIn("is not UTF-8", self.refused("latin.csv", "graph,gpu\ncafé,T4\n".encode("latin-1")))
        self.assertIn("is not UTF-8", self.refused("latin.csv.gz", gzip.compress("graph,gpu\ncafé,T4\n".encode("latin-1"))))

    def test_marks_and_marks_between(self):
        self.assertIn("entry 1: no step_ms", self.refused("marked.csv", "\ufeffgraph,gpu,batch,step_ms\none,T4,8\n".encode("utf-8")))
        self.assertIn("separated by commas, and a header with graph, gpu", self.refused("semicolons.csv", b"graph;gpu;batch;step_ms\none;T4;8;1\n"))

    def test_not_text(self):
        self.assertIn("not text", self.refused("zero.csv", b"graph,gpu\n\0\n"))

    def test_rows_that_are_not_whole(self):
        self.assertIn("entry 2: no step_ms", self.refused("half.csv", b"graph,gpu,batch,step_ms\none,T4,8,1\none,T4,8"))
        self.assertIn("entry 1: more fields", self.refused("long.csv", b"graph,gpu,batch,step_ms\none,T4,8,1,9\n"))


class DriverError(Exception):
    """What the driver raises."""


class GoneServer:
    """Driver and connection at once: the server goes away at the given call, and everything after it fails."""

    Error = DriverError

    def __init__(self, at):
        self._at, self._gone, self.notices = at, False, []

    def connect(self, _):
        return self

    def _call(self, name):
        self._gone = self._gone or name == self._at
        if self._gone:
            raise DriverError(f"server closed the connection\n\tunexpectedly at {name}\n")

    def cursor(self):
        self._call("cursor")
        found = mock.MagicMock()
        found.__enter__.return_value = found
        found.__exit__.return_value = False
        found.execute = lambda *_: self._call("execute")
        found.fetchall.return_value = [(1,)]
        return found

    def commit(self):
        self._call("commit")

    def rollback(self):
        self._call("rollback")

    def close(self):
        pass


class Server(unittest.TestCase):
    def test_it_may_go_away_at_any_time(self):
        for at in ("cursor", "execute", "commit"):
            with self.subTest(at=at), mock.patch.object(database, "_psycopg2", lambda: GoneServer(at)):
                with self.assertRaises(database.DatabaseError) as caught:
                    with database.connect("") as db:
                        db.run("SELECT 1")
                        db.commit()
                self.assertEqual(str(caught.exception), f"server closed the connection unexpectedly at {at}")


if __name__ == "__main__":
    unittest.main()
