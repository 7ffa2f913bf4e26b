/* A file that is dropped: how it was understood, what is there, and training a model of it. */
import { announce, count, duration, el, field, fill, number, percent, select, span, table } from './dom.js';
import { address, follow, json } from './api.js';
import { SeriesChart } from './chart.js';
import { coveragePicture } from './plots.js';

const READING = [['time', 'Time column'], ['entity', 'Entity column'], ['zone', 'Time zone'], ['separator', 'Separator'],
  ['decimal', 'Decimal mark'], ['missing', 'Further words for missing'], ['grid', 'Grid (auto, 1h)']];

/* "AirQualityUCI" of "AirQualityUCI.csv.gz". */
const nameOf = file => file.name.replace(/\.(csv|tsv|txt|gz)\b/gi, '').replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '').slice(0, 64) || 'data';

export class DataView {
  constructor(app, root) {
    this.app = app;
    this.root = root;
    this.file = null;
    this.input = el('input', { type: 'file', id: 'file', accept: '.csv,.tsv,.txt,.gz,text/csv', onchange: () => this.input.files[0] && this.send(this.input.files[0]) });
    this.drop = el('label', { class: 'drop', for: 'file', ondragover: e => { e.preventDefault(); this.drop.classList.add('over'); },
      ondragleave: () => this.drop.classList.remove('over'), ondrop: e => this.dropped(e) },
      el('strong', {}, 'Drop a CSV file here'), 'or choose one. Times may be irregular, values missing; it stays on this server, in memory.', el('br'), this.input);
    this.known = el('p', { class: 'row' });
    this.about = el('div');
    fill(root, el('h1', { id: 'title-data' }, 'Data'),
      el('p', { class: 'lead' }, 'What was measured, as a table: a column of times, columns of values, and a column of entities where there are several.'),
      this.drop, this.known, this.about);
    app.recolours.add(() => { this.picture?.draw(); this.chart?.recolour(); });
  }

  async enter() {
    const { data } = await json('/v1/data');
    fill(this.known, data.length > 0 && 'On this server:', data.map(d =>
      el('button', { type: 'button', class: 'quiet', onclick: () => this.open(d.name) }, `${d.name} (${count(d.rows)} rows)`)));
    if (!this.name && data.length > 0) await this.open(data[0].name);
  }

  dropped(e) {
    e.preventDefault();
    this.drop.classList.remove('over');
    if (e.dataTransfer.files[0]) this.send(e.dataTransfer.files[0]);
  }

  async open(name) {
    this.file = null;
    this.show(await json(`/v1/data/${name}`));
  }

  /* The server reads it; options say how, where it was read differently than meant. */
  async send(file, options = {}) {
    const name = nameOf(file);
    this.app.calm();
    fill(this.about, el('p', { class: 'card', role: 'status' }, `Reading ${file.name} …`));
    try {
      const about = await json(address(`/v1/data/${name}`, { series: name, ...options }),
        { method: 'PUT', headers: { 'Content-Type': 'text/csv' }, body: file });
      this.file = file;
      this.options = options;
      this.show(about);
      announce(`${file.name}: ${about.inspection.rows} rows, ${about.inspection.variables} variables`);
      this.enter();
    } catch (e) {
      fill(this.about);
      this.app.complain(e);
      if (this.file || file) this.offerReading(file, options);
    }
    this.input.value = '';
  }

  show(about) {
    this.name = about.name;
    this.app.data = about;
    const i = about.inspection;
    this.coverage = el('div', {}, el('p', { class: 'note' }, 'Looking at what is there …'));
    fill(this.about,
      el('section', { class: 'card', 'aria-labelledby': 'h-understood' },
        el('h2', { id: 'h-understood' }, `${about.name}: how it was understood`), this.facts(i),
        el('ul', { class: 'note' }, about.understood.map(line => el('li', {}, line))),
        this.file && this.reading(this.file, this.options)),
      el('section', { class: 'card', 'aria-labelledby': 'h-coverage' }, el('h2', { id: 'h-coverage' }, 'What is there'), this.coverage, this.variables(i)),
      this.series(about),
      this.training(about));
    this.drawCoverage();
    this.drawSeries().catch(e => this.app.complain(e));
  }

