/* Coverage, poles, reliability: what is drawn once. */
import { colour, context, el, number, percent, span, svg, table, when } from './dom.js';

/* ---- coverage ---- */

const ROW = 18, FOOT = 20;

export function coveragePicture(c) {
  const canvas = el('canvas', { class: 'coverage', role: 'img',
    'aria-label': `Observed share by time of ${c.rows.length} ${c.rows_are}; the table of variables has the numbers` });
  const names = Math.min(170, 14 + 7 * Math.max(...c.rows.map(r => Math.min(20, r.name.length))));
  const draw = () => {
    if (!canvas.isConnected) return;
    canvas.style.height = `${c.rows.length * ROW + FOOT}px`;
    const { ctx, width } = context(canvas), left = Math.min(names, width * 0.35), w = width - left;
    const full = colour('share-1'), soft = colour('soft'), back = colour('share-0');
    ctx.font = '12px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    c.rows.forEach((row, i) => {
      const y = i * ROW, n = row.share.length;
      ctx.fillStyle = soft;
      let name = row.name;
      while (ctx.measureText(name).width > left - 8 && name.length > 2) name = name.slice(0, -2) + '…';
      ctx.fillText(name, 0, y + ROW / 2);
      ctx.fillStyle = back;
      ctx.fillRect(left, y + 2, w, ROW - 4);
      ctx.fillStyle = full;
      row.share.forEach((s, k) => {
        if (s <= 0) return;
        ctx.globalAlpha = 0.15 + 0.85 * Math.min(1, s);
        ctx.fillRect(left + w * k / n, y + 2, w / n + 0.5, ROW - 4);
      });
      ctx.globalAlpha = 1;
    });
    ctx.fillStyle = soft;
    const day = t => c.time === 'calendar' ? when(c, t).split(',')[0] : when(c, t);
    ctx.fillText(day(c.from), left, c.rows.length * ROW + FOOT / 2);
    ctx.textAlign = 'right';
    ctx.fillText(day(c.to), width, c.rows.length * ROW + FOOT / 2);
  };
  new ResizeObserver(draw).observe(canvas);
  return { node: el('figure', {}, canvas, c.more && el('figcaption', {}, `the first ${c.rows.length}`)), draw };
}

/* ---- poles ---- */

/* Half-lives and periods in seconds; the rates are per step of the model. */
export function polesOf(target, stepSeconds) {
  const all = target.poles.reduce((sum, p) => sum + p.variance, 0);
  return target.poles.map(p => ({ share: p.variance / all, halfLife: Math.LN2 / p.rho * stepSeconds,
    period: p.omega > 0 ? 2 * Math.PI / p.omega * stepSeconds : null })).sort((a, b) => b.share - a.share);
}

export function poleTable(name, poles) {
  return table(`Poles of ${name}: how long what was seen stays in the forecast`, ['Half-life', 'Period', 'Share of the variance', ''],
    poles.map(p => [span(p.halfLife), p.period ? span(p.period) : 'none', percent(p.share),
      el('meter', { min: '0', max: '1', value: String(p.share), 'aria-hidden': 'true' })]));
}

function logTicks(low, high) {
  const named = [[60, '1 min'], [3600, '1 h'], [86400, '1 d'], [7 * 86400, '7 d'], [30 * 86400, '30 d'], [365 * 86400, '1 y'], [10 * 365 * 86400, '10 y'], [100 * 365 * 86400, '100 y']];
  return named.filter(([t]) => t >= low && t <= high);
}

