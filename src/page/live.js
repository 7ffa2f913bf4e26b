/* A stream as readings come: all series as small multiples, the newest forecasts, alarms. */
import { announce, context, el, field, fill, number, percent, select, when } from './dom.js';
import { address, json, listen } from './api.js';
import { SeriesChart } from './chart.js';
import { colours, drawSeries, valueRange } from './fan.js';

/* Streams of many entities send no forecasts as events: they are asked for now and then, and no
 * more than a tenth of the time is spent on it. */
const ALARMS_KEPT = 100, POINTS = 240, PAUSE = 900, AGAIN = 5000, SHARE = 10;

const OVERVIEW = 1600; /* points of all that the store has of a series */

const keyOf = s => `${s.entity}\n${s.variable}`;

/* The overview, and the rows that came since it was fetched. */
function withNewest(overview, newest) {
  const p = overview.points, q = newest.points, end = p.time.length ? p.time[p.time.length - 1] : -Infinity;
  const fresh = [...q.time.keys()].filter(i => q.time[i] > end), and = (column, more) => column.concat(fresh.map(i => more[i]));
  const band = p.low && { low: and(p.low, q.low || q.mean), high: and(p.high, q.high || q.mean) };
  return { ...overview, last: newest.last, points: { exact: p.exact && q.exact, time: and(p.time, q.time), mean: and(p.mean, q.mean), ...band } };
}

export class LiveView {
  constructor(app, root) {
    this.app = app;
    this.root = root;
    this.pick = el('div', { class: 'row' });
    this.state = el('span', { class: 'badge', role: 'status' }, 'not connected');
    this.alarms = el('ul', { class: 'alarms' });
    const log = el('div', { class: 'log', role: 'log', 'aria-live': 'polite', 'aria-label': 'Alarms, newest first', tabindex: '0' }, this.alarms);
    this.none = el('p', { class: 'note' }, 'None so far.');
    this.grid = el('ul', { class: 'multiples' });
    this.large = el('div');
    this.body = el('div', { hidden: true },
      el('section', { class: 'card', 'aria-labelledby': 'h-alarms' }, el('h2', { id: 'h-alarms' }, 'Alarms'), this.none, log),
      this.large, el('h2', { id: 'h-series' }, 'All series'), this.grid);
    this.empty = el('p', { class: 'lead' });
    fill(root, el('h1', { id: 'title-live' }, 'Live'), this.pick, this.empty, this.body);
    this.tiles = new Map();
    this.resize = new ResizeObserver(() => this.drawAll());
    this.resize.observe(this.grid);
    app.recolours.add(() => { this.drawAll(); this.chart?.recolour(); });
  }

  leave() {
    this.end?.abort();
    clearTimeout(this.timer);
    clearTimeout(this.again);
    this.waiting = false;
  }

  async enter() {
    const { streams } = await json('/v1/streams'), ready = streams.filter(s => s.ready).map(s => s.name);
    this.body.hidden = ready.length === 0;
    fill(this.empty, ready.length === 0 && ['No readings arrive here yet. Start the server with --store FILE and send some: ',
      el('code', {}, "curl --data-binary @new.csv -H 'Content-Type: text/csv' " + location.origin + '/v1/streams/NAME/readings')]);
    fill(this.pick);
    if (ready.length === 0) {
      this.timer = setTimeout(() => this.enter().catch(e => this.app.complain(e)), 3000);
      return;
    }
    const stream = select(ready, ready.includes(this.name) ? this.name : ready[0]);
    stream.onchange = () => this.open(stream.value);
    fill(this.pick, field('Stream', stream), this.state);
    this.open(stream.value);
  }

  open(name) {
    this.leave();
    this.app.calm();
    if (name !== this.name) {
      this.tiles.clear();
      this.chart?.destroy();
      this.chart = this.chosen = null;
      fill(this.grid);
      fill(this.large);
      fill(this.alarms);
      this.none.hidden = false;
    }
    this.name = name;
    this.end = new AbortController();
    this.refresh();
    listen(name, this.end.signal, (kind, data) => this.heard(kind, data)).catch(e => this.app.complain(e));
  }

  heard(kind, data) {
    if (kind === 'open' || kind === 'lost') {
      this.state.textContent = kind === 'open' ? 'connected' : 'connection lost, trying again';
      this.state.className = `badge ${kind === 'open' ? 'on' : 'off'}`;
      if (kind === 'open') this.soon();
    } else if (kind === 'alarm') this.alarm(data);
    else if (kind === 'forecast') this.soon();
  }

  /* At most once in a while, however many readings come. */
  soon() {
    if (this.waiting) return;
    this.waiting = true;
    this.timer = setTimeout(() => {
      this.waiting = false;
      if (!this.end.signal.aborted) this.refresh();
    }, Math.max(0, PAUSE - (Date.now() - (this.refreshed || 0))));
  }

  async refresh() {
    const name = this.name, end = this.end;
    this.refreshed = Date.now();
    clearTimeout(this.again);
    try {
      const [chart, fans] = await Promise.all([json(address(`/v1/streams/${name}/chart`, { points: POINTS })),
        json(`/v1/streams/${name}/fan`).catch(() => ({ fans: [], quantiles: [] }))]);
      if (name !== this.name) return;
      this.chartDocument = chart;
      const c = colours(), fanOf = new Map(fans.fans.map(f => [keyOf(f), f]));
      for (const s of chart.series) {
        const fan = fanOf.get(keyOf(s));
        if (fan || !fans.fans.length) this.tile(s, fan && { ...fan, quantiles: fans.quantiles }, c);
      }
      if (this.chosen) this.showLarge();
    } catch (e) {
      this.app.complain(e);
    }
    if (!end.signal.aborted) this.again = setTimeout(() => this.soon(), Math.max(AGAIN, SHARE * (Date.now() - this.refreshed)));
  }

