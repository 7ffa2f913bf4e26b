/* A series with zoom and pan, however long it is: the whole of it in as many points as the screen
 * has, and the part that is looked at fetched again in more. dygraphs has the axes and the mouse;
 * fan.js draws. */
import { el, announce, fill, number, percent, table, when, zoneOf } from './dom.js';
import { colours, drawSeries, valueRange } from './fan.js';

/* Its own legend writes styles into the document, which this page does not allow; ours says more. */
if (typeof Dygraph !== 'undefined') Dygraph.PLUGINS = Dygraph.PLUGINS.filter(p => p.prototype.toString() !== 'Legend Plugin');

const LEVELS = [[0, 'band-1'], [1, 'band-2'], [2, 'band-3']];

function legend(quantiles, filled) {
  const key = (name, text, kind = '') => el('li', {}, el('i', { class: `k-${name} ${kind}` }), text);
  return el('ul', { class: 'keys', 'aria-label': 'Legend' },
    key('measured', 'measured', 'line'),
    filled && key('filled', 'filled gap', 'line'),
    quantiles && key('median', 'median', 'line'),
    quantiles && LEVELS.filter(([k]) => k < quantiles.length >> 1).map(([k, name]) =>
      key(name, percent(quantiles[quantiles.length - 1 - k] - quantiles[k], 0))),
    key('missing', 'no measurement'));
}

/* fetchPart(from, to, points) resolves to the chart document of one series. */
export class SeriesChart {
  constructor(fetchPart) {
    this.fetchPart = fetchPart;
    this.box = el('div', { class: 'chart', tabindex: '0', role: 'group',
      'aria-label': 'Chart. Arrow keys move, plus and minus zoom, 0 shows everything, F the forecast. The same numbers are in the table below.',
      onkeydown: e => this.key(e) });
    this.readout = el('p', { class: 'readout' });
    this.legend = el('div');
    this.numbers = el('details', { ontoggle: () => this.fillTable() }, el('summary', {}, 'What is shown, as a table'));
    const button = (text, label, act) => el('button', { type: 'button', class: 'quiet', 'aria-label': label, title: label, onclick: act }, text);
    this.node = el('div', {}, this.legend, this.box, this.readout,
      el('div', { class: 'row', role: 'group', 'aria-label': 'Zoom and pan' },
        button('←', 'Earlier', () => this.pan(-0.5)), button('→', 'Later', () => this.pan(0.5)),
        button('+', 'Zoom in', () => this.zoom(0.5)), button('−', 'Zoom out', () => this.zoom(2)),
        button('All', 'Show everything', () => this.show(this.first, this.last)),
        this.toForecast = button('Forecast', 'Show the forecast', () => this.showForecast())),
      el('p', { class: 'note wide' }, 'Drag over a stretch to zoom, Shift and drag to move, double-click for everything.'),
      this.numbers);
    this.requests = 0;
    this.resize = new ResizeObserver(() => this.redraw());
    this.resize.observe(this.box);
  }

  destroy() {
    this.resize.disconnect();
    this.graph?.destroy();
    this.graph = null;
    this.requests++;
  }

  redraw() {
    if (this.graph && this.box.clientWidth > 0) this.graph.resize();
  }

  /* document: of the whole series; fan: {quantiles, fans: [..]} or null; part: its newest rows, where they are there already. */
  set(document, fan, part = null) {
    this.document = document;
    this.whole = document.series[0];
    this.detail = part || this.whole;
    this.detailWidth = part ? part.last - part.first : 0;
    this.fan = fan && fan.fans.length ? { ...fan.fans[0], quantiles: fan.quantiles } : null;
    this.toForecast.hidden = !this.fan;
    const ends = this.fan ? this.fan.time.concat(this.fan.origin) : [];
    this.first = Math.min(this.whole.first ?? ends[0], ...ends);
    this.last = Math.max(this.whole.last ?? ends[0], ...ends);
    if (this.first === this.last) this.last += 1;
    fill(this.legend, legend(this.fan && this.fan.quantiles, this.whole.filled));
    fill(this.readout);
    if (typeof Dygraph === 'undefined') {
      fill(this.box, el('p', { class: 'note' }, 'Charts are missing: this server was built without dygraphs. The table below has the numbers.'));
      this.from = this.first;
      this.to = this.last;
      this.numbers.open = true;
      this.fillTable();
      return;
    }
    this.graph?.destroy();
    this.colours = colours();
    this.from = this.first;
    this.to = this.last;
    this.graph = new Dygraph(this.box, this.rows(), this.options());
    for (const handle of this.box.querySelectorAll('img')) handle.alt = ''; /* for the mouse alone */
    if (this.fan) this.showForecast();
    else this.show(this.first, this.last);
  }