export function polePlot(name, poles) {
  const W = 460, H = 270, left = 54, bottom = 36, top = 12, right = 14;
  const times = poles.flatMap(p => [p.halfLife, p.period].filter(Boolean));
  const low = Math.min(...times) / 2.5, high = Math.max(...times) * 2.5;
  const place = (t, a, b) => a + (Math.log(t) - Math.log(low)) / (Math.log(high) - Math.log(low)) * (b - a);
  const x = t => place(t, left, W - right), none = H - bottom - 24, y = t => t ? place(t, H - bottom - 54, top + 8) : none;
  return svg('svg', { class: 'plot', viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': `Poles of ${name} by half-life and period; the table has the numbers` },
    logTicks(low, high).map(([t, text]) => [svg('line', { class: 'grid', x1: x(t), x2: x(t), y1: top, y2: H - bottom }),
      svg('text', { x: x(t), y: H - bottom + 15, 'text-anchor': 'middle' }, text),
      svg('line', { class: 'grid', x1: left, x2: W - right, y1: y(t), y2: y(t) }), svg('text', { x: left - 6, y: y(t) + 4, 'text-anchor': 'end' }, text)]),
    svg('line', { class: 'axis', x1: left, x2: W - right, y1: H - bottom, y2: H - bottom }), svg('line', { class: 'axis', x1: left, x2: left, y1: top, y2: H - bottom }),
    svg('text', { x: left - 6, y: none + 4, 'text-anchor': 'end' }, 'none'),
    svg('text', { x: (left + W) / 2, y: H - 5, 'text-anchor': 'middle' }, 'half-life'), svg('text', { x: 2, y: top + 2 }, 'period'),
    poles.map(p => svg('circle', { class: 'dot', cx: x(p.halfLife), cy: y(p.period), r: 4 + 16 * Math.sqrt(p.share) })));
}

/* ---- calibration ---- */

export function reliabilityPlot(name, intervals) {
  const S = 250, left = 44, bottom = 36, top = 8, x = v => left + v * (S - left - 22), y = v => S - bottom - v * (S - bottom - top);
  const line = [[0, 0], ...intervals.map(i => [i.level, i.coverage]), [1, 1]];
  return svg('svg', { class: 'plot', viewBox: `0 0 ${S} ${S}`, role: 'img', 'aria-label': `Calibration of ${name}: ` +
      intervals.map(i => `${percent(i.level, 0)} intervals hold ${percent(i.coverage)}`).join(', ') },
    [0, 0.5, 1].map(v => [svg('line', { class: 'grid', x1: x(v), x2: x(v), y1: top, y2: S - bottom }), svg('line', { class: 'grid', x1: left, x2: x(1), y1: y(v), y2: y(v) }),
      svg('text', { x: x(v), y: S - bottom + 14, 'text-anchor': 'middle' }, percent(v, 0)), svg('text', { x: left - 4, y: y(v) + 4, 'text-anchor': 'end' }, percent(v, 0))]),
    svg('line', { class: 'ideal', x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    svg('polyline', { class: 'line', points: line.map(([a, b]) => `${x(a)},${y(b)}`).join(' ') }),
    intervals.map(i => svg('circle', { class: 'dot', cx: x(i.level), cy: y(i.coverage), r: 5 })),
    svg('text', { x: (left + S) / 2, y: S - 4, 'text-anchor': 'middle' }, 'meant to hold, and held'));
}

/* Where values fell within their forecasts: level is what it should be. */
export function pitPlot(name, pit) {
  const W = 280, H = 250, left = 8, bottom = 36, top = 8, most = Math.max(2 / pit.length, ...pit), w = (W - left - 8) / pit.length;
  const y = v => H - bottom - v / most * (H - bottom - top);
  return svg('svg', { class: 'plot', viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': `Probability integral transform of ${name}: ` + pit.map(v => number(v * pit.length, 2)).join(' ') },
    pit.map((v, i) => svg('rect', { class: 'bar-rect', x: left + i * w + 1, width: w - 2, y: y(v), height: H - bottom - y(v) })),
    svg('line', { class: 'ideal', x1: left, x2: W - 8, y1: y(1 / pit.length), y2: y(1 / pit.length) }),
    svg('text', { x: left, y: H - bottom + 14 }, 'below all'), svg('text', { x: W - 8, y: H - bottom + 14, 'text-anchor': 'end' }, 'above all'),
    svg('text', { x: W / 2, y: H - 4, 'text-anchor': 'middle' }, 'where values fell within their forecasts'));
}
