#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# usage: test_pictures.py PROGRAM SOURCE_ROOT [SCREENSHOTS]
# Opens the HTML report and the SVGs in headless Chromium, in light and dark: no error on the console, no
# request, zoom, hover and keys work, screen readers find names. With a folder it keeps screenshots.
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
SHOTS = sys.argv[3] if len(sys.argv) > 3 else None
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
         "--hide-scrollbars", "--window-size=1320,1000", "--force-device-scale-factor=1"]
JOB = ["run", "--platform", "h800", "--nodes", "8", "--model", "llama3.1-70b", "--bf16", "--tp", "8", "--pp", "8",
       "--num-layers-per-virtual-pipeline-stage", "5", "--seq", "8192", "--mbs", "1", "--gbs", "64",
       "--use-distributed-optimizer", "--sequence-parallel", "--overlap-grad-reduce", "--overlap-param-gather",
       "--engine", "native"]


def find(name):
    path = shutil.which(name)
    if not path:
        sys.exit(f"{name} is missing: install chromium and chromium-driver, or configure with "
                 "STEPSIM_NO_BROWSER_TEST=1 to leave this test out")
    return path


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="stepsim-browser-")
        path = lambda name: os.path.join(cls.dir, name)
        subprocess.run([PROGRAM, *JOB, "--report", path("report.html"), "--gantt", path("gantt.svg"), "--memory",
                        path("memory.svg"), "--window", "all"], check=False, stdout=subprocess.DEVNULL)
        subprocess.run([PROGRAM, *JOB, "--gantt", path("window.svg"), "--window", "0s:1s"], check=False,
                       stdout=subprocess.DEVNULL)
        subprocess.run([PROGRAM, "program", "read", os.path.join(SOURCE, "docs/guide/examples/two-ranks.prog"), "--report",
                        path("two.html"), "--gantt", path("two.svg")], check=True, stdout=subprocess.DEVNULL)
        for name, nodes in (("two", 2), ("many", 70), ("most", 131072)):
            subprocess.run([PROGRAM, "platform", "draw", "h800", "--nodes", str(nodes), "-o", path(f"cluster-{name}.svg")], check=True)
        options = webdriver.ChromeOptions()
        options.binary_location = find("chromium")
        for flag in FLAGS + ["--user-data-dir=" + path("profile")]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.web = webdriver.Chrome(service=Service(find("chromedriver")), options=options)
        cls.web.set_page_load_timeout(3600)
        cls.web.set_script_timeout(3600)

    @classmethod
    def tearDownClass(cls):
        cls.web.quit()
        shutil.rmtree(cls.dir, ignore_errors=True)

    def open(self, name, scheme="light"):
        self.web.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                 {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.web.get("file://" + os.path.join(self.dir, name))
        if name.endswith(".html"):
            WebDriverWait(self.web, 3600).until(
                lambda w: w.execute_script("return document.documentElement.dataset.ready") == "1")
            self.settle()

    def settle(self):
        """Two frames: what was asked for has been drawn."""
        self.web.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")

    def quiet(self):
        self.assertEqual([e["message"] for e in self.web.get_log("browser")], [])
        self.assertEqual(self.web.execute_script(
            "return performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith('data:'))"),
            [])

    def shot(self, name):
        if SHOTS:
            os.makedirs(SHOTS, exist_ok=True)
            self.web.save_screenshot(os.path.join(SHOTS, name + ".png"))

    def view(self):
        box = self.web.find_element(By.ID, "tl")
        return float(box.get_attribute("data-from")), float(box.get_attribute("data-to"))

    def length(self):
        self.settle()
        start, end = self.view()
        return end - start

    def pixel(self, x, y):
        return self.web.execute_script(
            "const c = document.querySelector('#tl canvas'), r = window.devicePixelRatio;"
            "return [...c.getContext('2d').getImageData(arguments[0] * r, arguments[1] * r, 1, 1).data]", x, y)

    def timeline(self):
        box = self.web.find_element(By.ID, "tl")
        self.web.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
        return box, self.web.find_element(By.CSS_SELECTOR, "#tl canvas")

    # ---- the page ----

    def test_page_in_light_and_dark(self):
        colors = []
        for scheme in ("light", "dark"):
            self.open("report.html", scheme)
            self.quiet()
            colors.append(self.web.execute_script("return getComputedStyle(document.body).backgroundColor"))
            self.assertGreater(self.pixel(400, 24 + 13)[3], 0)
            self.shot("report-" + scheme)
            for section in ("timeline", "memory", "network", "inputs"):
                self.web.execute_script("document.getElementById(arguments[0]).scrollIntoView()", section)
                self.settle()
                self.shot(f"report-{section}-{scheme}")
            self.quiet()
        self.assertNotEqual(*colors)

    def test_answer_comes_first(self):
        self.open("report.html")
        title = self.web.find_element(By.TAG_NAME, "h1")
        self.assertIn("an iteration", title.text)
        self.assertLess(title.location["y"], 200)

    def test_zoom_by_buttons(self):
        self.open("report.html")
        whole = self.length()
        for name, share in (("tl-in", 0.5), ("tl-in", 0.25), ("tl-out", 0.5), ("tl-all", 1)):
            self.web.find_element(By.ID, name).click()
            self.assertAlmostEqual(self.length() / whole, share, 9)
        self.web.find_element(By.ID, "tl-in").click()
        before = self.view()
        self.web.find_element(By.ID, "tl-right").click()
        self.assertGreater(self.view()[0], before[0])
        self.quiet()

    def test_zoom_by_keys(self):
        self.open("report.html")
        whole = self.length()
        box, _ = self.timeline()
        box.send_keys("+++")
        self.assertAlmostEqual(self.length() / whole, 0.125, 9)
        before = self.view()
        box.send_keys(Keys.SHIFT, Keys.ARROW_RIGHT)
        self.assertGreater(self.view()[0], before[0])
        box.send_keys("0")
        self.assertAlmostEqual(self.length() / whole, 1, 9)
        self.quiet()

    def test_zoom_by_wheel_and_drag(self):
        self.open("report.html")
        whole = self.length()
        box, canvas = self.timeline()
        box.send_keys("")
        self.web.execute_script("arguments[0].focus()", box)
        ActionChains(self.web).scroll_from_origin(
            webdriver.common.actions.wheel_input.ScrollOrigin.from_element(canvas), 0, -600).perform()
        zoomed = self.length()
        self.assertLess(zoomed, whole)
        before = self.view()
        ActionChains(self.web).move_to_element(canvas).click_and_hold().move_by_offset(-200, 0).release().perform()
        self.settle()
        self.assertGreater(self.view()[0], before[0])
        self.assertAlmostEqual(self.length(), zoomed, 9)
        self.quiet()

    def test_hover_names_the_box(self):
        self.open("two.html")
        box, canvas = self.timeline()
        width, height = canvas.size["width"], canvas.size["height"]
        tip = self.web.find_element(By.ID, "tip")
        self.assertFalse(tip.is_displayed())
        # 30 ms of 126: "last" computes
        lane = 24 + 26 + 1 + 9 + 1 + 9 + 1 + 8 + 13
        x = 128 + (width - 128) * 30 / 126
        ActionChains(self.web).move_to_element_with_offset(canvas, round(x - width / 2), round(lane - height / 2)).perform()
        self.settle()
        self.assertTrue(tip.is_displayed())
        self.assertIn("last, compute", tip.text)
        self.assertIn("16.0 ms to 52.0 ms", tip.text)
        self.assertIn("takes 36.00 ms", tip.text)
        self.shot("two-hover-light")
        self.quiet()

    def test_keys_read_boxes_out(self):
        self.open("report.html")
        box, _ = self.timeline()
        status = self.web.find_element(By.ID, "tl-status")
        said = []
        for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ENTER):
            box.send_keys(key)
            said.append(status.text)
        self.assertRegex(said[0], r"(F|B) of microbatch \d+, stage0, compute, chunk \d, .* to .*, takes ")
        self.assertNotEqual(said[0], said[1])
        self.shot("report-selected-light")
        self.assertRegex(said[2], r"^sends .*(MB|GB)")
        self.assertLess(self.length(), 1)
        self.quiet()

    def test_screen_reader_finds_names(self):
        self.open("report.html")
        nodes = self.web.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        named = {}
        for node in nodes:
            if not node.get("ignored"):
                named.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
        self.assertIn("Timeline of the iteration", named["application"])
        for role in ("button", "combobox", "checkbox", "region"):
            self.assertTrue(named.get(role) and all(named[role]), f"{role} without a name")
        self.assertEqual(len(named["heading"]), len([h for h in named["heading"] if h]))
        self.assertEqual(self.web.execute_script(
            "return [...document.querySelectorAll('th')].filter((h) => !h.scope).length"), 0)
        self.assertEqual(len(self.web.find_elements(By.CSS_SELECTOR, "[aria-live=polite]")), 1)
        ids = self.web.execute_script("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
        self.assertEqual(len(ids), len(set(ids)))

    def test_table_of_what_is_in_view(self):
        self.open("two.html")
        self.web.find_element(By.CSS_SELECTOR, "#tl-list summary").click()
        WebDriverWait(self.web, 3600).until(lambda w: w.find_elements(By.CSS_SELECTOR, "#tl-list tbody tr"))
        self.assertIn("first", self.web.find_element(By.CSS_SELECTOR, "#tl-list tbody").text)
        self.quiet()

    def test_colour_and_lanes(self):
        self.open("report.html")
        height = self.web.find_element(By.CSS_SELECTOR, "#tl canvas").size["height"]
        self.web.find_element(By.ID, "tl-comm").click()
        self.settle()
        self.assertLess(self.web.find_element(By.CSS_SELECTOR, "#tl canvas").size["height"], height)
        self.web.find_element(By.CSS_SELECTOR, "#tl-color option[value=microbatch]").click()
        self.settle()
        self.timeline()
        self.web.find_element(By.ID, "tl").send_keys("++++")
        self.settle()
        self.shot("report-microbatch-light")
        self.quiet()

    def test_narrow_window(self):
        """A telephone's width: nothing is wider than the window but what scrolls by itself."""
        self.web.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                 {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": True})
        try:
            self.open("report.html", "dark")
            self.shot("report-narrow-dark")
            self.assertLessEqual(self.web.execute_script("return document.documentElement.scrollWidth"), 420)
            self.quiet()
        finally:
            self.web.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    # ---- SVG ----

    def test_svgs(self):
        for name in ("gantt.svg", "memory.svg", "window.svg", "two.svg"):
            for scheme in ("light", "dark"):
                self.open(name, scheme)
                self.assertEqual(self.web.execute_script("return document.documentElement.nodeName"), "svg")
                self.quiet()
                self.shot(name[:-4] + "-" + scheme)

    def test_svg_hover(self):
        self.open("two.svg")
        box = self.web.find_elements(By.CSS_SELECTOR, "rect.b")[0]
        self.assertIn("0.0 ms to 10.0 ms", box.find_element(By.TAG_NAME, "title").get_attribute("textContent"))
        thin = box.value_of_css_property("stroke-width")
        ActionChains(self.web).move_to_element(box).perform()
        self.assertNotEqual(box.value_of_css_property("stroke-width"), thin)

    def test_window_shows_more_of_less(self):
        widths = []
        for name in ("gantt.svg", "window.svg"):
            self.open(name)
            widths.append(self.web.execute_script(
                "return document.querySelector('rect[data-op=F]').getBoundingClientRect().width"))
        self.assertGreater(widths[1], widths[0])

    def test_numbers_are_legible_at_8_by_64(self):
        self.open("gantt.svg")
        labels = self.web.execute_script(
            "return [document.querySelectorAll('g[data-class]').length,"
            " document.querySelectorAll('rect[data-op]').length, document.querySelectorAll('text.n').length]")
        self.assertEqual(labels[0], 8)
        self.assertEqual(labels[1], 8 * 64 * 2 * 2)
        self.assertGreater(labels[2], 0.95 * labels[1])

    def test_clusters_are_legible(self):
        for name in ("cluster-two", "cluster-many", "cluster-most"):
            for scheme in ("light", "dark"):
                self.open(name + ".svg", scheme)
                self.quiet()
                self.shot(name + "-" + scheme)
                boxes, texts, sheet = self.web.execute_script(
                    "const at = (e) => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] };"
                    "return [[...document.querySelectorAll('rect.b')].map(at), [...document.querySelectorAll('text')].map(at),"
                    " at(document.documentElement)]")
                self.assertGreaterEqual(len(boxes), 8 + 1 + 8)
                self.assertLess(len(boxes), 60)
                for box in boxes + texts:
                    self.assertTrue(box[0] >= sheet[0] and box[1] >= sheet[1] and box[2] <= sheet[2] and box[3] <= sheet[3], box)
                for i, a in enumerate(boxes):
                    for b in boxes[:i]:
                        self.assertTrue(a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (name, a, b))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
