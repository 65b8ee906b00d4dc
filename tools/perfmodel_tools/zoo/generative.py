"""Networks that make images: adversarial ones, autoencoders, U-Nets, super-resolution."""

import functools
import math

import torch
from torch import nn

from .entry import Network, images, vectors
from .vision import Residual


def dcgan_generator(width, size):
    """Radford 2015: from 100 numbers to an image."""
    steps = int(math.log2(size)) - 2
    channels = width << (steps - 1)
    layers = [nn.ConvTranspose2d(100, channels, 4, 1, 0, bias=False), nn.BatchNorm2d(channels), nn.ReLU(True)]
    for _ in range(steps - 1):
        layers += [nn.ConvTranspose2d(channels, channels // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(channels // 2), nn.ReLU(True)]
        channels //= 2
    return nn.Sequential(*layers, nn.ConvTranspose2d(channels, 3, 4, 2, 1, bias=False), nn.Tanh())


def dcgan_discriminator(width, size):
    layers, channels = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)], width
    for _ in range(int(math.log2(size)) - 3):
        layers += [nn.Conv2d(channels, 2 * channels, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * channels), nn.LeakyReLU(0.2, True)]
        channels *= 2
    return nn.Sequential(*layers, nn.Conv2d(channels, 1, 4, 1, 0, bias=False), nn.Flatten())


def patch_discriminator(size):
    """Isola 2016, 70x70 patches."""
    def block(i, o, stride):
        return [nn.Conv2d(i, o, 4, stride, 1), nn.InstanceNorm2d(o), nn.LeakyReLU(0.2)]
    return nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), *block(64, 128, 2), *block(128, 256, 2),
                         *block(256, 512, 1), nn.Conv2d(512, 1, 4, 1, 1))


def cyclegan_generator(blocks, size):
    """Zhu 2017, with instance normalisation and reflection padding."""
    def norm(o):
        return [nn.InstanceNorm2d(o), nn.ReLU()]

    def residual(c):
        pad = nn.ReflectionPad2d(1)
        return Residual(nn.Sequential(pad, nn.Conv2d(c, c, 3), *norm(c), pad, nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c)))
    down = [nn.ReflectionPad2d(3), nn.Conv2d(3, 64, 7), *norm(64), nn.Conv2d(64, 128, 3, 2, 1), *norm(128),
            nn.Conv2d(128, 256, 3, 2, 1), *norm(256)]
    up = [nn.ConvTranspose2d(256, 128, 3, 2, 1, 1), *norm(128), nn.ConvTranspose2d(128, 64, 3, 2, 1, 1), *norm(64),
          nn.ReflectionPad2d(3), nn.Conv2d(64, 3, 7), nn.Tanh()]
    return nn.Sequential(*down, *(residual(256) for _ in range(blocks)), *up)


class UNet(nn.Module):
    """Ronneberger 2015, with batch normalisation."""

    def __init__(self, width, bilinear, size):
        super().__init__()
        widths = [width << k for k in range(5)]
        self.down = nn.ModuleList(self._double(i, o) for i, o in zip([3] + widths, widths))
        self.pool = nn.MaxPool2d(2)
        pairs = list(zip(widths[::-1], widths[-2::-1]))
        self.grow = nn.ModuleList(self._grow(i, o, bilinear) for i, o in pairs)
        self.up = nn.ModuleList(self._double(2 * o, o) for _, o in pairs)
        self.out = nn.Conv2d(width, 2, 1)

    @staticmethod
    def _double(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(True),
                             nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(True))

    @staticmethod
    def _grow(i, o, bilinear):
        if bilinear:
            return nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(i, o, 1))
        return nn.ConvTranspose2d(i, o, 2, 2)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(self.pool(x) if kept else x)
            kept.append(x)
        kept.pop()
        for grow, block in zip(self.grow, self.up):
            x = block(torch.cat([kept.pop(), grow(x)], 1))
        return self.out(x)


class Attend(nn.Module):
    """Self-attention over the pixels of an image, one head."""

    def __init__(self, channels):
        super().__init__()
        self.norm, self.qkv = nn.GroupNorm(8, channels), nn.Conv2d(channels, 3 * channels, 1)
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        q, k, v = (t.flatten(2) for t in self.qkv(self.norm(x)).chunk(3, 1))
        weights = torch.softmax(q.transpose(1, 2) @ k / math.sqrt(x.shape[1]), -1)
        return x + self.out((v @ weights.transpose(1, 2)).reshape(x.shape))


class TimedBlock(nn.Module):
    """A residual block that is told the time step."""

    def __init__(self, i, o, time):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(time, o))
        self.second = nn.Sequential(nn.GroupNorm(8, o), nn.SiLU(), nn.Dropout(0.1), nn.Conv2d(o, o, 3, padding=1))
        self.short = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, t):
        return self.second(self.first(x) + self.time(t)[:, :, None, None]) + self.short(x)


