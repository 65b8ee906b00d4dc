"""Turn a model name such as 'torchvision:resnet50' into something that can be built and run."""

import dataclasses
import difflib
import importlib.util
import inspect
import os
import re
import sys
from typing import Any, Callable, Optional

import torch


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


def resolve(name: str, image: Optional[int] = None, seq: int = 128) -> ModelSpec:
    """Find the model that NAME means; raise ModelError with a readable reason if there is none."""
    if ":" not in name:
        name = "torchvision:" + name
    origin, _, what = name.rpartition(":")
    if origin == "torchvision":
        return _torchvision(what, image)
    if origin == "timm":
        return _timm(what, image)
    if origin == "transformers":
        return _transformers(what, seq)
    if origin.endswith(".py"):
        return _from_file(origin, what)
    raise ModelError(f"unknown model source '{origin}' in '{name}': expected torchvision:NAME, "
                     "timm:NAME, transformers:TYPE or path/to/file.py:function")


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


def _torchvision(name: str, image: Optional[int]) -> ModelSpec:
    tv = _import("torchvision")
    builder = getattr(tv.models, name, None)
    if not inspect.isfunction(builder):
        known = torchvision_names()
        near = difflib.get_close_matches(name, known) or known
        raise ModelError(f"torchvision {tv.__version__} has no model '{name}'; it has {', '.join(near)}")
    image = image or (299 if name == "inception_v3" else 224)
    kwargs = {}
    if name.startswith("vit_"):
        kwargs["image_size"] = image           # the position table depends on it
    if name.startswith("maxvit"):
        kwargs["input_size"] = (image, image)
    if name in ("googlenet", "inception_v3"):
        # Without the auxiliary heads, so that the loss is taken of one output as everywhere else.
        kwargs.update(aux_logits=False, init_weights=False)
    return ModelSpec(name, str(image), "torchvision " + release("torchvision"),
                     lambda: builder(**kwargs), _image_input(image))


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


def _transformers(kind: str, seq: int) -> ModelSpec:
    """A transformers model by its type ('bert', 'gpt2'), with that type's default configuration."""
    tf = _import("transformers")
    try:
        config = tf.AutoConfig.for_model(kind)
    except (KeyError, ValueError) as err:
        raise ModelError(f"transformers knows no model type '{kind}': {err}") from err
    config.use_cache = False

    def make_input(batch, device="cpu"):
        # Token values do not matter for time, only that they lie inside the vocabulary.
        return {"input_ids": torch.ones(batch, seq, dtype=torch.long, device=device)}

    return ModelSpec(kind, f"s{seq}", "transformers " + release("transformers"),
                     lambda: tf.AutoModel.from_config(config), make_input)


def _from_file(path: str, function: str) -> ModelSpec:
    if not os.path.exists(path):
        raise ModelError(f"no such file: {path}")
    spec = importlib.util.spec_from_file_location("perfmodel_user_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))    # the file may import its neighbours
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    fn = getattr(module, function, None)
    if not callable(fn):
        raise ModelError(f"{path} has no function '{function}'")

    def make_input(batch, device="cpu"):
        return rebatch(fn()[1], batch, device)

    return ModelSpec(function, "", os.path.basename(path), lambda: fn()[0], make_input)


def rebatch(example: Any, batch: int, device="cpu") -> Any:
    """The example input with BATCH samples in dimension 0, made by repeating its first sample."""
    if isinstance(example, torch.Tensor):
        one = example[:1].to(device)
        return one.repeat(batch, *([1] * (one.dim() - 1)))
    if isinstance(example, dict):
        return {key: rebatch(value, batch, device) for key, value in example.items()}
    if isinstance(example, (list, tuple)):
        return tuple(rebatch(value, batch, device) for value in example)
    return example


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
    return re.sub(r"(a0)?(\+.*)?$", "", text)     # builds from source append 'a0', others '+cu121'
