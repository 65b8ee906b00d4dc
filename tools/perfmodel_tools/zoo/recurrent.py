"""Recurrent networks, and convolutions over time."""

import functools

import torch
from torch import nn

from .entry import Network, signal, tokens
from .vision import Residual


class LanguageModel(nn.Module):
    """Words in, next words out, one recurrent layer type between (Zaremba 2014)."""

    def __init__(self, cell, width, layers, words, size):
        super().__init__()
        self.word, self.drop = nn.Embedding(words, width), nn.Dropout(0.5)
        self.body = cell(width, width, layers, batch_first=True, dropout=0.5 if layers > 1 else 0.0)
        self.out = nn.Linear(width, words)

    def forward(self, x):
        return self.out(self.drop(self.body(self.drop(self.word(x)))[0]))


class Tagger(nn.Module):
    """A tag for every word, looking both ways."""

    def __init__(self, cell, width, words, size):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.body, self.out = cell(width, width, 2, batch_first=True, bidirectional=True), nn.Linear(2 * width, 40)

    def forward(self, x):
        return self.out(self.body(self.word(x))[0])


class Gnmt(nn.Module):
    """Translation by stacked LSTMs with attention (Wu 2016), teacher-forced."""

    def __init__(self, width, layers, words, size):
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.both = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.encoder = nn.LSTM(width, width, layers - 1, batch_first=True)
        self.first = nn.LSTM(width, width, batch_first=True)
        self.query, self.memory = nn.Linear(width, width), nn.Linear(width, width)
        self.decoder, self.out = nn.LSTM(2 * width, width, layers - 1, batch_first=True), nn.Linear(width, words)

    def forward(self, x, y):
        memory = self.both(self.source(x))[0]
        memory = memory + self.encoder(memory)[0]
        y = self.first(self.target(y))[0]
        weights = torch.softmax(self.query(y) @ self.memory(memory).transpose(1, 2), -1)
        return self.out(self.decoder(torch.cat([y, weights @ memory], 2))[0])


class Stepwise(nn.Module):
    """A GRU decoder that looks at the input at every step (Bahdanau 2014): the loop is in the graph."""

    def __init__(self, width, words, size):
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder, self.cell = nn.GRU(width, width, batch_first=True), nn.GRUCell(2 * width, width)
        self.key, self.query, self.score = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.out = nn.Linear(width, words)

    def forward(self, x, y):
        memory, _ = self.encoder(self.source(x))
        keys, y, states = self.key(memory), self.target(y), []
        state = memory[:, -1]
        for step in range(y.shape[1]):
            weights = torch.softmax(self.score(torch.tanh(keys + self.query(state)[:, None])), 1)
            state = self.cell(torch.cat([y[:, step], (weights * memory).sum(1)], 1), state)
            states.append(state)
        return self.out(torch.stack(states, 1))


class DeepSpeech(nn.Module):
    """Spectrogram to letters (Amodei 2015): two convolutions, bidirectional GRUs."""

    def __init__(self, width, layers, size):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
                                   nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
        self.body = nn.GRU(32 * 41, width, layers, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, 29)

    def forward(self, x):
        x = self.front(x)
        return self.out(self.body(x.flatten(1, 2).transpose(1, 2))[0])


def _spectrogram(batch, size, device):
    return torch.randn(batch, 1, 161, size, device=device)


class Crnn(nn.Module):
    """A line of text in an image (Shi 2015)."""

    def __init__(self, size):
        super().__init__()
        def conv(i, o, pool, norm=False):
            return [nn.Conv2d(i, o, 3, 1, 1)] + ([nn.BatchNorm2d(o)] if norm else []) + [nn.ReLU()] + ([nn.MaxPool2d(*pool)] if pool else [])
        self.front = nn.Sequential(*conv(1, 64, (2, 2)), *conv(64, 128, (2, 2)), *conv(128, 256, None),
                                   *conv(256, 256, ((2, 1), (2, 1))), *conv(256, 512, None, True),
                                   *conv(512, 512, ((2, 1), (2, 1)), True), nn.Conv2d(512, 512, 2), nn.ReLU())
        self.body, self.out = nn.LSTM(512, 256, 2, batch_first=True, bidirectional=True), nn.Linear(512, 37)

    def forward(self, x):
        return self.out(self.body(self.front(x).squeeze(2).transpose(1, 2))[0])


