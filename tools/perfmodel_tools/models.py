"""Turn a model name such as 'torchvision:resnet50' into something that can be built and run."""

import dataclasses
import difflib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from typing import Any, Callable, Optional

import torch

from . import zoo


class ModelError(Exception):
    """The model cannot be found or built; the message says why."""


@dataclasses.dataclass
class ModelSpec:
    """A model that can be built any number of times, and the input that goes with it."""

    model: str                              # family-level name, e.g. 'resnet50'
    variant: str                            # what distinguishes this graph, e.g. '224'
    source: str                             # where the definition comes from
    build: Callable[[], torch.nn.Module]
    make_input: Callable[..., Any]          # make_input(batch, device=...) -> tensor, tuple or dict

    @property
    def graph(self) -> str:
        """Name of the graph: model@variant."""
        return f"{self.model}@{self.variant}" if self.variant else self.model


def resolve(name: str, size: Optional[int] = None) -> ModelSpec:
    """Find the model that NAME means; raise ModelError with a readable reason if there is none.

    SIZE: pixels a side for models of images, positions for models of sequences; None: the model's usual one.
    """
    origin, what = split_name(name)
    return _SOURCES[origin](what, size) if origin in _SOURCES else _from_file(origin, what, size)


def split_name(name: str) -> tuple:
    """('torchvision', 'resnet50') of 'torchvision:resnet50' or 'resnet50'; ('my.py', 'build') of 'my.py:build'."""
    origin, colon, what = name.rpartition(":")
    if name.endswith(".py"):
        raise ModelError(f"'{name}' names a file but no function: write {name}:function")
    if not colon:
        origin = "zoo" if zoo.find(what) else "torchvision"
    if origin not in _SOURCES and not origin.endswith(".py"):
        raise ModelError(f"unknown model source '{origin}' in '{name}': expected torchvision:NAME, zoo:NAME, "
                         "timm:NAME, transformers:TYPE or path/to/file.py:function")
    return origin, what


def sizes(name: str, images, seqs) -> list:
    """Those of the image sizes and sequence lengths that mean something to a model; [None]: its usual size."""
    wanted = {"image": images, "seq": seqs}.get(kind(name))
    return list(wanted) if wanted else [None]


def kind(name: str) -> str:
    """What the size of a model means: 'image' (pixels a side), 'seq' (positions), or '' where it has none."""
    origin, what = split_name(name)
    if origin == "zoo":
        return _network(what).kind
    if origin == "transformers":
        return "image" if _is_visual(what, _config(what)) else "seq"
    if origin.endswith(".py"):
        return _file_kind(_load(origin, what))
    return "image"


def of_graph(graph: str) -> tuple:
    """(name, size) that export and profile need to make a graph of this name again; for torchvision and the zoo."""
    model, _, variant = graph.partition("@")
    if variant and not re.fullmatch(r"s?[0-9]+", variant):
        raise ModelError(f"the name of the graph '{graph}' does not tell which model and size make it")
    return model, int(variant.lstrip("s")) if variant else None


def torchvision_names() -> list:
    """Names of all image classification models of the installed torchvision."""
    tv = _import("torchvision")
    names = []
    for name, fn in sorted(vars(tv.models).items()):
        module = getattr(fn, "__module__", "")
        if inspect.isfunction(fn) and name == name.lower() and module.startswith("torchvision.models") \
                and not name.startswith("_") and "." not in module[len("torchvision.models."):] \
                and name not in ("get_model", "get_weight", "get_model_weights", "list_models",
                                 "get_model_builder"):
            names.append(name)
    return names


def _import(package: str):
    """Import a package that is only needed for some model names."""
    try:
        return importlib.import_module(package)
    except ImportError as err:
        raise ModelError(f"this model name needs the Python package '{package}', "
                         f"which cannot be imported: {err}") from err


def _image_input(image: int):
    def make_input(batch, device="cpu"):
        return torch.randn(batch, 3, image, image, device=device)
    return make_input


