// Figures of a report that their reader can look into. The page is whole without
// this: each figure is an SVG, and this adds a button to those that have their
// marks beside them as JSON (src/core/plot/data.c). Pressed, it draws the figure
// anew with uPlot, for the screen; paper keeps the SVG.
(() => {
const HEIGHT = 320, ROW = 24, FEWEST = 1e-9;
const font = '12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif';
const words = pieces => (pieces || []).join('');
const day = '{D} {MMM}', full = '{D} {MMM} {YYYY}', clock = '{HH}:{mm}';

// [step of the axis in seconds, label, what is said below where year, month, day or hour changes, ..., 1]
const times = [
  [31536000, '{YYYY}', null, null, null, null, null, null, 1],
  [2419200, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [86400, day, '\n{YYYY}', null, null, null, null, null, 1],
  [60, clock, '\n' + full, null, '\n' + day, null, null, null, 1],
  [1, clock + ':{ss}', '\n' + full, null, '\n' + day, null, null, null, 1]];

// As the SVGs have them, 12.3k, but with four digits.
function number(v) {
  if (v == null) return '\u2013';
  const [least, name] = [[1e9, 'G'], [1e6, 'M'], [1e4, 'k']].find(([least]) => Math.abs(v) >= least) || [1, ''];
  return +(v / (name === 'k' ? 1e3 : least)).toPrecision(4) + name;
}

const has = (axis, v) => v != null && (axis.scale !== 'log' || v > 0);
const ascending = (a, b) => a - b;
// Of more numbers than a function takes as arguments.
const least = all => all.reduce((a, b) => Math.min(a, b));
const most = all => all.reduce((a, b) => Math.max(a, b));

// The marks that can be drawn, by x.
const drawn = (figure, marks) =>
  marks.filter(m => has(figure.x, m[1]) && has(figure.y, m[2])).sort((a, b) => a[1] - b[1]);

// Colours of the SVG beside it, as they are now: light or dark.
function palette(svg) {
  const style = getComputedStyle(svg), get = name => style.getPropertyValue('--pm-' + name).trim();
  return {ink: get('ink'), dim: get('dim'), line: get('line'), of: i => get(i % 8)};
}

// Each form: what uPlot is given, data and series; paint: what is drawn besides.
const forms = {
  // one x for all marks, those of a series at its own
  points(figure, colours) {
    const marks = drawn(figure, figure.marks), all = marks.flatMap(m => [m[1], m[2]]);
    const same = figure.form === 'compare' ? [least(all), most(all)] : null;
    return {
      same, both: true,
      data: [marks.map(m => m[1]),
             ...figure.series.map((_, i) => marks.map(m => m[0] === i ? m[2] : null))],
      series: figure.series.map((name, i) => ({
        label: name, stroke: colours.of(i), paths: () => null, value: (u, v) => number(v),
        points: {show: true, size: 6, width: 0, fill: colours.of(i) + 'b0'}})),
      paint: u => same && line(u, [[same[0], same[0]], [same[1], same[1]]], colours.dim)};
  },
  // a line for each series, and a band between two edges that have no name
  lines(figure, colours) {
    const bands = [], series = [];
    const tables = figure.series.map((name, i) => {
      const marks = drawn(figure, figure.marks.filter(m => m[0] === i)), at = 1 + series.length;
      const edge = {label: '', class: 'edge', width: 0, points: {show: false}, spanGaps: true};
      series.push({label: name || figure.y.title || 'value', stroke: colours.of(i), width: 2, spanGaps: true,
                   points: {show: marks.length <= 60, size: 6, fill: colours.of(i)}, value: (u, v) => number(v)},
                  {...edge}, {...edge});
      bands.push({series: [at + 2, at + 1], fill: colours.of(i) + '29'});
      const ends = k => marks.map(m => has(figure.y, m[3]) && has(figure.y, m[4]) ? m[k] : null);
      return [marks.map(m => m[1]), marks.map(m => m[2]), ends(3), ends(4)];
    });
    return {data: uPlot.join(tables), series, bands};
  },
  // series upon each other: each is drawn with all below it, the highest first
  areas(figure, colours) {
    const marks = drawn(figure, figure.marks), xs = [...new Set(marks.map(m => m[1]))];
    const place = new Map(xs.map((x, i) => [x, i])), own = figure.series.map(() => xs.map(() => 0));
    for (const m of marks) own[m[0]][place.get(m[1])] += m[2];
    const tops = [];
    own.forEach((ys, i) => tops.push(ys.map((y, k) => y + (i ? tops[i - 1][k] : 0))));
    // a value holds up to the next x; the last one as long as the shortest
    const gaps = xs.slice(1).map((x, k) => x - xs[k]);
    xs.push(xs[xs.length - 1] + (gaps.length ? least(gaps) : 1));
    const back = figure.series.map((_, i) => own.length - 1 - i);
    return {
      zero: figure.y.scale !== 'log',
      data: [xs, ...back.map(i => [...tops[i], tops[i][tops[i].length - 1]])],
      series: back.map(i => ({
        label: figure.series[i], stroke: colours.of(i), fill: colours.of(i), width: 0, points: {show: false},
        paths: uPlot.paths.stepped({align: 1}),
        value: (u, v, s, k) => number(k == null || v == null ? null : own[i][Math.min(k, own[i].length - 1)])}))};
  },
  // a bar from x to y in the row of its label, and paler up to what is likely
  spans(figure, colours) {
    const marks = figure.marks.filter(m => has(figure.x, m[1]) && has(figure.x, m[2]));
    const xs = [...new Set(marks.flatMap(m => [m[1], m[2], m[4]]).filter(x => has(figure.x, x)))].sort(ascending);
    return {
      rows: figure.rows,
      data: [xs, ...figure.series.map(() => xs.map(() => null))],
      series: figure.series.map((name, i) => ({
        label: name, stroke: colours.of(i), fill: colours.of(i), points: {show: false}, value: () => ''})),
      paint: u => marks.forEach(m => {
        // rows go downwards
        const top = u.valToPos(m[5] - 0.3, 'y', true), height = u.valToPos(m[5] + 0.3, 'y', true) - top;
        const bar = (from, to, alpha) => {
          const left = u.valToPos(from, 'x', true);
          u.ctx.globalAlpha = alpha;
          u.ctx.fillRect(left, top, Math.max(u.valToPos(to, 'x', true) - left, 1), height);
        };
        u.ctx.fillStyle = colours.of(m[0]);
        if (has(figure.x, m[4])) bar(m[3] ?? m[1], m[4], 0.3);
        bar(m[1], m[2], 1);
      })};
  }};
forms.compare = forms.points;

function line(u, points, colour) {
  u.ctx.beginPath();
  points.forEach(([x, y]) => u.ctx.lineTo(u.valToPos(x, 'x', true), u.valToPos(y, 'y', true)));
  u.ctx.lineWidth = 1.2 * devicePixelRatio;
  u.ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  u.ctx.strokeStyle = colour;
  u.ctx.stroke();
}

// Marks are drawn within the frame only.
function clipped(u, paint) {
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  u.ctx.clip();
  paint();
  u.ctx.restore();
}

// A range with some room at its ends.
function room(scale, low, high, share) {
  if (scale === 'log') {
    const part = Math.max(Math.log(high / low) * share, 0.05);
    return [low * Math.exp(-part), high * Math.exp(part)];
  }
  const part = (high - low || Math.abs(high) || 1) * share;
  return [low - part, high + part];
}

// Round values of an axis that is a logarithm: powers of ten, with 2 and 5 where these are few; of a small part,
// even steps.
function rounds(low, high) {
  if (!(low > 0 && high > low && high < Infinity)) return [];
  const some = [], first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  for (let power = first; power <= last; power++)
    for (const digit of last - first > 4 ? [1] : [1, 2, 5]) some.push(digit * 10 ** power);
  const shown = some.filter(v => v >= low && v <= high);
  if (shown.length > 2) return shown;
  const least = (high - low) / 5, ten = 10 ** Math.floor(Math.log10(least));
  const step = ten * [1, 2, 5, 10].find(digit => digit * ten >= least), even = [];
  // no more than there is room for, where steps are too small to be counted
  for (let k = Math.ceil(low / step); k * step <= high && even.length < 12; k++) even.push(k * step);
  return even;
}

function axis(figure, name, form, colours) {
  const one = figure[name], rows = name === 'y' && form.rows;
  const grid = {stroke: rows ? 'transparent' : colours.line, width: 1};
  const text = {font, labelFont: font, stroke: colours.dim, grid, ticks: {show: false}};
  if (one.title && !rows) Object.assign(text, {label: one.title, labelSize: 20});
  if (one.scale === 'time') Object.assign(text, {values: times, space: 70});
  else if (one.scale === 'log')
    Object.assign(text, {splits: (u, i, low, high) => rounds(low, high), filter: (u, splits) => splits});
  if (one.scale !== 'time' && !rows) text.values = (u, splits) => splits.map(v => v == null ? '' : number(v));
  if (rows) {
    const pen = document.createElement('canvas').getContext('2d');
    pen.font = font;
    const widest = Math.max(...rows.map(r => pen.measureText(r).width));
    Object.assign(text, {stroke: colours.ink, splits: () => rows.map((_, i) => i), values: () => rows,
                         size: () => Math.min(widest + 16, 300)});
  } else if (name === 'y') text.size = 56;
  return text;
}

// The range of x is what is shown; the range of y follows from the marks in it.
function scale(figure, name, form) {
  const one = figure[name], s = {time: one.scale === 'time', distr: one.scale === 'log' ? 3 : 1};
  if (name === 'x') s.range = (u, low, high) => {
    const xs = form.data[0], all = low === xs[0] && high === xs[xs.length - 1];
    if (low == null) return [0, 1];
    if (form.same && all) return room(one.scale, ...form.same, 0.03);
    return form.both && all || low === high ? room(one.scale, low, high, 0.03) : [low, high];
  };
  else if (form.rows) Object.assign(s, {dir: -1, range: () => [-0.5, form.rows.length - 0.5]});
  else if (form.same) s.range = () => room(one.scale, ...form.same, 0.03);
  else s.range = (u, low, high) => {
    if (low == null) return one.scale === 'log' ? [1, 10] : [0, 1];
    if (has(one, figure.reference)) {
      low = Math.min(low, figure.reference);
      high = Math.max(high, figure.reference);
    }
    return form.zero ? [Math.min(low, 0) * 1.05, Math.max(high, 0) * 1.05 || 1] : room(one.scale, low, high, 0.05);
  };
  return s;
}

function draw(box, svg, figure) {
  const colours = palette(svg), form = forms[figure.form](figure, colours), both = !!form.both;
  const time = figure.x.scale === 'time', whole = {};
  const u = new uPlot({
    width: box.clientWidth, height: form.rows ? form.rows.length * ROW + 60 : HEIGHT,
    tzDate: s => uPlot.tzDate(new Date(s * 1e3), 'Etc/UTC'),
    cursor: {drag: {x: true, y: both, uni: both ? 20 : null}, y: both, points: {show: !form.rows}},
    scales: {x: scale(figure, 'x', form), y: scale(figure, 'y', form)},
    axes: [axis(figure, 'x', form, colours), axis(figure, 'y', form, colours)],
    series: [{label: time ? 'UTC' : figure.x.title, value: time ? '{YYYY}-{MM}-{DD} {HH}:{mm}' : (u, v) => number(v)},
             ...form.series],
    bands: form.bands,
    hooks: {
      // its scales have no values before
      ready: [u => { for (const name of ['x', 'y']) whole[name] = [u.scales[name].min, u.scales[name].max]; }],
      draw: [u => clipped(u, () => {
        const {min, max} = u.scales.x, at = figure.reference;
        form.paint?.(u);
        if (has(figure.y, at) && !form.rows) line(u, [[min, at], [max, at]], colours.dim);
      })]}
  }, form.data, box);
  u.over.style.cursor = 'crosshair';
  return {u, both, whole};
}

// The scales about their middle: times > 1 shows more, < 1 less; by: moved by this share of what is shown.
function change({u, whole, both}, times, by) {
  for (const name of both ? ['x', 'y'] : ['x']) {
    const log = u.scales[name].distr === 3, to = log ? Math.log : v => v, from = log ? Math.exp : v => v;
    const [first, last] = whole[name].map(to), low = to(u.scales[name].min), high = to(u.scales[name].max);
    const width = Math.min((high - low) * times, last - first);
    const middle = (low + high) / 2 + (high - low) * by;
    const begin = Math.max(first, Math.min(middle - width / 2, last - width));
    if (width > (last - first) * FEWEST) u.setScale(name, {min: from(begin), max: from(begin + width)});
  }
}

function button(bar, name, action) {
  const b = bar.appendChild(document.createElement('button'));
  b.type = 'button';
  b.textContent = name;
  b.addEventListener('click', action);
  return b;
}

function addZoom(script) {
  const plot = script.closest('.plot'), svg = plot?.querySelector('svg');
  const figure = JSON.parse(script.textContent);
  // dots and lines have a place on both axes, bars two on the first
  const second = figure.form === 'spans' ? figure.x : figure.y;
  if (!svg || !forms[figure.form] || !figure.marks.some(m => has(figure.x, m[1]) && has(second, m[2]))) return;
  figure.series = figure.series.map(words);
  figure.rows = figure.rows.map(words);
  for (const name of ['x', 'y']) figure[name].title = words(figure[name].title);
  const bar = document.createElement('p'), box = document.createElement('div');
  bar.className = 'zoom';
  box.className = 'zoomed';
  box.hidden = true;
  plot.after(bar);
  plot.append(box);
  let shown = null, inside = [];
  const show = () => {
    shown?.u.destroy();
    shown = draw(box, svg, figure);
    plot.zoomed = shown.u;
  };
  const toggle = button(bar, 'Zoom', () => {
    box.hidden = !box.hidden;
    svg.classList.toggle('replaced', !box.hidden);
    toggle.setAttribute('aria-pressed', String(!box.hidden));
    inside.forEach(e => { e.hidden = box.hidden; });
    if (!box.hidden) return show();
    shown.u.destroy();
    shown = plot.zoomed = null;
  });
  toggle.setAttribute('aria-pressed', 'false');
  inside = [button(bar, 'Closer', () => change(shown, 0.5, 0)), button(bar, 'Wider', () => change(shown, 2, 0)),
            button(bar, 'Left', () => change(shown, 1, -0.25)), button(bar, 'Right', () => change(shown, 1, 0.25)),
            button(bar, 'Whole', show)];
  const says = bar.appendChild(document.createElement('span'));
  says.textContent = 'Drag over a part to look into it; a double click shows the whole.';
  inside.push(says);
  inside.forEach(e => { e.hidden = true; });
  matchMedia('(prefers-color-scheme:dark)').addEventListener('change', () => { if (shown) show(); });
  new ResizeObserver(() => {
    const width = box.clientWidth;
    if (shown && width !== shown.u.width) shown.u.setSize({width, height: shown.u.height});
  }).observe(box);
}

document.querySelectorAll('script.marks').forEach(addZoom);
})();