  /* More of the series than was known: what is looked at stays. */
  widen(whole) {
    if (this.detail === this.whole) this.detailWidth = this.last - this.first;
    this.whole = whole;
    this.first = Math.min(this.first, whole.first);
    this.draw();
  }

  parts() {
    const covered = this.detail.points.time;
    const whole = this.detail === this.whole || covered.length === 0;
    const s = whole ? this.whole : this.detail;
    return { points: s.points, filled: s.filled, fan: this.fan, usualGap: this.document.usual_gap };
  }

  date(t) { return this.document.time === 'calendar' ? new Date(t) : t; }

  /* What dygraphs knows: overview outside of the detail, for its range selector and the pointer. */
  rows() {
    const rows = [], add = (s, keep) => s.points.time.forEach((t, i) => keep(t) && rows.push([t, s.points.mean[i], null]));
    const d = this.detail.points.time;
    if (this.detail === this.whole || d.length === 0) add(this.whole, () => true);
    else {
      add(this.whole, t => t < d[0]);
      add(this.detail, () => true);
      add(this.whole, t => t > d[d.length - 1]);
    }
    if (this.fan) {
      const middle = this.fan.values[this.fan.values.length >> 1] || this.fan.mean;
      this.fan.time.forEach((t, i) => rows.push([t, null, middle[i]]));
    }
    rows.sort((a, b) => a[0] - b[0]);
    const merged = [];
    for (const row of rows) {
      const last = merged[merged.length - 1];
      if (last && last[0] === row[0]) last[1] ??= row[1], last[2] ??= row[2];
      else merged.push(row);
    }
    if (merged.length === 0) merged.push([this.first, null, null]);
    return merged.map(([t, a, b]) => [this.date(t), a, b]);
  }

  options() {
    const c = this.colours;
    return {
      labels: ['time', 'measured', 'forecast'], interactionModel: Dygraph.defaultInteractionModel, labelsUTC: true, animatedZooms: false,
      colors: [c.measured, c.median], axisLineColor: c.grid, gridLineColor: c.grid, highlightCircleSize: 3,
      showRangeSelector: true, rangeSelectorHeight: 34, rangeSelectorPlotStrokeColor: c.median,
      rangeSelectorPlotFillColor: c['band-2'], rangeSelectorPlotFillGradientColor: c['band-1'],
      rangeSelectorForegroundStrokeColor: c.soft, rangeSelectorBackgroundStrokeColor: c.grid,
      rangeSelectorAlpha: c.dark ? 0.15 : 0.6, /* of its veil, which is light in any case */
      axes: { x: { axisLabelWidth: 72, pixelsPerLabel: 84 }, y: { axisLabelWidth: 44, axisLabelFormatter: v => number(v, 5) } },
      xRangePad: 0, rightGap: 12, dateWindow: [this.from, this.to], valueRange: valueRange(this.parts(), this.from, this.to),
      plotter: () => {},
      underlayCallback: (ctx, area, g) => drawSeries(ctx, area, t => g.toDomXCoord(t), v => g.toDomYCoord(v), this.parts(), this.colours),
      drawCallback: g => this.looked(g),
      highlightCallback: (e, t) => this.read(t),
      unhighlightCallback: () => fill(this.readout),
    };
  }

  /* The window has changed, by whatever means. */
  looked(g) {
    const [from, to] = g.xAxisRange();
    if (this.drawing || (from === this.from && to === this.to)) return;
    this.show(from, to);
  }

  show(from, to) {
    const least = (this.document.usual_gap || (this.last - this.first) / 1e6) * 3, extent = this.last - this.first;
    const width = Math.min(Math.max(to - from, Math.min(least, extent)), extent);
    from = Math.min(Math.max(from, this.first), this.last - width);
    this.from = from;
    this.to = from + width;
    this.draw();
    this.refine();
    if (this.numbers.open) this.fillTable();
  }

  draw() {
    if (!this.graph) return;
    this.drawing = true;
    this.graph.updateOptions({ file: this.rows(), dateWindow: [this.from, this.to], valueRange: valueRange(this.parts(), this.from, this.to) });
    this.drawing = false;
    this.box.dataset.from = this.from;
    this.box.dataset.to = this.to;
    this.box.dataset.exact = this.detail.points.exact;
  }

  recolour() {
    if (!this.graph) return;
    this.colours = colours();
    const { colors, axisLineColor, gridLineColor, rangeSelectorPlotStrokeColor, rangeSelectorPlotFillColor, rangeSelectorPlotFillGradientColor,
      rangeSelectorForegroundStrokeColor, rangeSelectorBackgroundStrokeColor, rangeSelectorAlpha } = this.options();
    this.drawing = true;
    this.graph.updateOptions({ colors, axisLineColor, gridLineColor, rangeSelectorPlotStrokeColor, rangeSelectorPlotFillColor,
      rangeSelectorPlotFillGradientColor, rangeSelectorForegroundStrokeColor, rangeSelectorBackgroundStrokeColor, rangeSelectorAlpha });
    this.drawing = false;
  }