  facts(i) {
    const fact = (name, value, note) => el('div', {}, el('dt', {}, name), el('dd', {}, value, note && el('small', {}, note)));
    const long = seconds => i.time.kind === 'calendar' ? span(seconds) : number(seconds);
    const shown = t => String(t).replace('T', ' ');
    return el('dl', { class: 'facts' },
      fact('Rows', count(i.rows), i.empty_rows > 0 && `${count(i.empty_rows)} without a value`),
      fact('Entities', count(i.entities)),
      fact('Variables', count(i.variables)),
      fact('Time', shown(i.time.first), `to ${shown(i.time.last)}`),
      fact('Step', long(i.gaps.usual), `${percent(i.gaps.usual_share)} of the gaps; longest ${long(i.gaps.max)}`),
      fact('Observed', percent(i.coverage), `${count(i.observed)} values`));
  }

  reading(file, options) {
    const inputs = READING.map(([name, label]) => [name, el('input', { value: options[name] || '', autocomplete: 'off' }), label]);
    return el('details', {}, el('summary', {}, 'Read it differently'),
      el('form', { onsubmit: e => { e.preventDefault(); this.send(file, Object.fromEntries(inputs.map(([name, input]) => [name, input.value]))); } },
        el('div', { class: 'row' }, inputs.map(([, input, label]) => field(label, input)), el('button', { type: 'submit' }, 'Read again'))));
  }

  offerReading(file, options) {
    const form = this.reading(file, options);
    form.open = true;
    fill(this.about, el('section', { class: 'card' }, el('h2', {}, `${file.name} could not be read so`), form));
  }

  async drawCoverage() {
    const name = this.name;
    try {
      const c = await json(address(`/v1/data/${name}/coverage`, { points: 240 }));
      if (name !== this.name) return;
      this.picture = coveragePicture(c);
      fill(this.coverage, el('p', { class: 'note' }, 'The stronger the colour, the more of the values of that time are there.'), this.picture.node);
      this.picture.draw();
    } catch (e) {
      this.app.complain(e);
    }
  }

  variables(i) {
    return el('details', { open: i.variables <= 8 }, el('summary', {}, 'Variables, as a table'),
      table(`Variables of ${this.name}`, ['Variable', 'Observed', 'Least', 'Median', 'Most', 'Deviation', 'Kind', 'Outliers'],
        i.variable.map(v => [v.name, percent(v.coverage), number(v.min), number(v.quartiles[1]), number(v.max), number(v.std), v.kind, count(v.outliers)])));
  }

  /* ---- a series ---- */

  series(about) {
    const variable = select(about.variables, about.variables[0]), entity = select(about.entities, about.entities[0]);
    this.chart?.destroy();
    this.chart = new SeriesChart((from, to, points) => this.part(from, to, points));
    this.variable = variable;
    this.entity = entity;
    variable.onchange = entity.onchange = () => this.drawSeries().catch(e => this.app.complain(e));
    return el('section', { class: 'card', 'aria-labelledby': 'h-series-data' }, el('h2', { id: 'h-series-data' }, 'Series'),
      el('div', { class: 'row' }, field('Variable', variable), about.entities.length > 1 && field('Entity', entity)), this.chart.node);
  }

  part(from, to, points) {
    return json(address(`/v1/data/${this.name}/chart`, { entity: this.entity.value, variable: this.variable.value, from, to, points }));
  }

  async drawSeries() {
    const chart = this.chart, found = await this.part(undefined, undefined, Math.max(200, Math.round((chart.box.clientWidth || 800) / 1.5)));
    if (chart === this.chart) chart.set(found, null);
  }

  /* ---- training ---- */

