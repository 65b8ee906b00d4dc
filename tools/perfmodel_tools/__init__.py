"""Tools that run next to PyTorch: a graph exporter and a training-step profiler."""

__version__ = "0.1"
