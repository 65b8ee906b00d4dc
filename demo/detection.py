"""Faster R-CNN of torchvision with a fixed number of proposals, for the commands export and profile of perfmodel_tools.

A detection network goes on with as many boxes as it has found, so its shapes depend on the image and it cannot be
exported as it is. Here every image brings the same number of boxes to the heads: 512, as many as torchvision samples in
training. Left out are the suppression of overlapping boxes and the matching of boxes with targets, which are short
operators without gradients. RoIAlign is written as grid_sample, which takes the same points from the same features.
"""

import torch
import torchvision
from torch import nn
from torch.nn import functional

PROPOSALS = 512         # boxes an image, for the heads
POOLED = 7              # height and width of what is taken of a box, with 2 x 2 points each


class Detector(nn.Module):
    """Backbone, region proposals, and the heads over PROPOSALS boxes of each image."""

    def __init__(self, model):
        super().__init__()
        self.backbone, self.rpn_head = model.backbone, model.rpn.head
        self.box_head, self.box_predictor = model.roi_heads.box_head, model.roi_heads.box_predictor

    def forward(self, images):
        levels = self.backbone(images)
        objectness, deltas = self.rpn_head(list(levels.values()))
        boxes = self.box_head(self._pool([level for name, level in levels.items() if name != "pool"]))
        classes, offsets = self.box_predictor(boxes)
        n = images.shape[0]
        # one tensor for the loss, so that the gradient reaches every part
        return torch.cat([part.reshape(n, -1) for part in (*objectness, *deltas, classes, offsets)], 1)

    def _pool(self, levels):
        """Features of the boxes (images x PROPOSALS, channels, POOLED, POOLED): each level has its share of the boxes."""
        share, pooled = PROPOSALS // len(levels), []
        for level in levels:
            n, channels = level.shape[:2]
            points = level.new_zeros(n, share * 2 * POOLED, 2 * POOLED, 2)
            taken = functional.avg_pool2d(functional.grid_sample(level, points, align_corners=False), 2)
            pooled.append(taken.reshape(n, channels, share, POOLED, POOLED).transpose(1, 2))
        return torch.cat(pooled, 1).reshape(-1, channels, POOLED, POOLED)


def build(image=640):
    """What export and profile ask for: the module, and an input with the batch in dimension 0."""
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    return Detector(model), torch.zeros(1, 3, image, image)


def backbone(image=640):
    """The backbone alone, which takes most of the time."""
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    return model.backbone, torch.zeros(1, 3, image, image)
