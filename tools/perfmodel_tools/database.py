"""Graphs and measurements into a database that has perfmodel. Needs psycopg2 and nothing of PyTorch."""

import contextlib
import csv
import gzip
import io
import json
import re
import sys
import zlib


class DatabaseError(Exception):
    """The database cannot be used or refuses what it is given; the message says why."""

    entry = None        # which entry of a file is to blame (from 1), where that is not the one being stored


def add_arguments(parser, purpose: str) -> None:
    """--import and --db."""
    parser.add_argument("--import", dest="import_", action="store_true", help=f"{purpose} (see --db)")
    parser.add_argument("--db", default="", metavar="CONNINFO",
                        help="which database, such as 'host=h dbname=d' or a postgresql:// address "
                             "(default: the PG* environment variables, as for psql)")


def _psycopg2():
    try:
        import psycopg2
        return psycopg2
    except ImportError as err:
        raise DatabaseError(f"psycopg2 cannot be imported by {sys.executable}: {err}. On Debian, install the package python3-psycopg2 and use "
                            "/usr/bin/python3; elsewhere: pip install psycopg2-binary") from err


def readable(err: Exception) -> str:
    """Message, detail and hint of a server's error."""
    diag = getattr(err, "diag", None)
    parts = [getattr(diag, name, None) for name in ("message_primary", "message_detail", "message_hint")]
    return ". ".join(part.rstrip(".") for part in parts if part) or " ".join(str(err).split())


class _Connection:
    """A connection that turns every error of the driver into a DatabaseError, and closes itself."""

    def __init__(self, conninfo: str):
        self._driver = _psycopg2()
        self.remarks = {}       # what the server said about short names of devices, each once, in order
        try:
            self._db = self._driver.connect(conninfo)
        except self._driver.Error as err:
            raise DatabaseError(f"cannot connect: {readable(err)}") from err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._db.close()

    def run(self, sql: str, *values) -> list:
        """Rows of one statement; [] when it returns none."""
        with self._errors(), self._db.cursor() as cursor:
            cursor.execute(sql, values)
            rows = cursor.fetchall() if cursor.description else []
        self._hear()
        return rows

    def _hear(self) -> None:
        """Keep the notices about short names of devices; what others say, the tools count themselves."""
        for notice in self._db.notices:
            if re.match(r"NOTICE: +GPU .* is taken for ", notice):
                lines = [line.split(":", 1)[1].strip().rstrip(".") for line in notice.strip().splitlines() if ":" in line]
                self.remarks[". ".join(lines)] = True
        self._db.notices.clear()

    def commit(self) -> None:
        """What was run so far is to stay."""
        with self._errors():
            self._db.commit()

    @contextlib.contextmanager
    def _errors(self):
        """Errors of the driver inside become a DatabaseError, and the transaction is over."""
        try:
            yield
        except self._driver.Error as err:
            with contextlib.suppress(self._driver.Error):       # the server may be gone, and the transaction with it
                self._db.rollback()
            raise DatabaseError(readable(err)) from err


def connect(conninfo: str) -> _Connection:
    """Open the database and make sure that perfmodel is in it."""
    db = _Connection(conninfo)
    if not db.run("SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'perfmodel'"):
        raise DatabaseError("this database has no perfmodel; run CREATE EXTENSION perfmodel in it")
    return db


# ---- graphs ----

def load_graph(db, line: str) -> int:
    """Load one graph; its graph_id, also when it was there already."""
    return db.run("SELECT perfmodel.load_graph(%s::jsonb)", line)[0][0]


def device_name(db, gpu: str) -> str:
    """The name of a device by its alias; without a data sheet of it, an error that says what to do."""
    try:
        return db.run("SELECT perfmodel.gpu_name(%s)", gpu)[0][0]
    except DatabaseError as err:
        raise DatabaseError(f"{err}\n{_sheet_advice(gpu)}") from err


