/* Draws a series: where nothing was measured, the bands of a forecast, what was filled, what was
 * measured. The same for the large chart and for small ones.
 *
 * what = { points: {time, mean, low, high}, filled, fan: {origin, time, values}, usualGap, alarms } */
import { colour } from './dom.js';

/* Resolved once for a drawing: asking the style for each stroke is slow. */
export function colours() {
  const names = ['measured', 'envelope', 'filled', 'filled-back', 'median', 'band-1', 'band-2', 'band-3', 'later', 'missing', 'soft', 'grid', 'bad'];
  const found = Object.fromEntries(names.map(name => [name, colour(name)]));
  found.dark = found.measured.match(/[\d.]+/g).slice(0, 3).reduce((sum, v) => sum + Number(v), 0) > 380; /* light ink */
  return found;
}

/* Median time between points, for holes. */
export function usualStep(time) {
  const steps = [];
  for (let i = 1; i < time.length; i++) steps.push(time[i] - time[i - 1]);
  steps.sort((a, b) => a - b);
  return steps.length ? steps[steps.length >> 1] : Infinity;
}

/* Runs of neighbouring points that have values: [first, end) each. */
function* runs(points, step) {
  let first = -1;
  for (let i = 0; i <= points.time.length; i++) {
    const there = i < points.time.length && points.mean[i] !== null;
    const hole = first >= 0 && there && points.time[i] - points.time[i - 1] > 2.5 * step;
    if (first >= 0 && (!there || hole)) {
      yield [first, i];
      first = -1;
    }
    if (there && first < 0) first = i;
  }
}

function line(ctx, x, y, time, value, from, end) {
  ctx.beginPath();
  for (let i = from; i < end; i++) ctx.lineTo(x(time[i]), y(value[i]));
  ctx.stroke();
}

function band(ctx, x, y, time, low, high, from, end) {
  ctx.beginPath();
  for (let i = from; i < end; i++) ctx.lineTo(x(time[i]), y(high[i]));
  for (let i = end - 1; i >= from; i--) ctx.lineTo(x(time[i]), y(low[i]));
  ctx.closePath();
  ctx.fill();
}

function dot(ctx, x, y, radius) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

function drawMissing(ctx, area, x, points, step, c) {
  ctx.fillStyle = c.missing;
  let last = null;
  for (let i = 0; i < points.time.length; i++) {
    if (points.mean[i] === null) continue;
    if (last !== null && points.time[i] - last > 2.5 * step) {
      const a = Math.max(area.x, x(last + step / 2)), b = Math.min(area.x + area.w, x(points.time[i] - step / 2));
      if (b > a) ctx.fillRect(a, area.y, b - a, area.h);
    }
    last = points.time[i];
  }
}

function drawMeasured(ctx, x, y, points, step, c, dots) {
  for (const [from, end] of runs(points, step)) {
    if (points.low) {
      ctx.fillStyle = ctx.strokeStyle = c.envelope;
      ctx.lineWidth = 1;
      band(ctx, x, y, points.time, points.low, points.high, from, end);
      for (let i = from; i < end; i++) line(ctx, () => x(points.time[i]), y, [0, 0], [points.low[i], points.high[i]], 0, 2);
    }
    ctx.strokeStyle = ctx.fillStyle = c.measured;
    ctx.lineWidth = 1.2;
    line(ctx, x, y, points.time, points.mean, from, end);
    if (dots || end - from === 1) for (let i = from; i < end; i++) dot(ctx, x(points.time[i]), y(points.mean[i]), 1.7);
  }
}

function drawFilled(ctx, x, y, filled, step, c, dots) {
  for (const [from, end] of runs(filled, step)) {
    ctx.fillStyle = c['filled-back'];
    if (end - from > 1) band(ctx, x, y, filled.time, filled.low, filled.high, from, end);
    ctx.strokeStyle = ctx.fillStyle = c.filled;
    ctx.lineWidth = 1.4;
    line(ctx, x, y, filled.time, filled.mean, from, end);
    if (dots || end - from === 1) for (let i = from; i < end; i++) dot(ctx, x(filled.time[i]), y(filled.mean[i]), dots ? 1.7 : 1.1);
  }
}

/* Quantiles in pairs from the outside in; an odd one in the middle is the median. */
function drawFan(ctx, area, x, y, fan, c) {
  const q = fan.values, n = fan.time.length, pairs = q.length >> 1;
  for (let k = 0; k < pairs; k++) {
    ctx.fillStyle = c[`band-${Math.min(3, k + 1)}`];
    if (n > 1) band(ctx, x, y, fan.time, q[k], q[q.length - 1 - k], 0, n);
  }
  ctx.strokeStyle = c.median;
  ctx.lineWidth = 1.8;
  line(ctx, x, y, fan.time, q[pairs] || fan.mean, 0, n);
  ctx.strokeStyle = c.soft;
  ctx.lineWidth = 1;
  ctx.setLineDash([4, 3]);
  ctx.beginPath();
  ctx.moveTo(x(fan.origin), area.y);
  ctx.lineTo(x(fan.origin), area.y + area.h);
  ctx.stroke();
  ctx.setLineDash([]);
}

export function drawSeries(ctx, area, x, y, what, c = colours()) {
  const { points, filled, fan } = what;
  const step = points.exact ? what.usualGap || usualStep(points.time) : usualStep(points.time);
  const n = points.time.length;
  const dots = points.exact && n > 0 && Math.abs(x(points.time[n - 1]) - x(points.time[0])) > 5 * n;
  ctx.save();
  ctx.beginPath();
  ctx.rect(area.x, area.y, area.w, area.h);
  ctx.clip();
  ctx.lineJoin = 'round';
  drawMissing(ctx, area, x, points, step, c);
  if (fan) drawFan(ctx, area, x, y, fan, c);
  if (filled) drawFilled(ctx, x, y, filled, step, c, dots);
  drawMeasured(ctx, x, y, points, step, c, dots);
  ctx.fillStyle = c.bad;
  for (const [t, v] of what.alarms || []) dot(ctx, x(t), y(v), 3.5);
  ctx.restore();
}

/* Least and greatest value within a window of time, with some air; [0, 1] of nothing. */
export function valueRange(what, from, to) {
  let low = Infinity, high = -Infinity;
  const look = (time, values) => {
    for (let i = 0; i < time.length; i++)
      if (time[i] >= from && time[i] <= to && values[i] !== null) {
        low = Math.min(low, values[i]);
        high = Math.max(high, values[i]);
      }
  };
  for (const part of [what.points, what.filled]) {
    if (!part) continue;
    look(part.time, part.low || part.mean);
    look(part.time, part.high || part.mean);
  }
  if (what.fan) for (const row of what.fan.values) look(what.fan.time, row);
  if (low > high) return [0, 1];
  const air = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - air, high + air];
}