  /* Fetches the part that is looked at, and as much to both sides, unless it is there. */
  refine() {
    const d = this.detail.points, width = this.to - this.from;
    const inside = d.time.length && d.time[0] <= Math.max(this.from, this.whole.first) && d.time[d.time.length - 1] >= Math.min(this.to, this.whole.last);
    const fine = d.exact || (this.detailWidth || this.last - this.first) <= 4 * width;
    clearTimeout(this.timer);
    if (inside && fine) return;
    if (!inside) this.detail = this.whole, this.detailWidth = this.last - this.first, this.draw();
    if (this.whole.points.exact || width >= (this.last - this.first) / 1.05) return;
    this.timer = setTimeout(async () => {
      const number = ++this.requests, points = Math.max(200, 3 * Math.round(this.box.clientWidth / 1.5));
      const found = await this.fetchPart(this.from - width, this.to + width, points).catch(() => null);
      if (number !== this.requests || !found || !found.series.length) return;
      this.detail = found.series[0];
      this.detailWidth = 3 * width;
      this.draw();
      if (this.numbers.open) this.fillTable();
    }, 60);
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
    this.say();
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
    this.say();
  }

  showForecast() {
    if (!this.fan) return;
    const end = this.fan.time[this.fan.time.length - 1], length = end - this.fan.origin;
    this.show(this.fan.origin - 3 * length, end + 0.15 * length);
    this.say();
  }

  say() { announce(`Shows ${when(this.document, this.from)} to ${when(this.document, this.to)}`); }

  key(e) {
    const act = { ArrowLeft: () => this.pan(-0.25), ArrowRight: () => this.pan(0.25), '+': () => this.zoom(0.5), '=': () => this.zoom(0.5),
      '-': () => this.zoom(2), 0: () => this.show(this.first, this.last), f: () => this.showForecast() }[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  }

  nearest(points, t) {
    let best = -1;
    points.time.forEach((u, i) => { if (best < 0 || Math.abs(u - t) < Math.abs(points.time[best] - t)) best = i; });
    return best >= 0 && Math.abs(points.time[best] - t) <= (this.to - this.from) / 100 ? best : -1;
  }

  read(t) {
    const { points, filled, fan } = this.parts(), said = [when(this.document, t)];
    const add = (name, text) => said.push(' · ', name, ' ', el('b', {}, text));
    let i = this.nearest(points, t);
    if (i >= 0 && points.mean[i] !== null) {
      add('measured', number(points.mean[i]));
      if (points.low) said.push(` (${number(points.low[i])} to ${number(points.high[i])})`);
    }
    if (filled && (i = this.nearest(filled, t)) >= 0 && filled.time[i] === t) add('filled', number(filled.mean[i]));
    if (fan && (i = fan.time.indexOf(t)) >= 0) {
      const q = fan.values;
      add('forecast', number((q[q.length >> 1] || fan.mean)[i]));
      if (q.length > 2) said.push(`, ${percent(fan.quantiles[q.length - 2] - fan.quantiles[1], 0)} within ${number(q[1][i])} to ${number(q[q.length - 2][i])}`);
    }
    fill(this.readout, said);
  }

  fillTable() {
    const MOST = 200;
    if (!this.numbers.open) return;
    const { points, filled, fan } = this.parts(), rows = [];
    const within = t => t >= this.from && t <= this.to;
    points.time.forEach((t, i) => within(t) && points.mean[i] !== null && rows.push([t, 'measured', points.mean[i], points.low?.[i], points.high?.[i]]));
    filled?.time.forEach((t, i) => within(t) && filled.mean[i] !== null && rows.push([t, 'filled', filled.mean[i], filled.low[i], filled.high[i]]));
    fan?.time.forEach((t, i) => within(t) && rows.push([t, 'forecast', (fan.values[fan.values.length >> 1] || fan.mean)[i], fan.values[1]?.[i], fan.values[fan.values.length - 2]?.[i]]));
    rows.sort((a, b) => a[0] - b[0]);
    const step = Math.ceil(rows.length / MOST), shown = rows.filter((row, i) => row[1] === 'forecast' || i % step === 0);
    const caption = `${this.whole.variable}, ${when(this.document, this.from)} to ${when(this.document, this.to)} ${zoneOf(this.document)}` +
      (step > 1 ? `; one row in ${step}` : '') + '. Low and high: least and greatest of a stretch; of fills and forecasts what 80 % lie within.';
    fill(this.numbers, this.numbers.firstElementChild,
      table(caption, ['Time', 'What', 'Value', 'Low', 'High'], shown.map(([t, what, ...values]) => [when(this.document, t), what, ...values.map(v => number(v))])));
  }
}