def _sheet_advice(gpu: str) -> str:
    """How to go on with a device that has no data sheet."""
    name = gpu.replace("'", "''")
    given = "Give --device-name NAME if the device is listed under another name; otherwise insert its data sheet first"
    if re.search(r"\([0-9]+ threads?\)$", gpu):
        return (f"{given}. For a CPU, figures of the listed one will do to begin with, since training on your measurements corrects them:\n"
                "    INSERT INTO perfmodel.gpu (name, vendor, mem_bw_gbs, sm_count, cores_per_sm, clock_ghz, fp32_tflops, l2_mb, is_cpu)\n"
                f"    SELECT '{name}', 'my vendor', mem_bw_gbs, sm_count, cores_per_sm, clock_ghz, fp32_tflops, l2_mb, true\n"
                "    FROM perfmodel.gpu WHERE name = 'AMD EPYC Zen4 (1 thread)';")
    return (f"{given} (\\d+ perfmodel.gpu describes the columns):\n"
            "    INSERT INTO perfmodel.gpu (name, vendor, memory_gb, mem_bw_gbs, fp32_tflops, fp16_tensor_tflops)\n"
            f"    VALUES ('{name}', 'vendor', memory in GB, bandwidth in GB/s, TFLOP/s in fp32, TFLOP/s of the tensor cores in fp16);")


# ---- rows of profile ----

_PROFILE = ("gpu,batch,dtype,layout,framework,mode,optimizer,world_size,nodes,step_ms,forward_ms,backward_ms,"
            "peak_memory_mb,spread,measured_at,source,fits_batch,oom_batch").split(",")
# What profilers write besides.
_NOT_STORED = ("graph", "model", "update_ms", "steps")
_KEY = "gpu,batch,dtype,layout,framework,mode,optimizer,world_size,nodes".split(",")


class Profiles:
    """Rows of perfmodel.profile, seen as the profiler sees its CSV file: what is there, and how rows are added."""

    def __init__(self, db, gpu: str, graph_line):
        """GRAPH_LINE(row) gives the graph of a row as one line of JSON; it is asked for graphs that are not loaded."""
        self._db, self._graph_line = db, graph_line
        self.rows = self._read(device_name(db, gpu))

    def _read(self, gpu: str) -> list:
        rows = self._db.run("SELECT g.name, g.model, " + ", ".join(f"p.{name}" for name in _PROFILE) +
                            " FROM perfmodel.profile p JOIN perfmodel.graph g USING (graph_id) WHERE p.gpu = %s", gpu)
        self._db.commit()           # measuring takes long, and no snapshot should be held meanwhile
        names = ["graph", "model", *_PROFILE]
        return [{name: "" if value is None else str(value) for name, value in zip(names, row)} for row in rows]

    def append(self, row: dict) -> None:
        """Insert a row, with its graph, and commit."""
        insert_profile(self._db, self._graph_id(row), row)
        self._db.commit()
        self.rows.append({name: str(value) for name, value in row.items()})

    def replace(self, row: dict) -> None:
        """Put a row in the place of the one with the same key."""
        graph_id = self._graph_id(row)
        self._db.run("DELETE FROM perfmodel.profile WHERE graph_id = %s AND " + " AND ".join(f"{name} = %s" for name in _KEY),
                     graph_id, *(row[name] for name in _KEY))
        insert_profile(self._db, graph_id, row)
        self._db.commit()
        same = ["graph", *_KEY]
        self.rows = [dict(row) if all(str(old[n]) == str(row[n]) for n in same) else old for old in self.rows]

    def _graph_id(self, row: dict) -> int:
        found = self._db.run("SELECT graph_id FROM perfmodel.graph WHERE name = %s", row["graph"])
        return found[0][0] if found else load_graph(self._db, self._graph_line(row))


OPERATOR = "operator,gpu,batch,dtype,layout,framework,forward_ms,backward_ms,spread,measured_at,source".split(",")


class Operators:
    """Rows of perfmodel.op_profile of one device, seen as the profiler of operators sees its CSV file."""

    def __init__(self, db, gpu: str):
        self._db = db
        self.rows = [{"source": source or ""} for source, in
                     db.run("SELECT source FROM perfmodel.op_profile WHERE gpu = %s", gpu)]
        db.commit()

    def append(self, row: dict) -> None:
        """Insert a row and commit."""
        insert_operator(self._db, row)
        self._db.commit()
        self.rows.append({name: str(value) for name, value in row.items()})


def insert_operator(db, row: dict) -> None:
    """One row of perfmodel.op_profile."""
    _insert(db, "op_profile", {name: row.get(name) for name in OPERATOR})


