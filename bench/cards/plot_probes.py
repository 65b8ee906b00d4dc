#!/usr/bin/env python3
"""The error on cards left out by how many networks were measured on them, as SVG.

    plot_probes.py LABEL=FILE [LABEL=FILE ...] >docs/probes.svg

FILE is what bench/probes.sh printed. Each has a panel: a thin line for each card, a thick one for the median of the
cards that have so many networks, and the aims. The colours follow the reader's light or dark setting.
"""

import re
import statistics
import sys

WIDTH, HEIGHT, LEFT, TOP, GAP, RIGHT, BOTTOM = 380, 300, 52, 44, 34, 16, 52
MOST = 35
COUNTS = [0, 1, 2, 5, 10, 20, 40]
AIMS = {10: 10, 20: 8, 40: 6}
LEAST_CARDS = 5
NAMED = "RTX 3090"
STYLE = """
  svg { background: #fff; font: 12px sans-serif }
  text { fill: #333 } .small { font-size: 11px; fill: #666 } .title { font-weight: bold; font-size: 13px }
  polyline { fill: none } .grid { stroke: #ddd } .card { stroke: #9aa5b1 } .named { stroke: #b3541e; stroke-width: 1.5 }
  .median { stroke: #1f5fa8; stroke-width: 3 } .dot { fill: #1f5fa8 } .aim { stroke: #2b7a3d; stroke-width: 2 }
  .name { fill: #b3541e } .mid { fill: #1f5fa8 } .goal { fill: #2b7a3d }
  @media (prefers-color-scheme: dark) {
    svg { background: #15191e } text { fill: #ddd } .small { fill: #aaa } .grid { stroke: #333b44 }
    .card { stroke: #66717d } .named { stroke: #f09a5d } .median { stroke: #6fb0f5 } .dot { fill: #6fb0f5 }
    .aim { stroke: #6dc883 }
    .name { fill: #f09a5d } .mid { fill: #6fb0f5 } .goal { fill: #6dc883 }
  }
"""


def cards(path):
    """Card: {networks: error in percent}, 0 for what the data sheet says."""
    found = {}
    with open(path) as f:
        for line in f:
            m = re.match(r"(\S.*?) +\d+ rows +\d+ networks, from the sheet +([\d.]+) %;(.*)", line)
            if m:
                after = re.findall(r"(\d+): [\d.]+ > ([\d.]+)", m[3])
                found[m[1]] = {0: float(m[2]), **{int(k): float(v) for k, v in after}}
    return found


def x_of(count):
    return round(LEFT + (WIDTH - LEFT - RIGHT) * COUNTS.index(count) / (len(COUNTS) - 1), 1)


def y_of(percent):
    return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * min(percent, MOST) / MOST, 1)


def line(points, css):
    return f'<polyline class="{css}" points="{" ".join(f"{x_of(k)},{y_of(v)}" for k, v in sorted(points.items()))}"/>'


def text(x, y, css, words, anchor="middle"):
    return f'<text x="{x}" y="{y}" class="{css}" text-anchor="{anchor}">{words}</text>'


def axes(label):
    out = [text((LEFT + WIDTH - RIGHT) / 2, 24, "title", label)]
    for percent in range(0, MOST + 1, 5):
        y = y_of(percent)
        out.append(f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>')
        out.append(text(LEFT - 8, y + 4, "small", f"{percent} %", "end"))
    out += [text(x_of(k), HEIGHT - BOTTOM + 18, "small", k) for k in COUNTS]
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "small", "networks measured on the card"))
    return out


def panel(label, found):
    out = axes(label)
    for name, points in found.items():
        out.append(line(points, "named" if name == NAMED else "card"))
    medians = {k: [p[k] for p in found.values() if k in p] for k in COUNTS}
    medians = {k: statistics.median(v) for k, v in medians.items() if len(v) >= LEAST_CARDS}
    out.append(line(medians, "median"))
    out += [f'<circle class="dot" cx="{x_of(k)}" cy="{y_of(v)}" r="4"/>' for k, v in medians.items()]
    for k, v in AIMS.items():
        out.append(f'<line class="aim" x1="{x_of(k) - 12}" y1="{y_of(v)}" x2="{x_of(k) + 12}" y2="{y_of(v)}"/>')
    last = max(medians)
    out.append(text(x_of(last) + 8, y_of(medians[last]) + 16, "mid", "median", "start"))
    out.append(text(x_of(40), y_of(AIMS[40]) + 16, "goal", "aims"))
    if NAMED in found:
        k = max(found[NAMED])
        out.append(text(x_of(k), y_of(found[NAMED][k]) - 18, "name", NAMED, "end"))
    return "\n".join(out)


def main():
    panels = [(a.split("=", 1)[0], cards(a.split("=", 1)[1])) for a in sys.argv[1:]]
    if not panels or not all(found for _, found in panels):
        sys.exit(__doc__)
    width = len(panels) * WIDTH + (len(panels) - 1) * GAP
    size = f'viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}"'
    print(f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">')
    print("<title>Error on cards left out of training, by networks measured on them</title>")
    print(f"<style>{STYLE}</style>")
    for i, (label, found) in enumerate(panels):
        print(f'<g transform="translate({i * (WIDTH + GAP)} 0)">\n{panel(label, found)}\n</g>')
    print("</svg>")


if __name__ == "__main__":
    main()
