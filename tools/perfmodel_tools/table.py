"""A CSV file that grows row by row and survives being interrupted."""

import csv
import os


class CsvTable:
    """What is in the file already, and how rows are added."""

    def __init__(self, path: str, columns: list, new: int = 0):
        """NEW: how many of the last columns a file of an earlier version may lack; it gets them, empty."""
        self.path, self.columns = path, columns
        self.rows = []
        self._lacking = False       # columns, which the file gets with the first new row
        if os.path.exists(path):
            self._lacking = self._check_header(new)
            self._cut_half_line()
            self._read()
        if not os.path.exists(path) or os.path.getsize(path) == 0:
            with open(path, "w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerow(columns)

    def _check_header(self, new: int) -> bool:
        """Before anything is changed: the file may be somebody else's. Part of the header is what a killed run may leave.
        True for the whole header of an earlier version."""
        with open(self.path, "rb") as file:
            line = file.readline()
        text, header = line.decode(errors="replace").rstrip("\r\n").replace('"', ""), ",".join(self.columns)
        if new and line.endswith(b"\n") and text == ",".join(self.columns[:-new]):
            return True
        if text != header and (line.endswith(b"\n") or not header.startswith(text)):
            raise SystemExit(f"{self.path} has other columns than this version writes")
        return False

    def _cut_half_line(self) -> None:
        """A run that was killed may have left part of a line: drop it, it will be measured again."""
        with open(self.path, "rb+") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                file.truncate(data.rfind(b"\n") + 1)

    def _read(self) -> None:
        with open(self.path, newline="") as file:
            self.rows = [{name: row.get(name, "") for name in self.columns} for row in csv.DictReader(file)]

    def append(self, row: dict) -> None:
        """Add a row and make sure that it is on disk before the next one is measured."""
        if self._lacking:
            self.rewrite(self.rows)
        with open(self.path, "a", newline="") as file:
            csv.DictWriter(file, self.columns, lineterminator="\n").writerow(row)
            file.flush()
            os.fsync(file.fileno())
        self.rows.append({name: str(value) for name, value in row.items()})

    def rewrite(self, rows: list) -> None:
        """Replace all rows; the file is swapped in one move."""
        self.rows = [{name: str(value) for name, value in row.items()} for row in rows]
        with open(self.path + ".new", "w", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        os.replace(self.path + ".new", self.path)
        self._lacking = False
