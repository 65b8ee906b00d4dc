// Looks into the figures of a report in a browser, from within: presses the
// buttons and drags, and compares what is shown with what was asked for. What is
// wrong goes to found; returns the names of the figures. For report_check.js.
async function lookInto(found) {
  const wait = () => new Promise(done => setTimeout(done, 20));
  const names = [], bars = document.querySelectorAll('p.zoom'), plots = document.querySelectorAll('.plot:has(script.marks)');
  if (bars.length !== plots.length) found.push(`${bars.length} of ${plots.length} figures have buttons`);
  for (const bar of bars) {
    const plot = bar.previousElementSibling, svg = plot.querySelector('svg'), name = bar.closest('figure').querySelector('h3').textContent;
    const say = what => found.push(`${name}: ${what}`);
    const [toggle, closer, wider, left, right, whole] = bar.querySelectorAll('button');
    const u = () => plot.zoomed;
    const range = (key = 'x') => [u().scales[key].min, u().scales[key].max];
    const same = (a, b) => a.every((v, i) => Math.abs(v - b[i]) <= 1e-9 * Math.abs(v) + 1e-12);
    const is_whole = () => same(range('x'), all.x) && same(range('y'), all.y);
    const within = (a, b) => a[0] >= b[0] - 1e-9 * Math.abs(b[0]) && a[1] <= b[1] + 1e-9 * Math.abs(b[1]) && a[1] - a[0] < 0.9 * (b[1] - b[0]);
    if (toggle.textContent !== 'Zoom' || !closer.hidden || getComputedStyle(svg).display === 'none') say('is not closed at the beginning');
    toggle.focus();
    if (document.activeElement !== toggle) say('cannot be reached by keyboard');
    toggle.click();
    await wait();
    names.push(name);
    if (!u()) { say('does not open'); continue; }
    if (getComputedStyle(svg).display !== 'none' || closer.hidden || toggle.getAttribute('aria-pressed') !== 'true') say('the SVG is still there');
    if (document.documentElement.scrollWidth > innerWidth + 1) say(`makes the page ${document.documentElement.scrollWidth} wide`);
    const pixels = new Uint32Array(u().ctx.getImageData(...['left', 'top', 'width', 'height'].map(k => u().bbox[k])).data.buffer);
    if (new Set(pixels).size < 4) say('nothing is drawn');
    const all = {x: range('x'), y: range('y')};
    if (![...all.x, ...all.y].every(Number.isFinite)) say('has no range');
    // a drag shows what was under it
    const over = u().over, frame = over.getBoundingClientRect();
    const at = (type, x, y, on) => on.dispatchEvent(new MouseEvent(type, {bubbles: true, button: 0, movementX: type === 'mousemove' ? 9 : 0,
      clientX: frame.left + x * frame.width, clientY: frame.top + y * frame.height}));
    const from = u().posToVal(0.25 * frame.width, 'x'), to = u().posToVal(0.6 * frame.width, 'x');
    at('mousemove', 0.25, 0.3, over);
    at('mousedown', 0.25, 0.3, over);
    at('mousemove', 0.6, 0.7, over);
    at('mouseup', 0.6, 0.7, document);
    await wait();
    const shown = range(), near = (a, b) => Math.abs(a - b) <= 0.02 * (to - from);
    if (!within(shown, all.x) || !near(shown[0], from) || !near(shown[1], to)) say(`a drag shows ${shown}, not ${[from, to]}, of ${all.x}`);
    closer.click();
    await wait();
    if (!within(range(), shown)) say('does not come closer');
    const here = range();
    right.click();
    await wait();
    if (!(range()[0] > here[0])) say('does not move to the right');
    left.click();
    await wait();
    wider.click();
    await wait();
    if (!within(here, range())) say('does not get wider');
    for (let i = 0; i < 9; i++) {
      wider.click();
      await wait();
    }
    if (!same(range(), all.x)) say(`gets wider than the whole: ${range()} of ${all.x}`);
    at('mousedown', 0.25, 0.3, over);
    at('mousemove', 0.6, 0.7, over);
    at('mouseup', 0.6, 0.7, document);
    await wait();
    if (is_whole()) say('a second drag does nothing');
    at('dblclick', 0.5, 0.5, over);
    await wait();
    if (!is_whole()) say(`a double click does not show the whole: ${range()}, ${range('y')} of ${all.x}, ${all.y}`);
    closer.click();
    await wait();
    whole.click();
    await wait();
    if (!is_whole()) say('the button does not show the whole');
    toggle.click();
    await wait();
    if (u() || plot.querySelector('canvas') || getComputedStyle(svg).display === 'none') say('does not close');
  }
  return names;
}

// Presses every button of figures with odd marks, of which nobody knows what they should show: it must be a range.
async function pressAll(found) {
  const bars = document.querySelectorAll('p.zoom');
  for (const bar of bars) {
    const buttons = [...bar.querySelectorAll('button')], plot = bar.previousElementSibling;
    for (const i of [0, 1, 1, 4, 2, 3, 5, 1]) {
      buttons[i].click();
      await new Promise(done => setTimeout(done, 20));
      const [left, right, low, high] = ['x', 'y'].flatMap(k => [plot.zoomed.scales[k].min, plot.zoomed.scales[k].max]);
      if (![left, right, low, high].every(Number.isFinite) || left >= right || low >= high)
        found.push(`${bar.closest('figure').querySelector('h3').textContent}: ${buttons[i].textContent} shows ${[left, right, low, high]}`);
    }
    buttons[0].click();
  }
  return bars.length;
}
