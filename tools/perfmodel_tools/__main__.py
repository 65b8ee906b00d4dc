"""Command line: python3 -m perfmodel_tools export|profile|profile-ops|import|runs ..."""

import argparse
import importlib
import sys
import warnings

from . import database, runs
from .progress import one_line

# Modules are imported when their command is called: importing PyTorch takes seconds, and import needs none of it.
_HELP = {
    "export": "Export operator graphs of models, without weights and without computing.",
    "profile": "Measure training steps of models.",
    "profile-ops": "Measure single operators of random shapes.",
    "import": "Load files of graphs and measurements into a database.",
    "runs": "Make measurements of the runs that MLflow or Weights & Biases export as CSV.",
}
_MODULES = {"export": "export", "profile": "profile", "profile-ops": "operators"}


def _chosen(argv: list) -> str:
    """The command among the arguments, '' when there is none."""
    return argv[0] if argv and argv[0] in _HELP else ""


def main(argv=None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="perfmodel_tools", description="Graphs and measurements for perfmodel.")
    commands = parser.add_subparsers(dest="command", required=True)
    parts = {name: commands.add_parser(name, help=text, description=text) for name, text in _HELP.items()}
    database.add_import_arguments(parts["import"])
    runs.add_arguments(parts["runs"])
    run, errors = (runs.main if _chosen(argv) == "runs" else database.main), (database.DatabaseError, runs.RunsError)
    if _chosen(argv) in _MODULES:
        try:
            module = importlib.import_module("." + _MODULES[argv[0]], __package__)
            errors += (importlib.import_module(".models", __package__).ModelError, RuntimeError)
        except ImportError as err:
            print(f"perfmodel_tools: PyTorch cannot be imported by {sys.executable}: {err}. On Debian, install the packages python3-torch and "
                  "python3-torchvision and use /usr/bin/python3; elsewhere: pip install torch torchvision", file=sys.stderr)
            return 2
        module.add_arguments(parts[argv[0]])
        run = module.main
    args = parser.parse_args(argv)
    warnings.filterwarnings("ignore", category=UserWarning)
    try:
        return run(args)
    except errors as err:
        print(f"perfmodel_tools: {err}", file=sys.stderr)
        return 2
    except BrokenPipeError:             # whoever read the output has seen enough
        return 1
    except OSError as err:
        print(f"perfmodel_tools: {one_line(err)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nperfmodel_tools: interrupted; what was written stays, the same command goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
