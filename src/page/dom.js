/* Elements, numbers as people read them, tables. */

/* el('p', { class: 'note', onclick: f }, 'text', child, null): text never becomes markup. */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name in node && name !== 'list' && typeof value !== 'string') node[name] = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children.flat(Infinity));
  return node;
}

export const byId = id => document.getElementById(id);

/* A word to screen readers; the same word twice is said twice. */
export function announce(text) {
  const status = byId('status');
  status.textContent = status.textContent === text ? text + ' ' : text;
}

let numberOfFields = 0;
/* A label above its input or select. */
export function field(label, input) {
  input.id = input.id || `field-${++numberOfFields}`;
  return el('div', { class: 'field' }, el('label', { for: input.id }, label), input);
}

export function select(options, chosen) {
  return el('select', {}, options.map(o => {
    const [value, text] = Array.isArray(o) ? o : [o, o];
    return el('option', { value, selected: value === chosen }, text);
  }));
}

/* ---- numbers ---- */

export function number(v, digits = 4) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '–';
  if (v !== 0 && (Math.abs(v) >= 1e7 || Math.abs(v) < 1e-4)) return v.toExponential(2);
  return Number(v.toPrecision(digits)).toLocaleString('en', { maximumSignificantDigits: digits });
}
export const count = n => n.toLocaleString('en');
export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

/* Seconds as the options of the library have them: "14d", "48h", "90min". */
export function duration(seconds) {
  if (!Number.isFinite(seconds) || seconds <= 0) return '';
  for (const [unit, length] of [['d', 86400], ['h', 3600], ['min', 60]])
    if (seconds >= length && Math.abs(seconds / length - Math.round(seconds / length)) < 1e-9)
      return `${Math.round(seconds / length)}${unit}`;
  return `${Number(seconds.toPrecision(6))}s`;
}
/* The same for people, rounded. */
export function span(seconds) {
  if (!Number.isFinite(seconds)) return 'for ever';
  for (const [unit, length] of [['years', 31557600], ['days', 86400], ['h', 3600], ['min', 60], ['s', 1]])
    if (seconds >= length || unit === 's') {
      const n = number(seconds / length, 3);
      return `${n} ${n === '1' ? unit.replace(/s$/, '') || unit : unit}`;
    }
}

const parts = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' });
/* A time of a chart: calendar times in UTC, or a plain number. */
export function when(chart, t) {
  if (t === null || t === undefined) return '–';
  return chart.time === 'calendar' ? parts.format(new Date(t)) : `${number(t, 8)} ${chart.unit}`.trim();
}
export const zoneOf = chart => chart.time !== 'calendar' ? '' : chart.zone && chart.zone !== 'UTC' ? `UTC (data: ${chart.zone})` : 'UTC';

/* ---- tables ---- */

/* head: names; rows: arrays of text or nodes, the first of each a header. */
export function table(caption, head, rows, classOf = () => null) {
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    el('table', {}, el('caption', {}, caption),
      el('thead', {}, el('tr', {}, head.map(h => el('th', { scope: 'col' }, h)))),
      el('tbody', {}, rows.map((row, i) => el('tr', { class: classOf(i) },
        row.map((cell, k) => k === 0 ? el('th', { scope: 'row' }, cell) : el('td', {}, cell)))))));
}

/* Nodes in the place of what a node had. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

/* The colour that a name of page.css has now, for canvases. */
export function colour(name) {
  const probe = byId('status');
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.style.color = '';
  return found;
}

/* A canvas as sharp as the screen: width and height are those of its box. */
export function context(canvas) {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  const ctx = canvas.getContext('2d');
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { ctx, width: box.width, height: box.height };
}
