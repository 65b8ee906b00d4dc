"""Command line: python3 -m perfmodel_tools export|profile ..."""

import argparse
import sys
import warnings


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(prog="perfmodel_tools", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    try:
        from . import export, profile
    except ImportError as err:
        print(f"perfmodel_tools: PyTorch cannot be imported: {err}", file=sys.stderr)
        return 2
    from .models import ModelError
    export.add_arguments(commands.add_parser("export", help=export.__doc__, description=export.__doc__))
    profile.add_arguments(commands.add_parser("profile", help=profile.__doc__, description=profile.__doc__))
    args = parser.parse_args(argv)
    warnings.filterwarnings("ignore", category=UserWarning)
    try:
        return {"export": export.main, "profile": profile.main}[args.command](args)
    except (ModelError, RuntimeError) as err:
        print(f"perfmodel_tools: {err}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