class Ddpm(nn.Module):
    """The denoiser of a diffusion model (Ho 2020), small."""

    def __init__(self, width, size):
        super().__init__()
        time, wide = 4 * width, 2 * width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.begin = nn.Conv2d(3, width, 3, padding=1)
        self.down1, self.half1 = TimedBlock(width, width, time), nn.Conv2d(width, width, 3, 2, 1)
        self.down2, self.half2 = TimedBlock(width, wide, time), nn.Conv2d(wide, wide, 3, 2, 1)
        self.mid1, self.attend, self.mid2 = TimedBlock(wide, wide, time), Attend(wide), TimedBlock(wide, wide, time)
        self.up2, self.up1 = TimedBlock(2 * wide, width, time), TimedBlock(2 * width, width, time)
        self.twice = nn.Upsample(scale_factor=2)
        self.end = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x, t):
        t = self.time(t)
        a = self.down1(self.begin(x), t)
        b = self.down2(self.half1(a), t)
        x = self.mid2(self.attend(self.mid1(self.half2(b), t)), t)
        x = self.up2(torch.cat([self.twice(x), b], 1), t)
        return self.end(self.up1(torch.cat([self.twice(x), a], 1), t))


def _ddpm_inputs(width):
    def make(batch, size, device):
        return torch.randn(batch, 3, size, size, device=device), torch.randn(batch, width, device=device)
    return make


def edsr(width, blocks, size):
    """Super-resolution by 2 (Lim 2017)."""
    body = [Residual(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(True), nn.Conv2d(width, width, 3, padding=1)))
            for _ in range(blocks)]
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), *body, nn.Conv2d(width, 4 * width, 3, padding=1),
                         nn.PixelShuffle(2), nn.Conv2d(width, 3, 3, padding=1))


def fsrcnn(size):
    """Dong 2016."""
    layers = [nn.Conv2d(3, 56, 5, padding=2), nn.PReLU(56), nn.Conv2d(56, 12, 1), nn.PReLU(12)]
    for _ in range(4):
        layers += [nn.Conv2d(12, 12, 3, padding=1), nn.PReLU(12)]
    return nn.Sequential(*layers, nn.Conv2d(12, 56, 1), nn.PReLU(56), nn.ConvTranspose2d(56, 3, 9, 2, 4, 1))


class Vae(nn.Module):
    """A convolutional variational autoencoder."""

    def __init__(self, width, size):
        super().__init__()
        w, self.side = width, size // 8
        flat = 4 * w * self.side ** 2
        self.encode = nn.Sequential(nn.Conv2d(3, w, 4, 2, 1), nn.ReLU(), nn.Conv2d(w, 2 * w, 4, 2, 1), nn.ReLU(),
                                    nn.Conv2d(2 * w, 4 * w, 4, 2, 1), nn.ReLU(), nn.Flatten())
        self.mean, self.log_var, self.spread = nn.Linear(flat, 128), nn.Linear(flat, 128), nn.Linear(128, flat)
        self.decode = nn.Sequential(nn.ConvTranspose2d(4 * w, 2 * w, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(2 * w, w, 4, 2, 1),
                                    nn.ReLU(), nn.ConvTranspose2d(w, 3, 4, 2, 1), nn.Sigmoid())

    def forward(self, x):
        code = self.encode(x)
        mean, deviation = self.mean(code), torch.exp(0.5 * self.log_var(code))
        sample = mean + deviation * torch.randn_like(deviation)
        return self.decode(self.spread(sample).view(len(x), -1, self.side, self.side))


def autoencoder(size):
    widths = [3 * size * size, 1024, 256, 64, 256, 1024, 3 * size * size]
    layers = [nn.Flatten()]
    for i, o in zip(widths, widths[1:]):
        layers += [nn.Linear(i, o), nn.ELU()]
    return nn.Sequential(*layers[:-1])


def _net(name, size, build, *args, inputs=None) -> Network:
    return Network(name, "image", size, functools.partial(build, *args), inputs or images())


NETWORKS = [
    _net("dcgan_g", 64, dcgan_generator, 64, inputs=vectors(100, 1, 1)), _net("dcgan_d", 64, dcgan_discriminator, 64),
    _net("dcgan_g_small", 64, dcgan_generator, 32, inputs=vectors(100, 1, 1)), _net("dcgan_d_small", 64, dcgan_discriminator, 32),
    _net("patchgan_d", 128, patch_discriminator), _net("cyclegan_g", 64, cyclegan_generator, 6),
    _net("unet_16", 128, UNet, 16, False), _net("unet_32", 128, UNet, 32, False), _net("unet_32_bilinear", 128, UNet, 32, True),
    _net("ddpm_32", 32, Ddpm, 32, inputs=_ddpm_inputs(32)), _net("ddpm_64", 32, Ddpm, 64, inputs=_ddpm_inputs(64)),
    _net("edsr_32_8", 48, edsr, 32, 8), _net("edsr_64_16", 48, edsr, 64, 16), _net("fsrcnn", 48, fsrcnn),
    _net("vae_32", 64, Vae, 32), _net("autoencoder", 32, autoencoder),
]
