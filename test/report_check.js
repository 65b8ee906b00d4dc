// Looks at a report in a browser, from within: put into a copy of the page by
// test/report.sh. Replaces the page by what it found, a line each.
addEventListener('load', async () => {
  const found = [];
  addEventListener('error', e => found.push(`error: ${e.message}`));
  const luminance = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/, 0\)$/.test(colour)) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  let texts = 0, marks = 0;
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    const name = svg.closest('figure').querySelector('h3').textContent;
    const size = 12 * frame.width / svg.viewBox.baseVal.width;
    if (size < 9) found.push(`${name}: its letters are ${size.toFixed(1)} pixels high`);
    if (svg.querySelectorAll('text.d').length < 2) found.push(`${name}: it has no axis`);
    const boxes = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()]);
    for (const [t, b] of boxes) {
      texts++;
      if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1)
        found.push(`${name}: "${t.textContent}" is cut off`);
      if (contrast(getComputedStyle(t).fill, ground(svg)) < 4.5) found.push(`${name}: "${t.textContent}" is hard to read`);
    }
    for (let i = 0; i < boxes.length; i++)
      for (let k = 0; k < i; k++) {
        const [s, a] = boxes[i], [t, b] = boxes[k];
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
          found.push(`${name}: "${s.textContent}" and "${t.textContent}" lie upon each other`);
      }
    for (const m of svg.querySelectorAll('rect[class], circle, path[class]')) {
      marks++;
      const style = getComputedStyle(m);
      const colour = /\bf\d/.test(m.getAttribute('class')) ? style.fill : /\bs\d/.test(m.getAttribute('class')) ? style.stroke : null;
      if (colour && contrast(colour, ground(svg)) < 3) found.push(`${name}: colour ${colour} is hard to see`);
    }
  }
  for (const e of document.querySelectorAll('h1, h2, h3, p, dt, dd, small, th, td, summary, a, button, footer'))
    if (e.textContent.trim() && contrast(getComputedStyle(e).color, ground(e)) < 4.5) found.push(`"${e.textContent.trim().slice(0, 40)}" is hard to read`);
  if (document.documentElement.scrollWidth > innerWidth + 1) found.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);
  for (const a of document.querySelectorAll('nav a')) if (!document.querySelector(a.getAttribute('href'))) found.push(`nothing is at ${a.getAttribute('href')}`);
  for (const d of document.querySelectorAll('details')) {
    d.querySelector('summary').focus();
    if (document.activeElement !== d.querySelector('summary')) found.push('the SQL of a figure cannot be opened by keyboard');
  }
  const zoomed = await lookInto(found);
  const counted = `${document.querySelectorAll('svg').length} plots, ${texts} texts, ${marks} marks, ${document.querySelectorAll('table').length} tables, ${zoomed.length} looked into`;
  document.documentElement.innerHTML = `<body><pre>\nFOUND ${counted}\n${found.map(f => 'WRONG ' + f.replace(/</g, '&lt;')).join('\n')}\n</pre>`;
});