# Torchvision's models of films, and how many frames they need.
_FRAMES = {"r3d_18": 8, "mc3_18": 8, "r2plus1d_18": 8, "s3d": 16, "mvit_v1_b": 16, "mvit_v2_s": 16, "swin3d_t": 16, "swin3d_s": 16, "swin3d_b": 16}


def _torchvision(name: str, size: Optional[int]) -> ModelSpec:
    tv = _import("torchvision")
    builder = getattr(tv.models, name, None)
    for part in ("segmentation", "video"):
        if not inspect.isfunction(builder):
            builder = getattr(getattr(tv.models, part), name, None)
    if not inspect.isfunction(builder) and inspect.isfunction(getattr(tv.models.detection, name, None)):
        raise ModelError(f"'{name}' is a detection network: its shapes depend on the image, so it has no graph that holds for all images. "
                         "Export its backbone, or the network with a fixed number of boxes: demo/detection.py does both")
    if not inspect.isfunction(builder):
        known = torchvision_names()
        near = difflib.get_close_matches(name, known + list(zoo.NETWORKS)) or known
        raise ModelError(f"torchvision {tv.__version__} has no model '{name}'; there is {', '.join(near)}")
    size = size or (299 if name == "inception_v3" else 112 if _FRAMES.get(name) == 8 else 224)
    kwargs = _torchvision_options(name, builder, size)
    inputs = _film_input(_FRAMES[name], size) if name in _FRAMES else _image_input(size)
    return ModelSpec(name, str(size), "torchvision " + release("torchvision"), lambda: builder(**kwargs), inputs)


def _torchvision_options(name: str, builder, size: int) -> dict:
    """Keywords for a builder: never pretrained weights, and what depends on the image size."""
    taken = inspect.signature(builder).parameters
    kwargs = {"weights_backbone": None} if "weights_backbone" in taken else {}
    if "pretrained_backbone" in taken:          # before 0.13
        kwargs["pretrained_backbone"] = False
    if name.startswith("vit_"):
        kwargs["image_size"] = size             # the position table depends on it
    if name.startswith("maxvit"):
        kwargs["input_size"] = (size, size)
    if name in ("googlenet", "inception_v3"):
        # Without the auxiliary heads, so that the loss is taken of one output as everywhere else.
        kwargs.update(aux_logits=False, init_weights=False)
    return kwargs


def _film_input(frames: int, size: int):
    def make_input(batch, device="cpu"):
        return torch.randn(batch, 3, frames, size, size, device=device)
    return make_input


def _network(name: str):
    network = zoo.find(name)
    if network is None:
        near = difflib.get_close_matches(name, zoo.NETWORKS) or zoo.NETWORKS
        raise ModelError(f"the zoo has no network '{name}'; it has {', '.join(near)}")
    return network


def _zoo(name: str, size: Optional[int]) -> ModelSpec:
    network = _network(name)
    size = (size or network.size) if network.kind else None
    variant = {"image": f"{size}", "seq": f"s{size}"}.get(network.kind, "")

    def make_input(batch, device="cpu"):
        return network.inputs(batch, size, device)

    return ModelSpec(name, variant, "perfmodel_tools.zoo", lambda: network.build(size), make_input)


def _timm(name: str, image: Optional[int]) -> ModelSpec:
    timm = _import("timm")
    if name not in timm.list_models():
        raise ModelError(f"timm {timm.__version__} has no model '{name}'")

    def build(**extra):
        return timm.create_model(name, pretrained=False, **extra)

    size = image or _timm_default_size(timm, name)
    kwargs = {"img_size": size} if image and _accepts(build, "img_size", size) else {}
    return ModelSpec(name, str(size), "timm " + release("timm"), lambda: build(**kwargs), _image_input(size))


def _timm_default_size(timm, name: str) -> int:
    config = getattr(timm.models, "get_pretrained_cfg", None)
    config = config(name) if config else timm.create_model(name).default_cfg
    size = getattr(config, "input_size", None) or (config or {}).get("input_size", (3, 224, 224))
    return size[-1]