  /* ---- small multiples ---- */

  tile(s, fan, c) {
    const key = keyOf(s);
    let t = this.tiles.get(key);
    if (!t) {
      t = { canvas: el('canvas', { role: 'img' }), text: el('p'), alarms: [] };
      t.node = el('li', { class: 'multiple' }, el('h3', {}, el('span', { title: `${s.entity}, ${s.variable}` }, `${s.entity} · ${s.variable}`),
        el('button', { type: 'button', class: 'quiet', 'aria-label': `Enlarge ${s.entity} ${s.variable}`, onclick: () => { this.chosen = key; this.showLarge(true); } }, 'Open')),
        t.canvas, t.text);
      this.tiles.set(key, t);
      this.grid.append(t.node);
    }
    Object.assign(t, { series: s, fan });
    const n = s.points.time.length - 1, k = fan ? fan.values.length - 2 : 0;
    const text = `Last ${n >= 0 ? number(s.points.mean[n]) : '–'}, ${when(this.chartDocument, s.last)}` +
      (fan ? `; next ${number(fan.values[fan.values.length >> 1][0])} (${percent(fan.quantiles[k] - fan.quantiles[1], 0)}: ${number(fan.values[1][0])} to ${number(fan.values[k][0])})` : '');
    t.text.textContent = text;
    t.canvas.setAttribute('aria-label', `${s.entity} ${s.variable}. ${text}`);
    this.drawTile(t, c);
  }

  drawTile(t, c) {
    if (!t.canvas.isConnected || t.canvas.clientWidth === 0) return;
    const { ctx, width, height } = context(t.canvas), { points } = t.series, fan = t.fan;
    const length = fan ? fan.time[fan.time.length - 1] - fan.origin : 0, to = fan ? fan.time[fan.time.length - 1] : t.series.last;
    const from = fan ? Math.max(t.series.first, fan.origin - 4 * length) : t.series.first;
    const what = { points, fan, usualGap: this.chartDocument.usual_gap }, [low, high] = valueRange(what, from, to);
    const area = { x: 0, y: 4, w: width, h: height - 8 };
    what.alarms = t.alarms;
    drawSeries(ctx, area, v => area.x + (v - from) / (to - from || 1) * area.w, v => area.y + area.h - (v - low) / (high - low) * area.h, what, c);
  }

  drawAll() {
    if (this.root.hidden) return;
    const c = colours();
    for (const t of this.tiles.values()) this.drawTile(t, c);
  }

  /* ---- the one that was opened ---- */

  showLarge(focus) {
    const t = this.tiles.get(this.chosen);
    if (!t) return;
    if (!this.chart || this.largeKey !== this.chosen) {
      this.chart?.destroy();
      this.largeKey = this.chosen;
      const { entity, variable } = t.series, path = `/v1/streams/${this.name}/history/chart`;
      const part = (from, to, points) => json(address(path, { entity, variable, from, to, points })), chart = (this.chart = new SeriesChart(part));
      this.overview = null;
      part(null, null, OVERVIEW).then(found => {
        if (chart !== this.chart) return;
        this.overview = found.series[0];
        chart.widen(withNewest(this.overview, t.series));
      }).catch(e => this.app.complain(e));
      const close = el('button', { type: 'button', class: 'quiet', onclick: () => { this.chart.destroy(); this.chart = this.chosen = null; fill(this.large); } }, 'Close');
      fill(this.large, el('section', { class: 'card', 'aria-label': `${entity} ${variable}` }, el('div', { class: 'row' }, el('h2', {}, `${entity} · ${variable}`), close), this.chart.node));
    } else if (this.chart.from !== undefined && this.moved()) return; /* somebody looks at a part of it */
    const whole = this.overview ? withNewest(this.overview, t.series) : t.series;
    this.chart.set({ ...this.chartDocument, series: [whole] }, t.fan && { quantiles: t.fan.quantiles, fans: [t.fan] }, t.series);
    this.shown = [this.chart.from, this.chart.to];
    if (focus) this.chart.box.focus();
  }

  moved() { return this.chart.from !== this.shown[0] || this.chart.to !== this.shown[1]; }

  /* ---- alarms ---- */

  alarm(a) {
    const over = !a.open, text = `${a.entity}, ${a.variable}: ${a.condition}${over ? ' has ended' : ''}`;
    const why = a.value === null ? '' : `measured ${number(a.value)}, expected ${number(a.expected)} (${number(a.low)} to ${number(a.high)})`;
    this.none.hidden = true;
    this.alarms.prepend(el('li', { class: over ? 'over' : '' }, el('strong', {}, text), ` ${why} `, el('time', { class: 'note' }, a.time)));
    while (this.alarms.children.length > ALARMS_KEPT) this.alarms.lastElementChild.remove();
    const t = this.tiles.get(`${a.entity}\n${a.variable}`);
    if (t) {
      t.node.classList.toggle('alarm', !over);
      if (Number.isFinite(Date.parse(a.peak)) && a.value !== null) t.alarms = [...t.alarms.slice(-ALARMS_KEPT), [Date.parse(a.peak), a.value]];
    }
    announce(`Alarm: ${text}`);
  }
}
