/* A model: its forecasts beside the data, its poles, how good it is. */
import { announce, count, el, field, fill, number, percent, select, span, table, when } from './dom.js';
import { address, follow, json } from './api.js';
import { SeriesChart } from './chart.js';
import { pitPlot, polePlot, poleTable, polesOf, reliabilityPlot } from './plots.js';

const OPPONENTS = { model: 'this model', last_value: 'last value', linear: 'line through the context', drift: 'random walk with drift', log_walk: 'random walk of logarithms',
  climatology: 'all that was seen in training', context: 'all of the context', context_days: 'the context at this time of day', ar1: 'autoregression', residual_bar: 'anchor with constant width' };
const opponent = name => OPPONENTS[name] || name.replace('seasonal_', 'the same as ') + (name.startsWith('seasonal_') ? ' before' : '');

export class ModelView {
  constructor(app, root) {
    this.app = app;
    this.root = root;
    this.pick = el('div', { class: 'row' });
    this.view = el('div');
    fill(root, el('h1', { id: 'title-model' }, 'Model'), this.pick, this.view);
    app.recolours.add(() => this.chart?.recolour());
  }

  async enter() {
    const [{ models }, { data }] = await Promise.all([json('/v1/models'), json('/v1/data')]);
    const wanted = this.app.wanted || { model: this.model, data: this.data };
    this.app.wanted = null;
    if (models.length === 0) {
      fill(this.pick);
      fill(this.view, el('p', { class: 'lead' }, 'There is no model yet. ', el('a', { href: '#view-data' }, 'Drop a file and train one'), '.'));
      return;
    }
    const names = models.map(m => m.name), sets = data.map(d => d.name);
    const model = select(names, names.includes(wanted.model) ? wanted.model : names[0]);
    const set = select(sets, sets.includes(wanted.data) ? wanted.data : sets[0]);
    const open = () => this.open(model.value, set.value).catch(e => this.app.complain(e));
    model.onchange = set.onchange = open;
    fill(this.pick, field('Model', model), sets.length > 0 && field('Data', set));
    await this.open(model.value, sets.length > 0 ? set.value : null);
  }

  async open(model, data) {
    this.app.calm();
    const [about, set] = await Promise.all([json(`/v1/models/${model}`), data && json(`/v1/data/${data}`)]);
    Object.assign(this, { model, data, about });
    this.chart?.destroy();
    this.chart = null;
    this.targets = about.targets.map(t => t.name);
    const parts = [];
    if (set) parts.push(this.forecasts(set));
    else parts.push(el('p', { class: 'card' }, 'There is no data set to look at. ', el('a', { href: '#view-data' }, 'Drop a file'), '.'));
    parts.push(this.poles());
    if (set) parts.push(this.scores());
    fill(this.view, parts);
    if (set) await this.draw();
  }

  /* ---- forecasts ---- */

  forecasts(set) {
    const there = this.targets.filter(t => set.variables.includes(t)), variable = select(there, there[0]), entity = select(set.entities, set.entities[0]);
    const horizon = el('input', { value: '', placeholder: span(this.about.horizon_ns / 1e9), size: '8' });
    const from = el('button', { type: 'button', class: 'quiet', onclick: () => this.forecastFrom() }, 'From the middle of what is shown');
    const end = el('button', { type: 'button', class: 'quiet', onclick: () => { this.at = null; this.draw().catch(e => this.app.complain(e)); } }, 'From the end of the data');
    Object.assign(this, { entity, variable, horizon, at: null });
    variable.onchange = entity.onchange = () => this.draw().catch(e => this.app.complain(e));
    horizon.onchange = () => this.draw(true).catch(e => this.app.complain(e));
    this.chart = new SeriesChart((a, b, points) => this.part(a, b, points));
    this.summary = el('p', { class: 'note', role: 'status' });
    return el('section', { class: 'card', 'aria-labelledby': 'h-forecast' }, el('h2', { id: 'h-forecast' }, 'Forecast'),
      el('div', { class: 'row' }, field('Variable', variable), set.entities.length > 1 && field('Entity', entity), field('Looks ahead', horizon)),
      el('p', { class: 'row' }, 'Forecast: ', end, from), this.summary, this.chart.node);
  }

  part(from, to, points) {
    return json(address(`/v1/data/${this.data}/chart`, { entity: this.entity.value, variable: this.variable.value, model: this.model, points, from, to }));
  }

  forecastFrom() {
    this.at = Math.round((this.chart.from + this.chart.to) / 2);
    this.draw(true).catch(e => this.app.complain(e));
  }

  async draw() {
    const points = Math.max(200, Math.round((this.chart.box.clientWidth || 800) / 1.5)), asked = (this.asked = {});
    fill(this.summary, 'Forecasting …');
    const [series, fan] = await Promise.all([this.part(undefined, undefined, points),
      json(address(`/v1/data/${this.data}/fan`, { model: this.model, entity: this.entity.value, variable: this.variable.value, at: this.at, horizon: this.horizon.value }))
        .catch(e => { this.app.complain(e); return null; })]);
    if (asked !== this.asked) return;
    this.chart.set(series, fan);
    fill(this.summary, this.inWords(series, fan));
  }

