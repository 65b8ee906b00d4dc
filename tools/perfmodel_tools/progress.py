"""Progress on stderr."""

import datetime
import sys
import time


def one_line(err: Exception) -> str:
    """What a user is told of an error; one of the system's begins with the file that it is about."""
    if isinstance(err, OSError) and err.filename is not None:
        return f"{err.filename}: {err.strerror}"
    return str(err)


class Progress:
    """Progress on stderr: a bar on a terminal, one line a row in a log file."""

    def __init__(self, total: int, quiet: bool = False):
        self.total, self.done, self.quiet = max(1, total), 0, quiet
        self._start = time.monotonic()
        self._tty = sys.stderr.isatty()

    def step(self, text: str, count: int = 1) -> None:
        """COUNT more entries are done; TEXT says what."""
        self.done += count
        if self.quiet:
            return
        spent = time.monotonic() - self._start
        left = spent / max(1, self.done) * max(0, self.total - self.done)
        line = (f"{self._bar()} {self.done}/{self.total} "
                f"eta {datetime.timedelta(seconds=int(left))}  {text}")
        print("\r\x1b[K" + line if self._tty else line, end="" if self._tty else "\n",
              file=sys.stderr, flush=True)

    def _bar(self, width: int = 20) -> str:
        full = min(width, width * self.done // self.total)
        return "[" + "#" * full + "." * (width - full) + "]"

    def note(self, text: str) -> None:
        """A line that stays."""
        if not self.quiet:
            print(("\r\x1b[K" if self._tty else "") + text, file=sys.stderr, flush=True)
