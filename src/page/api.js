/* Requests to the server, their token, jobs, and events of streams. */

const KEY = 'llapdiff-token';
let token = sessionStorage.getItem(KEY) || '';
let askForToken = async () => false;

/* Where `llapdiff serve --page` printed the address with it: it does not stay in the address. */
export function takeToken() {
  if (!location.hash.startsWith('#token=')) return;
  setToken(location.hash.slice('#token='.length));
  history.replaceState(null, '', location.pathname);
}
takeToken();

export function setToken(text) {
  token = text;
  if (text) sessionStorage.setItem(KEY, text);
  else sessionStorage.removeItem(KEY);
}
export function onTokenWanted(ask) { askForToken = ask; }

/* What the server says is wrong (RFC 9457). */
export class Problem extends Error {
  constructor(status, detail, code) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

async function problemOf(response) {
  const text = await response.text();
  try {
    const p = JSON.parse(text);
    return new Problem(response.status, p.detail || p.title, p.code);
  } catch {
    return new Problem(response.status, text || response.statusText);
  }
}

async function send(path, options) {
  const headers = { Accept: 'application/json', ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  try {
    return await fetch(path, { ...options, headers });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Problem(0, 'The server does not answer.');
  }
}

/* Asks for a token where one is wanted, once, and goes on with it. */
export async function request(path, options = {}) {
  let response = await send(path, options);
  if ((response.status === 401 || (response.status === 403 && options.method)) && await askForToken(response.status))
    response = await send(path, options);
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function json(path, options) {
  const response = await request(path, options);
  return response.status === 204 ? null : response.json();
}

/* "/v1/data/air/chart" and what is not null, "?entity=air". */
export function address(path, query = {}) {
  const text = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== null && v !== undefined && v !== '')).toString();
  return text ? `${path}?${text}` : path;
}

const sleep = ms => new Promise(done => setTimeout(done, ms));

/* Looks at a job until it is over; tell(job) each time. */
export async function follow(job, tell) {
  for (let wait = 150; ; wait = Math.min(1000, wait * 1.3)) {
    tell(job);
    if (!['waits', 'runs'].includes(job.state)) break;
    await sleep(wait);
    job = await json(`/v1/jobs/${job.job}`);
  }
  if (job.state === 'failed') throw new Problem(500, job.detail, job.code);
  return job;
}

/* The events of a stream. EventSource sends no token, so its lines are read here. Comes again by
 * itself until `signal` ends it. */
export async function listen(name, signal, tell) {
  for (let wait = 500; !signal.aborted; wait = Math.min(15000, wait * 2)) {
    try {
      const response = await request(`/v1/streams/${name}/events`, { headers: { Accept: 'text/event-stream' }, signal });
      tell('open');
      wait = 500;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const events = (rest + part.value).split('\n\n');
        rest = events.pop();
        for (const text of events) {
          const lines = text.split('\n');
          const kind = lines.find(l => l.startsWith('event: ')), data = lines.find(l => l.startsWith('data: '));
          if (kind && data) tell(kind.slice(7), JSON.parse(data.slice(6)));
        }
      }
    } catch (e) {
      if (signal.aborted || e.name === 'AbortError') return;
      if (e instanceof Problem && e.status >= 400 && e.status < 500) throw e;
    }
    tell('lost');
    await sleep(wait);
  }
}