  inWords(series, fan) {
    if (!fan || fan.fans.length === 0) return 'There is no forecast.';
    const f = fan.fans[0], n = f.time.length - 1, q = f.values, k = q.length - 2;
    return `Made for ${when(series, f.origin)}. ${f.variable} at ${when(series, f.time[n])}: ${number(q[q.length >> 1][n])}, ` +
      `${percent(fan.quantiles[k] - fan.quantiles[1], 0)} within ${number(q[1][n])} to ${number(q[k][n])}.`;
  }

  /* ---- poles ---- */

  poles() {
    const step = this.about.step_ns / 1e9, withPoles = this.about.targets.filter(t => t.poles && t.poles.length > 0);
    const body = el('div');
    const show = name => {
      const target = withPoles.find(t => t.name === name), poles = polesOf(target, step);
      fill(body, el('div', { class: 'two' }, el('div', {}, polePlot(name, poles)), poleTable(name, poles)));
    };
    if (withPoles.length === 0) return el('section', { class: 'card' }, el('h2', {}, 'Poles'), el('p', { class: 'note' }, 'This model has no anchor.'));
    const pick = select(withPoles.map(t => t.name), withPoles[0].name);
    pick.onchange = () => show(pick.value);
    show(pick.value);
    return el('section', { class: 'card', 'aria-labelledby': 'h-poles' }, el('h2', { id: 'h-poles' }, 'Poles'),
      el('p', { class: 'note' }, 'A series is a sum of processes that forget: each by half in its half-life, some around a period. The larger the dot, the more of the variance.'),
      el('div', { class: 'row' }, field('Variable', pick)), body);
  }

  /* ---- scores ---- */

  scores() {
    const out = el('div'), progress = el('p', { class: 'note after', role: 'status' });
    const button = el('button', { type: 'button', onclick: async () => {
      button.disabled = true;
      try {
        const job = await follow(await json(address(`/v1/models/${this.model}/evaluate`, { data: this.data }), { method: 'POST' }),
          j => fill(progress, j.state === 'waits' ? 'Waits for its turn' : `${j.stage || 'begins'} ${j.total > 0 ? percent(j.done / j.total, 0) : ''} · ${j.seconds.toFixed(0)} s`));
        fill(progress, `Scored in ${job.seconds.toFixed(1)} s.`);
        this.showScores(out, await json(`/v1/jobs/${job.job}/result`));
        announce('Scores are there');
      } catch (e) {
        fill(progress);
        this.app.complain(e);
      }
      button.disabled = false;
    } }, 'Score it on the part left for testing');
    return el('section', { class: 'card', 'aria-labelledby': 'h-scores' }, el('h2', { id: 'h-scores' }, 'How good it is'),
      el('p', { class: 'note' }, 'On the last 20 % of the time, which it has not seen, beside forecasts that anybody could make.'), button, progress, out);
  }

  showScores(out, result) {
    const body = el('div'), pick = select(result.targets.map(t => t.name), result.targets[0].name);
    const show = () => fill(body, this.oneTarget(result.targets.find(t => t.name === pick.value)));
    pick.onchange = show;
    show();
    fill(out, el('p', { class: 'note' }, `${count(result.windows)} forecasts.`), result.targets.length > 1 && field('Variable', pick), body);
  }

  oneTarget(t) {
    const scores = [...t.scores].sort((a, b) => a.crps - b.crps), most = Math.max(...scores.map(s => s.crps)), ours = t.scores.find(s => s.name === 'model');
    const better = s => {
      const d = s.model_against?.crps;
      return d ? `${number(-d.value, 2)} (${number(-d.high, 2)} to ${number(-d.low, 2)})` : '';
    };
    return [
      el('h3', {}, `Opponents of ${t.name}`),
      table('Continuous ranked probability score in standard deviations, lower is better', ['Who', 'Score', '', 'Model is better by (95 %)', 'Absolute error', '80 % intervals hold'],
        scores.map(s => [opponent(s.name), number(s.crps, 3), el('meter', { min: '0', max: String(most), value: String(s.crps), 'aria-hidden': 'true' }),
          better(s), number(s.mae_median, 3), percent(s.intervals.find(i => i.level === 0.8)?.coverage ?? NaN)]), i => scores[i].name === 'model' && 'ours'),
      el('h3', {}, 'Calibration'),
      el('div', { class: 'plots' }, reliabilityPlot(t.name, ours.intervals), pitPlot(t.name, ours.pit),
        table('Share of the values within the intervals', ['Meant', 'Held', 'Width', 'Values'],
          ours.intervals.map(i => [percent(i.level, 0), percent(i.coverage), number(i.width, 3), count(i.n)]))),
    ];
  }
}