def _accepts(build, key: str, value) -> bool:
    """Whether a builder takes a keyword; convolutional timm models refuse img_size."""
    try:
        build(**{key: value})
        return True
    except TypeError:
        return False


def _config(model_type: str):
    """The default configuration of a model type of transformers."""
    tf = _import("transformers")
    try:
        config = tf.AutoConfig.for_model(model_type)
    except (KeyError, ValueError) as err:
        raise ModelError(f"transformers knows no model type '{model_type}': {err}") from err
    config.use_cache = False
    return config


def _is_visual(model_type: str, config) -> bool:
    """Whether a model takes images; those that take neither images nor token numbers are refused."""
    tf = _import("transformers")
    model = tf.MODEL_MAPPING.get(type(config), None)
    model = model[0] if isinstance(model, (tuple, list)) else model
    if model is None:
        raise ModelError(f"transformers has no base model of the type '{model_type}'")
    takes = model.main_input_name
    if takes not in ("pixel_values", "input_ids"):
        raise ModelError(f"transformers' {model_type} takes {takes}, neither images nor token numbers: name a function in a file that makes it and its input")
    return takes == "pixel_values"


def _resized(config, size: Optional[int]) -> tuple:
    """(height, width) of the images that a configuration takes, which SIZE changes. Some models keep both, and some none."""
    usual = getattr(config, "image_size", None)
    pair = isinstance(usual, (tuple, list))
    if size and usual is not None:
        config.image_size = type(usual)([size, size]) if pair else size
    if size or usual is None:
        return (size or DEFAULT_IMAGE,) * 2
    return tuple(usual) if pair else (usual, usual)


def _transformers(model_type: str, size: Optional[int]) -> ModelSpec:
    """A transformers model by its type ('bert', 'gpt2', 'vit'), with that type's default configuration."""
    tf, config = _import("transformers"), _config(model_type)
    visual = _is_visual(model_type, config)
    if visual:
        height, width = _resized(config, size)
        variant = f"{height}" if height == width else f"{height}x{width}"
    else:
        size = size or DEFAULT_SEQ
        variant = f"s{size}"

    def make_input(batch, device="cpu"):
        if visual:
            return {"pixel_values": torch.randn(batch, config.num_channels, height, width, device=device)}
        # Token values do not matter for time, only that they lie inside the vocabulary.
        ids = torch.ones(batch, size, dtype=torch.long, device=device)
        return {"input_ids": ids, "decoder_input_ids": ids.clone()} if config.is_encoder_decoder else {"input_ids": ids}

    return ModelSpec(model_type, variant, "transformers " + release("transformers"), lambda: tf.AutoModel.from_config(config), make_input)


