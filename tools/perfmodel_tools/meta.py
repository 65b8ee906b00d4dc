"""Results of operators for which an older PyTorch, such as 1.13, has no kernel on the meta device."""

import re

import torch

# What PyTorch says of an operator that it cannot run on the meta device.
_MISSING = re.compile(r"Could not run '(?P<old>\w+::\w+)[\w.]*' with arguments from the '\w*Meta' backend"
                      r"|(?P<new>\w+::\w+)[\w.]*: attempted to run this operator with Meta tensors")


def missing(err) -> str:
    """The operator whose kernel is missing, such as 'torchvision::nms'; '' if that is not what an error says."""
    found = _MISSING.search(str(err))
    return (found["old"] or found["new"]) if found else ""


def call(func, args, kwargs):
    """Run an operator; where only its kernel for the meta device is missing, make what it returns."""
    broken = _BROKEN.get(func._schema.name)
    if broken and args[0].device.type == "meta":
        return broken(*args, **kwargs)
    try:
        return func(*args, **kwargs)
    except NotImplementedError as err:
        rule = _RULES.get(missing(err))
        if rule is None:
            raise
        return rule(*args, **kwargs)


def _max_pool3d(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    kernel = _three(kernel_size)
    sizes = [_pooled(*of_axis, ceil_mode) for of_axis in zip(x.shape[-3:], kernel, _three(stride) if stride else kernel,
                                                              _three(padding), _three(dilation))]
    shape = [*x.shape[:-3], *sizes]
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.long)


def _three(value) -> list:
    values = [value] if isinstance(value, int) else list(value)
    return values * 3 if len(values) == 1 else values


def _pooled(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Windows along an axis; the last one, of those that are rounded up to, starts inside the data or its left padding."""
    rest = size + 2 * padding - dilation * (kernel - 1) - 1
    windows = (rest + (stride - 1 if ceil_mode else 0)) // stride + 1
    return windows - 1 if ceil_mode and (windows - 1) * stride >= size + padding else windows


def _deform_conv2d(x, weight, offset, *more):
    return x.new_empty([x.shape[0], weight.shape[0], *offset.shape[2:]])


def _roi_align(x, rois, scale, height, width, *more):
    return x.new_empty([rois.shape[0], x.shape[1], height, width])


def _cdist(x1, x2, p=2, compute_mode=None):
    return x1.new_empty([*torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2]])


# Operators whose kernel for the meta device fails: that of PyTorch 1.13 compares a compute_mode of None with a number.
_BROKEN = {"aten::_cdist_forward": _cdist}

_RULES = {
    "aten::max_pool3d_with_indices": _max_pool3d,
    "aten::_weight_norm_interface": lambda v, g, dim=0: (torch.empty_like(v), torch.empty_like(g)),
    "aten::linalg_matrix_exp": torch.empty_like,
    "torchvision::deform_conv2d": _deform_conv2d,
    "torchvision::roi_align": _roi_align,
}
