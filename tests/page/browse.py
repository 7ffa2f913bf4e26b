"""The page of `llapdiff serve` in a headless Chromium, as a person uses it: a file is dropped, a model trained, its
forecast looked at with the mouse and with the keyboard alone, readings arrive, alarms are shown; light, dark, narrow.
Nothing may be said in the browser's console.

    browse.py PROGRAM DATA FOLDER     PROGRAM serves, DATA has raw/AirQualityUCI.csv, pictures of the page go to FOLDER
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

import axe_core_python
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

PROGRAM, DATA, FOLDER = sys.argv[1:4]
with open(os.path.join(os.path.dirname(axe_core_python.__file__), "axe.min.js")) as source:
    AXE = source.read()
PATIENCE = 900  # seconds until a wait is given up: machines differ; a step that works ends sooner


class Server:
    def __init__(self, folder, *options):
        self.log = open(os.path.join(folder, "log"), "w+")
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *options], stdout=subprocess.PIPE,
                                        stderr=self.log, text=True)
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"
        self.page = self.process.stdout.readline().strip() if "--page" in options else self.url + "/"

    def ask(self, method, path, body=None, kind="text/csv", token=None):
        headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {})
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=headers)
        with urllib.request.urlopen(request) as reply:
            return json.loads(reply.read() or b"null")

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0, "the server does not end well"


class Person:
    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(executable_path=os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, what, found):
        try:
            return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.2).until(lambda _: found())
        except Exception:
            self.picture("failed")
            raise AssertionError(f"waited for {what}; notice: {self.text('#notice')!r}") from None

    def find(self, css):
        return self.wait(css, lambda: next(iter(self.driver.find_elements(By.CSS_SELECTOR, css)), None))

    def shown(self, css):
        return self.wait(css, lambda: next((e for e in self.driver.find_elements(By.CSS_SELECTOR, css) if e.is_displayed()), None))

    def text(self, css):
        return " ".join(e.text for e in self.driver.find_elements(By.CSS_SELECTOR, css))

    def says(self, css, pattern):
        self.wait(f"{pattern!r} in {css}", lambda: re.search(pattern, self.text(css)))

    def button(self, text, within="body"):
        xpath = f".//button[normalize-space()={json.dumps(text)} or @aria-label={json.dumps(text)}]"
        return self.wait(f"button {text}", lambda: next((b for b in self.driver.find_element(By.CSS_SELECTOR, within)
                         .find_elements(By.XPATH, xpath) if b.is_displayed()), None))

    def press(self, text, within="body"):
        button = self.button(text, within)
        self.run("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()

    def go(self, view):
        self.driver.find_element(By.CSS_SELECTOR, f"nav a[data-view={view}]").click()
        self.wait(view, lambda: self.driver.find_element(By.ID, f"view-{view}").is_displayed())

    def drop(self, path):
        """As the system does it: the file enters, is over the zone, and is let go."""
        zone = self.shown(".drop")
        self.run("arguments[0].scrollIntoView({block: 'center'})", zone)
        box = self.run("const b = arguments[0].getBoundingClientRect(); return [b.x + b.width / 2, b.y + 20]", zone)
        for kind in ("dragEnter", "dragOver", "drop"):
            self.driver.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, "x": box[0], "y": box[1],
                                        "data": {"items": [], "files": [path], "dragOperationsMask": 1}})

    def picture(self, name, whole=True):
        self.run("scrollTo(0, 0)")
        size = self.run("return [innerWidth, Math.min(6000, document.documentElement.scrollHeight)]")
        if whole:
            taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True,
                                                "clip": {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}})
            with open(os.path.join(FOLDER, name + ".png"), "wb") as f:
                f.write(base64.b64decode(taken["data"]))
        else:
            self.driver.save_screenshot(os.path.join(FOLDER, name + ".png"))

    def quiet(self):
        said = self.driver.get_log("browser")
        assert not said, f"the console says: {said}"

    def narrow(self, width=380):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 2, "mobile": True})

    def wide(self):
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def dark(self, yes):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if yes else "light"}]})

    def fits(self, where):
        width, inner = self.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert width <= inner, f"{where}: {width} pixels on a screen of {inner}"


def window_of(person, view):
    """What the chart of a view shows: from, to, whether every row is a point."""
    d = person.run("const d = document.querySelector(arguments[0] + ' .chart').dataset; return [+d.from, +d.to, d.exact]", f"#view-{view}")
    return d[0], d[1], d[2] == "true"


def painted(person, css):
    """Whether the canvas has more than one colour."""
    return person.run("""const c = document.querySelector(arguments[0]); if (!c || !c.width) return false;
        const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
        return d.some(v => v !== d[0])""", css)


def drag(person, chart, start, end, shift=False):
    """Along the chart, in shares of its width."""
    width = chart.size["width"]
    moves = ActionChains(person.driver, duration=60).move_to_element_with_offset(chart, int((start - 0.5) * width), -40)
    if shift:
        moves.key_down(Keys.SHIFT)
    moves.click_and_hold().move_by_offset(int((end - start) * width / 2), 0).move_by_offset(int((end - start) * width / 2), 0).release()
    if shift:
        moves.key_up(Keys.SHIFT)
    moves.perform()


def audit(person, what):
    """The rules of accessibility that a program can check: names, roles, contrast."""
    person.run(AXE)
    found = person.driver.execute_async_script("""const done = arguments[0];
        axe.run(document).then(r => done(r.violations.map(v => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' '))))""")
    assert not found, f"{what}: {found}"


# ---- what a person does ----


def drops_a_file(person, server):
    person.driver.get(server.page)
    assert "token" not in person.driver.current_url, "the token stays in the address"
    person.drop(os.path.join(DATA, "raw", "AirQualityUCI.csv"))
    person.says("#view-data h2", "AirQualityUCI: how it was understood")
    facts = person.text(".facts")
    assert "9,357" in facts and "86.3 %" in facts and "1 h" in facts, facts
    assert "semicolon between fields, decimal comma" in person.text("#view-data li")
    person.wait("the coverage", lambda: painted(person, "canvas.coverage"))
    assert len(person.driver.find_elements(By.CSS_SELECTOR, "#view-data tbody tr")) >= 13
    person.wait("a chart", lambda: window_of(person, "data")[1] > 0)
    person.quiet()


def trains(person, server):
    assert person.find(".ticks input").is_selected()
    person.press("Train", "#view-data")
    person.shown("#view-data progress")
    assert server.ask("GET", "/v2/health/live") == {"live": True}, "nobody else is answered"
    person.says("#view-data .progress", r"\d+ of [\d,]+ steps")
    person.picture("training")
    person.says("#view-data .progress", r"Trained AirQualityUCI in [\d.]+ s")
    person.press("See its forecasts")
    person.says("#view-model .note", "80 % within")
    person.quiet()


def zooms(person):
    chart = person.find("#view-model .chart")
    person.run("arguments[0].scrollIntoView({block: 'center'})", chart)
    hours = lambda w: (w[1] - w[0]) / 3.6e6
    begin = window_of(person, "model")
    assert 100 < hours(begin) < 400, "the forecast is shown first"
    person.wait("single rows", lambda: window_of(person, "model")[2])
    person.press("Show everything", "#view-model")
    whole = window_of(person, "model")
    assert hours(whole) > 9000
    drag(person, chart, 0.4, 0.6)
    zoomed = window_of(person, "model")
    assert hours(zoomed) < hours(whole) / 3 and whole[0] < zoomed[0] < zoomed[1] < whole[1], (whole, zoomed)
    drag(person, chart, 0.4, 0.55)
    drag(person, chart, 0.4, 0.55)
    person.wait("single rows", lambda: window_of(person, "model")[2])
    near = window_of(person, "model")
    drag(person, chart, 0.3, 0.6, shift=True)
    moved = window_of(person, "model")
    assert moved[0] < near[0] and abs(hours(moved) - hours(near)) < 0.1 * hours(near)
    ActionChains(person.driver).move_to_element_with_offset(chart, 30, -40).perform()
    person.says("#view-model .readout", "measured")
    ActionChains(person.driver).double_click().perform()
    assert hours(window_of(person, "model")) > 9000
    person.press("Zoom in", "#view-model")
    person.press("From the middle of what is shown")
    person.says("#view-model .note", "Made for")
    person.press("From the end of the data")
    person.find("#view-model summary").click()
    person.wait("the table", lambda: len(person.driver.find_elements(By.CSS_SELECTOR, "#view-model details tbody tr")) > 50)
    person.find("#view-model summary").click()
    person.quiet()


def scores(person):
    person.press("Score it on the part left for testing")
    person.says("#view-model", "Opponents of CO")
    assert len(person.driver.find_elements(By.CSS_SELECTOR, "#view-model tr.ours")) == 1
    person.says("#view-model", "Share of the values within the intervals")
    assert "Half-life" in person.text("#view-model th") and len(person.driver.find_elements(By.CSS_SELECTOR, "#view-model svg circle")) > 6
    person.picture("model")
    person.quiet()


def hourly(rows):
    """Hours as the model of the small stations knows them."""
    return ("time,station,level\n" + "".join(f"2024-06-{1 + t // 24:02d}T{t % 24:02d}:00:00Z,{who},{value}\n" for t, who, value in rows)).encode()


def wave(t, k):
    return round(10 + 3 * ((t + 6 * k) % 24 > 11) + 0.1 * ((7 * t + 3 * k) % 11), 2)


def watches(person, server, token):
    history = [(t, f"s{k}", wave(t, k)) for k in range(6) for t in range(600)]
    server.ask("PUT", "/v1/data/stations", hourly(history))
    job = server.ask("POST", "/v1/models/stations/train?data=stations&context=3d&horizon=12h", b"", token=token)
    person.wait("the stations' model", lambda: server.ask("GET", f"/v1/jobs/{job['job']}")["state"] == "done")
    server.ask("POST", "/v1/streams/stations/readings?model=stations", hourly([r for r in history if r[0] < 500]))
    person.go("live")
    person.says("#view-live .badge", "^connected")
    person.wait("six series", lambda: len(person.driver.find_elements(By.CSS_SELECTOR, ".multiple")) == 6)
    person.wait("small charts", lambda: painted(person, ".multiple canvas"))
    before = person.text(".multiple p")
    server.ask("POST", "/v1/streams/stations/readings", hourly([(t, f"s{k}", wave(t, k)) for k in range(6) for t in range(500, 506)]))
    person.wait("news", lambda: person.text(".multiple p") != before)
    server.ask("POST", "/v1/streams/stations/readings", hourly([(t, "s2", 60 + t % 2) for t in range(506, 512)]))
    person.says(".alarms", r"s2, level: \w+")
    assert "s2" in person.text(".multiple.alarm h3")
    assert person.find("[role=log]").get_attribute("aria-live") == "polite"
    person.press("Enlarge s2 level")
    person.shown("#view-live .chart")
    person.picture("live")
    held = server.ask("GET", "/v1/streams/stations/chart?entity=s2")["series"][0]["first"]
    stored = server.ask("GET", "/v1/streams/stations/history/chart?entity=s2")["series"][0]
    assert stored["first"] == 1717200000000 < held and stored["rows"] == 512, (held, stored["rows"])

    def all_of_it():
        person.press("Show everything", "#view-live")
        return window_of(person, "live")[0] == stored["first"]
    person.wait("what the store has", all_of_it)
    for _ in range(4):
        person.press("Zoom in", "#view-live")
    near = window_of(person, "live")
    assert stored["first"] < near[0] < near[1] < held, "behind what the stream holds"
    person.wait("single rows", lambda: window_of(person, "live")[2])
    person.wait("the chart", lambda: painted(person, "#view-live .chart canvas"))
    person.picture("live-history")
    person.quiet()


def in_the_dark(person):
    back = lambda: person.run("return getComputedStyle(document.documentElement).backgroundColor")
    person.dark(False)
    light = back()
    person.dark(True)
    assert back() != light, "the system's wish for dark is not heard"
    for view in ("data", "model", "live"):
        person.go(view)
        time.sleep(0.5)
        person.picture(f"dark-{view}")
        audit(person, f"{view}, dark")
    Select(person.find("#theme")).select_by_visible_text("Light")
    assert back() == light, "the switch does not prevail"
    Select(person.find("#theme")).select_by_visible_text("System")
    person.dark(False)
    person.quiet()


def on_a_phone(person):
    person.narrow()
    for view in ("data", "model", "live"):
        person.go(view)
        time.sleep(0.8)
        person.fits(view)
        person.picture(f"narrow-{view}")
        audit(person, f"{view}, narrow")
    person.wide()
    person.quiet()


def name_of_focus(person):
    return person.run("""const e = document.activeElement; if (!e || e === document.body) return null;
        const label = e.labels && e.labels[0] ? e.labels[0].textContent : '';
        return [e.tagName, (e.getAttribute('aria-label') || label || e.textContent || e.getAttribute('aria-labelledby') || '').trim()]""")


def by_keyboard(person, server):
    """From the address bar to a trained model without a mouse; everything that takes the focus has a name."""
    keys = lambda *k: ActionChains(person.driver).send_keys(*k).perform()
    person.driver.get(server.page)
    person.driver.refresh()
    person.says("#view-data h2", "how it was understood")
    seen = []

    def tab_to(pattern, most=80):
        for _ in range(most):
            keys(Keys.TAB)
            at = name_of_focus(person)
            if at is None:
                continue
            assert at[1], f"what has the focus has no name: {at[0]} after {seen[-3:]}"
            seen.append(at)
            if re.search(pattern, at[1]):
                ring = person.run("return getComputedStyle(document.activeElement).outlineStyle")
                assert ring != "none" or at[0] == "INPUT", f"{at}: the focus cannot be seen"
                return
        raise AssertionError(f"no {pattern!r} by Tab: {seen}")

    tab_to("Skip to the content", 1)
    tab_to("^Model$")
    tab_to("Drop a CSV file")
    with open(os.path.join(FOLDER, "small.csv"), "wb") as f:
        f.write(hourly([(t, "a", wave(t, 0)) for t in range(400)]))
    person.driver.switch_to.active_element.send_keys(os.path.join(FOLDER, "small.csv"))
    person.says("#view-data h2", "small: how it was understood")
    tab_to("^Chart")
    whole = window_of(person, "data")
    keys("+")
    zoomed = window_of(person, "data")
    assert zoomed[1] - zoomed[0] < 0.6 * (whole[1] - whole[0])
    keys(Keys.ARROW_LEFT)
    assert window_of(person, "data")[0] < zoomed[0]
    keys("0")
    assert window_of(person, "data")[:2] == whole[:2]
    tab_to("^Looks back")  # the text of a field is selected when Tab comes to it
    keys("3d")
    tab_to("^Looks ahead")
    keys("12h")
    tab_to("^Train$")
    keys(Keys.ENTER)
    person.says("#view-data .progress", "Trained small")
    tab_to("See its forecasts")
    keys(Keys.ENTER)
    person.says("#view-model .note", "80 % within")
    person.quiet()


def a_million_points(person, server):
    path = os.path.join(FOLDER, "million.csv")
    with open(path, "w") as f:
        f.write("time,x\n")
        f.writelines(f"{t},{(t * 7919) % 1000 / 100 + (50 if t == 654321 else 0):.2f}\n" for t in range(1000000))
    person.driver.get(server.url + "/#view-data")
    person.driver.refresh()
    person.drop(path)
    person.says("#view-data h2", "million: how it was understood")
    person.wait("a chart", lambda: window_of(person, "data")[1] > 9e5)
    one = server.ask("GET", "/v1/data/million/chart?points=800")["series"][0]["points"]
    assert len(one["time"]) <= 800 and max(one["high"]) > 50, "the one high reading is lost"
    person.run("""window.longest = 0; new PerformanceObserver(l => l.getEntries().forEach(e => longest = Math.max(longest, e.duration))).observe({type: 'longtask'})""")
    chart = person.find("#view-data .chart")
    person.run("arguments[0].scrollIntoView({block: 'center'})", chart)
    chart.click()
    for _ in range(12):
        person.press("Zoom in", "#view-data")
    person.wait("single rows", lambda: window_of(person, "data")[2])
    for _ in range(10):
        person.press("Later", "#view-data")
    bytes_of = person.run("return performance.getEntriesByType('resource').filter(e => e.name.includes('/chart?')).map(e => e.decodedBodySize)")
    assert bytes_of and max(bytes_of) < 400000, f"a part of the chart has {max(bytes_of)} bytes"
    print(f"    a million points: {len(bytes_of)} parts of at most {max(bytes_of) // 1000} kB, longest task {person.run('return longest'):.0f} ms")
    person.picture("million")
    person.quiet()


def without_charts(person, server):
    """Built without dygraphs, whose file is then empty: the page says so and shows the numbers."""
    script = person.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
        "source": "Object.defineProperty(window, 'Dygraph', { get() { return undefined; }, set() {} })"})
    person.driver.get(server.url + "/#view-data")
    person.driver.refresh()
    person.says("#view-data .chart", "Charts are missing")
    person.wait("the numbers", lambda: len(person.driver.find_elements(By.CSS_SELECTOR, "#view-data details tbody tr")) > 50)
    person.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    person.quiet()


def asks_for_a_token(person, folder):
    tokens = os.path.join(folder, "tokens")
    with open(tokens, "w") as f:
        f.write("person admin 0123456789abcdef0123456789abcdef\n")
    os.chmod(tokens, 0o600)
    server = Server(folder, "--tokens", tokens)
    person.driver.get(server.page)
    person.shown("#token-dialog")
    person.picture("token")
    ActionChains(person.driver).send_keys("0123456789abcdef0123456789abcdef", Keys.ENTER).perform()
    person.wait("the dialog's end", lambda: not person.find("#token-dialog").is_displayed())
    person.wait("the token", lambda: person.run("return sessionStorage.getItem('llapdiff-token')"))
    person.go("model")
    person.says("#view-model", "There is no model yet")
    said = [s for s in person.driver.get_log("browser") if "401" not in s["message"]]  # the refusal itself
    assert not said, said
    server.stop()


def main():
    os.makedirs(FOLDER, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="llap-page-")
    server = Server(folder, "--page", "--store", os.path.join(folder, "ward.db"))
    token = server.page.split("#token=")[1]
    person = Person()
    try:
        for step, arguments in ((drops_a_file, (server,)), (trains, (server,)), (zooms, ()), (scores, ()), (watches, (server, token)),
                                (in_the_dark, ()), (on_a_phone, ()), (by_keyboard, (server,)), (a_million_points, (server,)),
                                (without_charts, (server,)), (asks_for_a_token, (folder,))):
            begin = time.time()
            if len(sys.argv) > 4 and step.__name__ not in sys.argv[4:]:
                continue
            step(person, *arguments)
            print(f"  {step.__name__.replace('_', ' ')}: {time.time() - begin:.1f} s", flush=True)
    finally:
        person.driver.quit()
        server.stop()
    with open(os.path.join(folder, "log")) as log:
        wrong = [line for line in log if '"level":"error"' in line or '"status":5' in line]
    assert not wrong, wrong


if __name__ == "__main__":
    main()