def insert_profile(db, graph_id: int, row: dict) -> None:
    """One row of perfmodel.profile from one of a profile CSV."""
    _insert(db, "profile", {"graph_id": graph_id, **{name: row.get(name) for name in [*_PROFILE, "parallel"]}})


def _insert(db, table: str, row: dict) -> None:
    """One row; what is missing or empty is not named, so that the table's own defaults hold."""
    given = {name: value for name, value in row.items() if value not in (None, "")}
    db.run(f"INSERT INTO perfmodel.{table} ({', '.join(given)}) VALUES ({', '.join(['%s'] * len(given))})", *given.values())


# ---- import: files into the database ----

def _text(path: str) -> str:
    """What is in a file, compressed if its name ends in .gz; without the mark that spreadsheets put in front."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="", encoding="utf-8-sig") as file:
            text = file.read()
    except UnicodeDecodeError as err:
        raise DatabaseError(f"{path} is not UTF-8: {err.reason} at byte {err.start}") from err
    except (EOFError, zlib.error) as err:
        raise DatabaseError(f"{path} cannot be unpacked: {err}") from err
    except OSError as err:
        raise DatabaseError(f"{path}: {err.strerror or err}") from err
    if "\0" in text:
        raise DatabaseError(f"{path} is not text: it has zero bytes")
    return text


_COUNTS = "SELECT count(*), count(*) - count(DISTINCT structure) FROM perfmodel.graph"


def import_graphs(db, lines: list, progress) -> int:
    """Load graphs; how many were new. Says once how many of them were networks that were there under another name."""
    before, twins_before = db.run(_COUNTS)[0]
    for line in lines:
        load_graph(db, line)
        progress.step(json.loads(line).get("name", "graph"))
    after, twins = db.run(_COUNTS)[0]
    if twins > twins_before:
        progress.note(f"{twins - twins_before} of the graphs: the same network is there under another name, with the same "
                      "graph.structure and the same predictions")
    return after - before


def import_profiles(db, rows: list, progress) -> int:
    """Insert rows of a profile CSV; those already there, to the last digit, are left out. How many were new."""
    ids = dict(db.run("SELECT name, graph_id FROM perfmodel.graph"))
    missing = sorted({row["graph"] for row in rows} - set(ids))
    if missing:
        what = f"the graph '{missing[0]}' is not loaded" if len(missing) == 1 else f"{len(missing)} graphs are not loaded, among them '{missing[0]}'"
        err = DatabaseError(f"{what}; import the file with the graphs before, or in the same command")
        err.entry = 1 + next(index for index, row in enumerate(rows) if row["graph"] == missing[0])
        raise err
    unused = [name for name in rows[0] if name not in (*_PROFILE, "parallel", *_NOT_STORED)]
    if unused:
        progress.note(f"perfmodel.profile has no column {', '.join(unused[:10])}: left out")
    new = 0
    for row in rows:
        row = _with_nodes(db, row)
        if not _present(db, ids[row["graph"]], row):
            insert_profile(db, ids[row["graph"]], row)
            new += 1
        progress.step(f"{row['graph']} batch {row['batch']}")
    return new


def _with_nodes(db, row: dict) -> dict:
    """A row that does not say on how many machines its devices were: as few as can be, as where one predicts."""
    if row.get("nodes") or (row.get("world_size") or "1") == "1":
        return row
    return {**row, "nodes": str(db.run("SELECT coalesce(perfmodel.fewest_nodes(perfmodel.gpu_name(%s), %s), 1)", row["gpu"], row["world_size"])[0][0])}


def _present(db, graph_id: int, row: dict) -> bool:
    # a mode in another spelling is not compared: only the table knows what it means
    mode = row.get("mode") or "train"
    return bool(db.run("SELECT 1 FROM perfmodel.profile WHERE graph_id = %s AND gpu = perfmodel.gpu_name(%s) AND batch = %s"
                       " AND dtype = perfmodel.find_dtype(%s) AND layout = perfmodel.find_layout(%s) AND step_ms = %s::float8 AND measured_at IS NOT DISTINCT FROM %s::timestamptz"
                       " AND framework IS NOT DISTINCT FROM %s AND (mode = %s OR %s NOT IN ('train', 'inference')) AND optimizer = perfmodel.find_optimizer(%s)"
                       " AND world_size = %s AND nodes = %s AND parallel IS NOT DISTINCT FROM %s::jsonb",
                       graph_id, row["gpu"], row["batch"], row.get("dtype") or "fp32", row.get("layout") or "nchw", row["step_ms"],
                       row.get("measured_at") or None, row.get("framework") or None, mode, mode, row.get("optimizer") or "sgd_momentum",
                       row.get("world_size") or "1", row.get("nodes") or "1", row.get("parallel") or None))


def import_operators(db, rows: list, progress) -> int:
    """Insert rows of a CSV of single operators; those already there are left out. How many were new."""
    unknown = [name for name in rows[0] if name not in OPERATOR]
    if unknown:
        raise DatabaseError(f"perfmodel.op_profile takes no column '{unknown[0]}'")
    new = 0
    for row in rows:
        if not _operator_present(db, row):
            insert_operator(db, row)
            new += 1
        progress.step(f"row {progress.done + 1}")
    return new


def _operator_present(db, row: dict) -> bool:
    # Without time and source only the times themselves tell two measurements apart.
    return bool(db.run("SELECT 1 FROM perfmodel.op_profile WHERE gpu = perfmodel.gpu_name(%s) AND operator = %s::jsonb AND batch = %s"
                       " AND dtype = perfmodel.find_dtype(%s) AND layout = perfmodel.find_layout(%s) AND forward_ms = %s::float8"
                       " AND measured_at IS NOT DISTINCT FROM %s::timestamptz AND source IS NOT DISTINCT FROM %s",
                       row["gpu"], row["operator"], row["batch"], row.get("dtype") or "fp32", row.get("layout") or "nchw",
                       row["forward_ms"], row.get("measured_at") or None, row.get("source") or None))


def _read_file(path: str) -> tuple:
    """(what to do with it, its lines or rows); the first characters tell what it is."""
    text = _text(path)
    if not text.strip():
        raise DatabaseError(f"{path} is empty")
    if text.lstrip().startswith("{"):
        return import_graphs, [line for line in text.splitlines() if line.strip()]
    try:
        rows = list(csv.DictReader(io.StringIO(text)))
    except csv.Error as err:
        raise DatabaseError(f"{path} is no CSV: {err}") from err
    names = set(rows[0]) if rows else set()
    for action, needed in ((import_profiles, {"graph", "step_ms", "batch", "gpu"}),
                           (import_operators, {"operator", "forward_ms", "batch", "gpu"})):
        if needed <= names:
            _check_complete(path, rows, needed)
            return action, rows
    raise DatabaseError(f"{path} is neither graphs (one JSON object a line) nor a CSV of profiles or operators: fields separated by commas, "
                        "and a header with graph, gpu, batch and step_ms, or operator, gpu, batch and forward_ms")


def _check_complete(path: str, rows: list, needed: set) -> None:
    """Every row has its fields, and no more than the header names."""
    for number, row in enumerate(rows, 1):
        if None in row:
            raise DatabaseError(f"{path}, entry {number}: more fields than the header names")
        empty = sorted(name for name in needed if not row[name])
        if empty:
            raise DatabaseError(f"{path}, entry {number}: no {empty[0]}")


def add_import_arguments(parser) -> None:
    """Command line of import."""
    parser.add_argument("files", nargs="+", metavar="FILE",
                        help="graphs (NDJSON), profiles (CSV), operators (CSV); any of them with .gz")
    parser.add_argument("--db", default="", metavar="CONNINFO",
                        help="which database (default: the PG* environment variables, as for psql)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def main(args) -> int:
    """Entry of `python3 -m perfmodel_tools import`: each file is one transaction, graphs before what refers to them."""
    from .progress import Progress
    found = [(path, *_read_file(path)) for path in args.files]
    found.sort(key=lambda item: item[1] is not import_graphs)
    with connect(args.db) as db:
        for path, action, items in found:
            progress = Progress(len(items), args.quiet)
            try:
                new = action(db, items, progress)
            except DatabaseError as err:
                entry = err.entry or progress.done + 1
                raise DatabaseError(f"{path}, entry {entry}: {err}; nothing of this file was stored") from err
            db.commit()
            progress.note(f"{path}: {new} new, {len(items) - new} there already")
        for remark in db.remarks:
            progress.note(remark)
    return 0