class ConvLstm(nn.Module):
    """Frames to frames (Shi 2015); the loop over time is in the graph."""

    def __init__(self, width, frames, size):
        super().__init__()
        self.width, self.frames = width, frames
        self.gates, self.out = nn.Conv2d(1 + width, 4 * width, 3, padding=1), nn.Conv2d(width, 1, 1)

    def forward(self, x):
        hidden = cell = torch.zeros_like(x[:, 0]).expand(-1, self.width, -1, -1)
        for step in range(self.frames):
            i, f, o, g = self.gates(torch.cat([x[:, step], hidden], 1)).chunk(4, 1)
            cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
            hidden = torch.sigmoid(o) * torch.tanh(cell)
        return self.out(hidden)


def _frames(count):
    return lambda batch, size, device: torch.randn(batch, count, 1, size, size, device=device)


def m5(width, size):
    """Dai 2016: raw sound."""
    layers, channels = [nn.Conv1d(1, width, 80, 16), nn.BatchNorm1d(width), nn.ReLU(), nn.MaxPool1d(4)], width
    for o in (width, 2 * width, 4 * width):
        layers += [nn.Conv1d(channels, o, 3, padding=1), nn.BatchNorm1d(o), nn.ReLU(), nn.MaxPool1d(2)]
        channels = o
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(channels, 35))


class Gated(nn.Module):
    """A dilated convolution with a gate."""

    def __init__(self, width, dilation):
        super().__init__()
        self.pad, self.conv = nn.ConstantPad1d((2 * dilation, 0), 0.0), nn.Conv1d(width, 2 * width, 3, dilation=dilation)
        self.mix = nn.Conv1d(width, width, 1)

    def forward(self, x):
        a, b = self.conv(self.pad(x)).chunk(2, 1)
        return self.mix(torch.tanh(a) * torch.sigmoid(b))


def wavenet(width, layers, size):
    """Oord 2016."""
    return nn.Sequential(nn.Conv1d(1, width, 1), *(Residual(Gated(width, 1 << k % 8)) for k in range(layers)), nn.ReLU(),
                         nn.Conv1d(width, 64, 1))


def ecgnet(width, size):
    """Signals such as an ECG."""
    def block(i, o):
        body = nn.Sequential(nn.Conv1d(i, o, 7, 2, 3), nn.BatchNorm1d(o), nn.ReLU(), nn.Dropout(0.2), nn.Conv1d(o, o, 7, 1, 3),
                             nn.BatchNorm1d(o))
        return Residual(body, nn.Conv1d(i, o, 1, 2), nn.ReLU())
    widths = [width, width, 2 * width, 4 * width, 8 * width]
    return nn.Sequential(nn.Conv1d(12, width, 15, 2, 7), nn.BatchNorm1d(width), nn.ReLU(),
                         *(block(i, o) for i, o in zip(widths, widths[1:])), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
                         nn.Linear(8 * width, 5))


def _net(name, size, inputs, build, *args) -> Network:
    return Network(name, "seq", size, functools.partial(build, *args), inputs)


NETWORKS = [
    *(_net(f"lstmlm_{name}", 32, tokens(10000), LanguageModel, nn.LSTM, width, 2, 10000)
      for name, width in (("small", 200), ("medium", 650), ("large", 1500))),
    *(_net(f"grulm_{name}", 32, tokens(10000), LanguageModel, nn.GRU, width, 2, 10000)
      for name, width in (("small", 256), ("medium", 512))),
    _net("rnnlm", 32, tokens(10000), LanguageModel, nn.RNN, 512, 1, 10000),
    _net("lstmtagger", 32, tokens(20000), Tagger, nn.LSTM, 256, 20000), _net("grutagger", 32, tokens(20000), Tagger, nn.GRU, 128, 20000),
    _net("gnmt_mini", 24, tokens(8000, 1, 1), Gnmt, 256, 2, 8000), _net("gnmt_small", 24, tokens(16000, 1, 1), Gnmt, 512, 4, 16000),
    _net("stepwise_gru", 16, tokens(8000, 1, 1), Stepwise, 256, 8000),
    _net("deepspeech", 128, _spectrogram, DeepSpeech, 256, 2),
    _net("crnn", 128, lambda batch, size, device: torch.randn(batch, 1, 32, size, device=device), Crnn),
    Network("convlstm", "image", 32, functools.partial(ConvLstm, 32, 8), _frames(8)),
    _net("m5", 250, signal(1, 32), m5, 64), _net("wavenet", 256, signal(), wavenet, 32, 16),
    _net("ecgnet", 250, signal(12, 4), ecgnet, 32),
]