  training(about) {
    const i = about.inspection, suggested = i.suggested, step = i.gaps.usual || 1;
    const ahead = seconds => i.time.kind === 'calendar' ? duration(seconds) : String(Math.round(seconds / step)); /* numbers: steps */
    const best = i.variable.filter(v => v.coverage > 0.5 && !v.constant).slice(0, 1).map(v => v.name);
    const ticks = about.variables.map(name => el('input', { type: 'checkbox', value: name, checked: best.includes(name) }));
    const f = { name: el('input', { value: about.name, required: true, pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]*', maxlength: '64' }),
      context: el('input', { value: ahead(suggested.context), required: true }),
      horizon: el('input', { value: ahead(Math.min(suggested.horizon, Math.max(suggested.context / 7, 24 * step))), required: true }),
      size: select([['anchor', 'anchor: quick'], ['stack', 'stack: up to hours']], 'anchor') };
    const progress = el('div', { class: 'progress', hidden: true });
    const train = el('button', { type: 'submit' }, 'Train');
    const form = el('form', { onsubmit: e => { e.preventDefault(); this.train(f, ticks, progress, train); } },
      el('fieldset', {}, el('legend', {}, 'What is to be forecast'), el('div', { class: 'ticks' }, ticks.map(t => el('label', {}, t, t.value)))),
      el('div', { class: 'row' }, field('Name of the model', f.name), field('Looks back', f.context), field('Looks ahead', f.horizon), field('Size', f.size), train));
    return el('section', { class: 'card', 'aria-labelledby': 'h-train' }, el('h2', { id: 'h-train' }, 'Train a model'),
      el('p', { class: 'note' }, 'It learns from the first 70 % of the time, chooses on the next 10 %, and leaves the rest for testing.'), form, progress);
  }

  async train(f, ticks, progress, button) {
    const target = ticks.filter(t => t.checked).map(t => t.value).join(',');
    if (!target) return this.app.complain(new Error('Tick at least one variable.'));
    const bar = el('progress', { class: 'bar', max: '1', 'aria-label': 'Training' }), text = el('p', { class: 'note', role: 'status' });
    this.app.calm();
    button.disabled = true;
    try {
      const job = await json(address(`/v1/models/${f.name.value}/train`, { data: this.name, target, context: f.context.value,
        horizon: f.horizon.value, size: f.size.value }), { method: 'POST' });
      const cancel = el('button', { type: 'button', class: 'quiet', onclick: () => json(`/v1/jobs/${job.job}`, { method: 'DELETE' }).catch(e => this.app.complain(e)) }, 'Cancel');
      fill(progress, bar, text, cancel).hidden = false;
      let spoken = -1;
      const end = await follow(job, j => {
        if (j.total > 0) bar.value = j.done / j.total;
        else bar.removeAttribute('value');
        const share = j.total > 0 ? Math.floor(4 * j.done / j.total) : 0;
        const line = j.state === 'waits' ? 'Waits for its turn' : `${j.stage || 'begins'} ${j.total > 0 ? `${count(j.done)} of ${count(j.total)} ${j.unit}` : ''} ${j.note} · ${j.seconds.toFixed(0)} s`;
        text.setAttribute('aria-live', share > spoken ? 'polite' : 'off'); /* a quarter at a time is enough to hear */
        spoken = Math.max(spoken, share);
        text.textContent = line;
      });
      cancel.remove();
      bar.remove();
      if (end.state === 'cancelled') text.textContent = 'Cancelled.';
      else {
        announce(`Trained ${end.model}`);
        fill(progress, el('p', { class: 'row' }, `Trained ${end.model} in ${end.seconds.toFixed(1)} s.`,
          el('button', { type: 'button', onclick: () => { this.app.wanted = { model: end.model, data: this.name }; this.app.go('model'); } }, 'See its forecasts')));
      }
    } catch (e) {
      progress.hidden = true;
      this.app.complain(e);
    }
    button.disabled = false;
  }
}