def _load(path: str, function: str):
    """A function in a file."""
    if not os.path.exists(path):
        raise ModelError(f"no such file: {path}")
    spec = importlib.util.spec_from_file_location("perfmodel_user_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))    # the file may import its neighbours
    try:
        spec.loader.exec_module(module)
    except Exception as err:                # a user's file may raise anything
        raise ModelError(f"{path} cannot be loaded: {type(err).__name__}: {err}") from err
    finally:
        sys.path.pop(0)
    fn = getattr(module, function, None)
    if not callable(fn):
        raise ModelError(f"{path} has no function '{function}'")
    return fn


def _file_kind(fn) -> str:
    taken = inspect.signature(fn).parameters
    return next((kind for kind in ("image", "seq") if kind in taken), "")


# Names of functions that say nothing about the model: the file's name serves better.
_PLAIN = {"build", "build_model", "create", "create_model", "get_model", "main", "make", "make_model", "model"}


def _from_file(path: str, function: str, size: Optional[int]) -> ModelSpec:
    """A function that returns (module, example_input), and may take image= or seq= as its size."""
    fn = _load(path, function)
    kind = _file_kind(fn)
    kwargs = {kind: size} if kind and size else {}
    model = os.path.splitext(os.path.basename(path))[0] if function in _PLAIN else function
    variant = "" if not kwargs else f"{size}" if kind == "image" else f"s{size}"
    example = None                          # kept, because the module that comes with it may be large

    def build():
        nonlocal example
        try:
            module, new = fn(**kwargs)
        except (TypeError, ValueError) as err:
            raise ModelError(f"{path}:{function}() failed, it should return (module, example_input): {err}") from err
        if example is None or not _has_values(example):
            example = new
        return module

    def make_input(batch, device="cpu"):
        # Where the module was built without memory, an example that empty() made has no values either.
        if example is None or (str(device) != "meta" and not _has_values(example)):
            build()
        return rebatch(example, batch, device)

    return ModelSpec(model, variant, os.path.basename(path), build, make_input)


def _has_values(example) -> bool:
    """Whether no tensor of an example is on the meta device."""
    if isinstance(example, (dict, list, tuple)):
        return all(map(_has_values, example.values() if isinstance(example, dict) else example))
    return not (isinstance(example, torch.Tensor) and example.is_meta)


DEFAULT_SEQ = 128
DEFAULT_IMAGE = 224
_SOURCES = {"torchvision": _torchvision, "zoo": _zoo, "timm": _timm, "transformers": _transformers}


class Samples(list):
    """A list with one tensor for each sample, such as the boxes of each image: the batch is its length, not dimension 0."""


def rebatch(example: Any, batch: int, device="cpu") -> Any:
    """The example input with BATCH samples in dimension 0, made by repeating its first sample."""
    first = first_tensor(example)
    return _rebatch(example, batch, device, len(first) if first is not None and first.dim() > 0 else 0)


def _rebatch(example: Any, batch: int, device, samples: int) -> Any:
    """SAMPLES: those that the example has."""
    if isinstance(example, torch.Tensor):
        one = example[:1].to(device)
        return one.repeat(batch, *([1] * (one.dim() - 1)))
    if isinstance(example, dict):
        return {key: _rebatch(value, batch, device, samples) for key, value in example.items()}
    if _is_by_sample(example, samples):
        return Samples(example[0].to(device).clone() for _ in range(batch))
    if isinstance(example, (list, tuple)):
        return tuple(_rebatch(value, batch, device, samples) for value in example)
    return example


def _is_by_sample(example: Any, samples: int) -> bool:
    """Whether a list has a tensor for each sample; tensors whose dimension 0 is the batch are several inputs."""
    return (isinstance(example, list) and len(example) == samples > 0
            and all(isinstance(part, torch.Tensor) and part.dim() > 0 for part in example)
            and any(len(part) != samples for part in example))


def call(module: torch.nn.Module, inputs: Any) -> Any:
    """Run a module on an input that may be a tensor, a tuple of arguments or a dict of keywords."""
    if isinstance(inputs, dict):
        return module(**inputs)
    if isinstance(inputs, tuple):
        return module(*inputs)
    return module(inputs)


def first_tensor(value: Any) -> Optional[torch.Tensor]:
    """The first tensor inside a module's result: the one the loss is taken of."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            found = first_tensor(part)
            if found is not None:
                return found
    return None


def release(package: str) -> str:
    """Version of an installed package; the package's metadata knows better than its code."""
    try:
        from importlib.metadata import version
        text = version(package)
    except Exception:
        text = getattr(importlib.import_module(package), "__version__", "unknown")
    if "a0" in text:                              # builds from source append it; Debian's call 1.13.1 '1.13.0a0'
        text = _debian_version(f"python3-{package}") or text
    return re.sub(r"(a0)?(\+.*)?$", "", text)     # others append '+cu121'


def _debian_version(package: str) -> str:
    """Upstream version of a Debian package, '' where there is none."""
    try:
        found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return re.sub(r"^\d+:|[+~-].*$", "", found.stdout)
