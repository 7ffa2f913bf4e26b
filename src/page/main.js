/* The views, who asks for a token, light and dark. */
import { byId, announce } from './dom.js';
import { onTokenWanted, setToken, takeToken } from './api.js';
import { DataView } from './data.js';
import { ModelView } from './model.js';
import { LiveView } from './live.js';

/* What the views tell each other. */
const app = {
  recolours: new Set(), /* called when the colours change */
  complain(error) {
    if (error.name === 'AbortError') return;
    const notice = byId('notice');
    notice.textContent = error.message;
    notice.hidden = false;
  },
  calm() { byId('notice').hidden = true; },
  go(view) { location.hash = `view-${view}`; },
};
app.views = { data: new DataView(app, byId('view-data')), model: new ModelView(app, byId('view-model')), live: new LiveView(app, byId('view-live')) };

/* ---- views ---- */

async function show() {
  takeToken();
  const wanted = location.hash.replace('#view-', ''), name = Object.hasOwn(app.views, wanted) ? wanted : 'data';
  app.calm();
  for (const [other, view] of Object.entries(app.views)) {
    const link = document.querySelector(`nav a[data-view=${other}]`);
    view.root.hidden = other !== name;
    if (other === name) link.setAttribute('aria-current', 'page');
    else {
      link.removeAttribute('aria-current');
      view.leave?.();
    }
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} – llapdiff`;
  await app.views[name].enter().catch(e => app.complain(e));
}
window.addEventListener('hashchange', () => show().then(() => byId('main').focus({ preventScroll: true })));

/* ---- token ---- */

const dialog = byId('token-dialog'), input = byId('token-input');

function askForToken() {
  input.value = '';
  dialog.showModal();
  return new Promise(done => dialog.addEventListener('close', () => {
    const given = dialog.returnValue === 'ok' && input.value.trim() !== '';
    if (given) setToken(input.value.trim());
    dialog.returnValue = '';
    done(given);
  }, { once: true }));
}
/* Enter means the token, not the first button of the dialog. */
input.addEventListener('keydown', e => {
  if (e.key !== 'Enter') return;
  e.preventDefault();
  dialog.close('ok');
});
let asking = null; /* several requests ask once */
onTokenWanted(() => asking ??= askForToken().finally(() => { asking = null; }));
byId('token-button').addEventListener('click', async () => { if (await askForToken()) show(); });

/* ---- light and dark ---- */

const theme = byId('theme'), THEME = 'llapdiff-theme';
function setTheme(value) {
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
  for (const recolour of app.recolours) recolour();
}
theme.value = localStorage.getItem(THEME) || '';
setTheme(theme.value);
theme.addEventListener('change', () => {
  localStorage.setItem(THEME, theme.value);
  setTheme(theme.value);
  announce(`Colours: ${theme.selectedOptions[0].textContent}`);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTheme(theme.value));

/* A file that misses the drop zone is not opened in the place of the page. */
for (const kind of ['dragover', 'drop']) window.addEventListener(kind, e => e.preventDefault());

show();
