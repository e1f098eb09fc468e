#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# usage: test_serve.py PROGRAM [SCREENSHOTS]
#        test_serve.py PROGRAM --choices N    only N choices of a model or a cluster, drawn from all
# Opens the page of `stepsim serve` in headless Chromium: controls by mouse and keys, a second job, links, one flag at all its
# values, repairs of refused jobs, pasted texts, files to save, a phone, light and dark, names for screen readers; no error on the
# console and no request but to the page itself.
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

PROGRAM = sys.argv[1]
MANY = int(sys.argv[3]) if sys.argv[2:3] == ["--choices"] else 0
SHOTS = sys.argv[2] if len(sys.argv) > 2 and not MANY else None
CHOICES, SEED = MANY or 12, 41
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1400,1100"]
JOB = "--platform h800 --nodes 8 --model llama3.1-70b --tp 8 --pp 4 --vp 5 --mbs 1 --gbs 64 --seq 8192 --bf16 --sequence-parallel " \
      "--use-distributed-optimizer"


class Page(unittest.TestCase):
    start = ""  # behind the address

    @classmethod
    def begin_server(cls):
        cls.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *JOB.split()], stdout=subprocess.PIPE, text=True)
        cls.url = cls.process.stdout.readline().split()[0]

    @classmethod
    def end_server(cls):
        cls.process.terminate()
        cls.process.wait()
        cls.process.stdout.close()

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="stepsim-serve-")
        cls.begin_server()
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or sys.exit("chromium is missing")
        for flag in FLAGS + ["--user-data-dir=" + os.path.join(cls.dir, "profile")]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.web = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        cls.web.set_page_load_timeout(3600)
        cls.web.set_script_timeout(3600)

    @classmethod
    def tearDownClass(cls):
        cls.web.quit()
        cls.end_server()
        shutil.rmtree(cls.dir, ignore_errors=True)

    def setUp(self):
        self.web.set_window_size(1400, 1100)
        self.web.get("about:blank")
        self.open(self.url + self.start)

    def tearDown(self):
        self.assertEqual([e["message"] for e in self.web.get_log("browser") if "422" not in e["message"]], [])
        names = self.web.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
        self.assertEqual([n for n in names if not n.startswith((self.url, "data:", "blob:"))], [])

    def open(self, url):
        self.web.get(url)
        self.wait_for(lambda: self.answers() > 0)

    def wait_for(self, what):
        WebDriverWait(self.web, 3600, 0.05).until(lambda _: what())

    def answers(self):
        return int(self.web.execute_script("return document.documentElement.dataset.ready || 0"))

    def find(self, selector):
        return self.web.find_element(By.CSS_SELECTOR, selector)

    def after(self, act):
        """Acts, and waits until the page has an answer more."""
        before = self.answers()
        act()
        self.wait_for(lambda: self.answers() > before)

    def insert(self, selector, text):
        """Puts a text behind a field's own at once, as a paste does: keys one by one ask several times where the machine is slow."""
        self.web.execute_script("const e = arguments[0]; e.focus(); e.setSelectionRange(e.value.length, e.value.length);"
                                "document.execCommand('insertText', false, arguments[1])", self.find(selector), text)

    def headline(self, job="a"):
        return self.find(f"#job-{job} .headline").text

    def run_json(self, words):
        out = subprocess.run([PROGRAM, "run", *words.split(), "--engine", "native", "--json"], capture_output=True).stdout
        return json.loads(out)

    def shot(self, name):
        if SHOTS:
            os.makedirs(SHOTS, exist_ok=True)
            self.web.save_screenshot(os.path.join(SHOTS, name + ".png"))

    def test_it_begins_with_the_job_of_the_command_line(self):
        run = self.run_json(JOB)
        self.assertIn(f"{run['iteration_ms'] / 1000:.4g} s an iteration", self.headline())
        self.assertIn(run["verdict"], self.headline())
        self.assertIn("exposed TP", self.find("#answer-a [data-part=time]").text)
        self.shot("serve-one")

    def test_a_slider_by_keys(self):
        slider = self.find("#tp-0")
        self.after(lambda: slider.send_keys(Keys.ARROW_LEFT))
        run = self.run_json(JOB.replace("--tp 8", "--tp 4"))
        self.assertIn(run["verdict"], self.headline())
        self.assertIn(f"{run['iteration_ms'] / 1000:.4g} s an iteration", self.headline())
        self.assertIn("--tp 4", self.find("#answer-a .command").text)
        self.assertEqual(slider.get_attribute("aria-valuetext"), "4")

    def test_a_refusal_has_no_figure_of_another_job(self):
        self.after(lambda: self.insert("[data-more]", "--tp-no-such 1"))
        error = self.find("#job-a .error")
        self.assertTrue(error.is_displayed())
        self.assertIn("unknown flag --tp-no-such", error.text)
        self.assertIn("refused", self.headline())
        self.assertNotIn(" s an iteration", self.headline())
        self.assertIn("refused", self.web.title)
        self.assertIn("last answer", self.find("#answer-a .before").text)
        self.assertEqual(self.find(".tiles").text, "")
        self.assertEqual([b.text for b in self.web.find_elements(By.CSS_SELECTOR, ".repair button")], ["Nearest legal layout", "Fastest (search)"])
        self.after(lambda: self.find("[data-more]").send_keys(Keys.CONTROL + "a", Keys.DELETE))
        self.assertFalse(error.is_displayed())
        self.assertIn(" s an iteration", self.headline())

    def choose(self, control, value):
        self.after(lambda: Select(self.find(f"#{control}-0")).select_by_value(value))

    def test_a_model_brings_its_layout_along(self):
        self.choose("model", "qwen3-8b")  # 36 layers, which 4 stages of 5 chunks do not divide
        self.wait_for(lambda: "fits" in self.headline())
        self.assertIn("Chunks a stage 5", self.find(".repair").text)
        self.assertGreater(len(self.web.find_elements(By.CSS_SELECTOR, ".moved")), 0)
        self.shot("serve-brought")
        self.after(self.find(".repair button").click)  # Undo
        self.assertIn("refused", self.headline())

    def test_the_smallest_number_of_nodes(self):
        self.choose("model", "llama3.1-405b")
        self.wait_for(lambda: "smallest number" in self.find(".repair").text)
        self.after(self.find(".repair button").click)
        self.assertRegex(self.headline(), "fits|near limit")
        self.assertNotIn("--nodes 8 ", self.find("#answer-a .command").text)

    def test_a_layout_is_repaired(self):
        self.open(self.url + "#job=" + JOB.replace("--tp 8", "--tp 16").replace("--vp 5", "--vp 7").replace(" ", "+"))
        self.assertIn("refused", self.headline())
        self.after(self.find(".repair button").click)
        self.assertIn("fits", self.headline())
        nearest = self.web.find_element(By.CSS_SELECTOR, "#answer-a .command").text
        self.web.get("about:blank")
        self.open(self.url + "#job=" + JOB.replace("--vp 5", "--vp 7").replace(" ", "+"))
        self.after(self.web.find_elements(By.CSS_SELECTOR, ".repair button")[1].click)
        self.assertIn("fits", self.headline())
        run = [self.run_json(t.replace("stepsim run ", ""))["iteration_ms"] for t in (nearest, self.find("#answer-a .command").text)]
        self.assertLessEqual(run[1], run[0])

    def ask(self, path, job):
        return self.web.execute_async_script("ask(arguments[0], {job: arguments[1]}).then(arguments[2])", path, job)

    def way_out(self):
        """What the page offers for a model or a cluster that was chosen, taken by at most one click."""
        self.wait_for(lambda: re.search("smallest number|No layout on", self.find(".repair").text) or re.search("fits|near limit", self.headline()))
        said = self.find(".repair").text
        if "No layout on" in said:
            return "none"
        if "smallest number" in said:
            self.after(self.find(".repair button").click)
        self.assertRegex(self.headline(), "fits|near limit")
        return "nodes" if "smallest number" in said else "layout" if "Changed" in said else "fits"

    def test_a_sample_of_choices(self):
        """Each has a way out, the one that tests/unit/serve/test_mend.c counts over all of them."""
        known, count = self.web.execute_script("return choices"), dict.fromkeys(("fits", "layout", "nodes", "none"), 0)
        every = [(recipe, flag, value) for recipe in known["recipes"] for flag, names in (("--model", "models"), ("--platform", "platforms")) for value in known[names]]
        for recipe, flag, value in random.Random(SEED).sample(every, CHOICES):
            units = [[u[0], value] if u[0] == flag else u for u in known["recipes"][recipe]
                     if not u[0].startswith("--measured") and not (flag == "--model" and u[0] in known["shape"])]
            found = self.ask("/nearest.json", " ".join(" ".join(u) for u in units))
            self.after(lambda: Select(self.find("#recipe")).select_by_value(recipe))
            if Select(self.find(f"#{flag[2:]}-0")).first_selected_option.get_attribute("value") != value:
                self.choose(flag[2:], value)
            way = self.way_out()
            count[way] += 1
            self.assertEqual(way != "none", found["found"], (recipe, value))
            if way != "none":
                self.assertEqual(self.web.execute_script("return panels[0].run.iteration_ms"), found["iteration_ms"], (recipe, value))
        print(f"{CHOICES} of {len(every)} choices: {count['fits']} fit as they are, {count['layout']} by another layout, {count['nodes']} on more nodes, {count['none']} on none")
        self.assertLessEqual(count["none"] * 100, CHOICES)

    def test_a_launch_script_is_read(self):
        script = "#!/bin/bash\nTP=2\nARGS=(--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096\n" \
                 "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000)\n" \
                 "torchrun --nnodes $NNODES --nproc_per_node 8 pretrain_gpt.py ${ARGS[@]} --tensor-model-parallel-size $TP --bf16 --save $OUT"
        paste = self.find("#paste")
        paste.find_element(By.TAG_NAME, "summary").click()
        self.web.execute_script("arguments[0].value = arguments[1]", paste.find_element(By.TAG_NAME, "textarea"), script)
        paste.find_element(By.TAG_NAME, "button").click()
        self.wait_for(lambda: paste.find_elements(By.CSS_SELECTOR, ".asked input"))
        self.assertEqual([i.get_attribute("name") for i in paste.find_elements(By.CSS_SELECTOR, ".asked input")], ["NNODES"])
        paste.find_element(By.CSS_SELECTOR, ".asked input").send_keys("4")
        self.after(paste.find_element(By.TAG_NAME, "button").click)
        words = self.find("#answer-a .command").text.replace("stepsim run ", "")
        self.assertIn("--nodes 4", words)
        self.assertIn(f"{self.run_json(words)['iteration_ms'] / 1000:.4g} s an iteration", self.headline())

    def test_an_address_is_pasted(self):
        paste = self.find("#paste")
        paste.find_element(By.TAG_NAME, "summary").click()
        paste.find_element(By.TAG_NAME, "textarea").send_keys("http://localhost:1/#job=" + JOB.replace("--gbs 64", "--gbs 128").replace(" ", "+"))
        self.after(paste.find_element(By.TAG_NAME, "button").click)
        self.assertIn("--gbs 128", self.find("#answer-a .command").text)
        self.assertIn("--gbs+128", self.web.current_url)

    def test_nodes_days_and_cost(self):
        self.wait_for(lambda: self.web.find_elements(By.CSS_SELECTOR, "[data-part=nodes] tr.here"))
        row = self.find("[data-part=nodes] tr.here").text
        self.assertIn("USD", row)
        self.after(self.find("[data-part=nodes] [aria-label='Take 16']").click)
        self.assertIn("--nodes 16", self.find("#answer-a .command").text)

    def test_explain(self):
        self.find("[data-part=explain] summary").click()
        self.wait_for(lambda: "FLOP of the model at the card's peak" in self.find("[data-part=explain]").text)
        self.assertIn("1 % more of", self.find("[data-part=explain]").text)
        self.after(self.find("[data-part=explain] button").click)
        self.assertIn(" s an iteration", self.headline())

    def test_a_committed_job_with_its_measurement(self):
        self.after(lambda: Select(self.find("#recipe")).select_by_value("70b-14"))
        self.assertIn("measured 100 s", self.headline())
        self.assertIn("slower stages 1", self.find(".tiles").text)
        self.assertEqual(len(self.web.find_elements(By.CSS_SELECTOR, "[data-part=stages] .stage")), 8)
        self.after(lambda: self.find("#tp-0").send_keys(Keys.ARROW_LEFT))  # another job, which nobody measured
        self.assertNotIn("measured", self.headline())

    def test_files_to_save(self):
        self.wait_for(lambda: len(self.web.find_elements(By.CSS_SELECTOR, ".files a[href]")) == 6)
        begins = {"job.args": "--", "report.html": "<!doctype html>", "timeline.svg": "<svg", "nodes.csv": "platform", "sweep.csv": "", "sweep.svg": "<svg"}
        for a in self.web.find_elements(By.CSS_SELECTOR, ".files a"):
            if a.get_attribute("href").endswith("#"):  # without a server a file is made when it is asked for
                a.click()
                self.wait_for(lambda: not a.get_attribute("href").endswith("#"))
            text = self.web.execute_async_script("fetch(arguments[0]).then((r) => r.text()).then(arguments[1])", a.get_attribute("href"))
            self.assertTrue(text.lower().startswith(begins[a.get_attribute("download")].lower()), (a.get_attribute("download"), text[:60]))

    def test_without_a_server(self):
        other = subprocess.Popen([PROGRAM, "serve", "--port", "0", *JOB.split()], stdout=subprocess.PIPE, text=True)
        self.open(other.stdout.readline().split()[0])
        other.terminate()
        other.wait()
        other.stdout.close()
        self.after(lambda: self.find("#tp-0").send_keys(Keys.ARROW_LEFT))
        self.assertIn("still running", self.find("#job-a .error").text)
        self.assertIn("no answer", self.headline())
        self.web.get_log("browser")  # the browser tells the lost connection, too
        self.web.get("about:blank")

    def test_markup_in_words_is_text(self):
        self.after(lambda: self.insert("[data-more]", "<img src=x onerror=document.title=1>"))
        self.assertEqual(self.web.execute_script("return document.querySelectorAll('img').length"), 0)
        self.assertNotEqual(self.web.title, "1")

    def test_a_second_job_and_its_link(self):
        self.after(lambda: self.find("#second").click())
        self.wait_for(lambda: "against A" in self.headline("b"))
        self.assertIn("+0.0 % against A", self.headline("b"))
        self.after(lambda: self.find("#overlap-grad-reduce-1").click())
        self.wait_for(lambda: "+0.0 %" not in self.headline("b"))
        link, b = self.web.current_url, self.headline("b")
        self.shot("serve-two")
        self.web.get("about:blank")
        self.open(link)
        self.wait_for(lambda: "against A" in self.headline("b"))
        self.assertEqual(self.headline("b"), b)
        self.assertIn("#job=", link)
        self.assertTrue(self.find("#overlap-grad-reduce-1").is_selected())
        self.assertFalse(self.find("#overlap-grad-reduce-0").is_selected())
        self.find("#second").click()
        self.wait_for(lambda: not self.web.find_elements(By.ID, "answer-b"))

    def test_a_link_of_the_command_line(self):
        words = JOB.replace("--gbs 64", "--gbs 128").split()
        link = subprocess.run([PROGRAM, "run", *words, "--link"], capture_output=True, text=True, check=True).stdout.strip()
        self.open(self.url + link)
        run = self.run_json(" ".join(words))
        self.assertIn(f"{run['iteration_ms'] / 1000:.4g} s an iteration", self.headline())
        self.assertEqual(self.web.execute_script("return textsOf(hashOf(textsOf(location.hash)))"), [" ".join(words)])

    def test_one_flag_at_all_its_values(self):
        self.find("[data-part=sweep] summary").click()
        Select(self.find("[data-part=sweep] select")).select_by_value("--gbs")
        self.wait_for(lambda: self.web.execute_script(  # that of the nodes, which came first, is at 8
            "const now = document.querySelector('[data-part=sweep] tr.here th'); return now && now.textContent === '64'"))
        self.after(self.find("[aria-label='Take 128']").click)
        self.assertIn("--gbs 128", self.find("#answer-a .command").text)

    def test_the_timeline_is_drawn(self):
        self.find("[data-part=timeline] summary").click()
        self.wait_for(lambda: self.web.execute_script(
            "const i = document.querySelector('[data-part=timeline] img'); return i && i.naturalWidth > 100"))

    def test_another_flag_gives_way(self):
        self.open(self.url + "#a=" + JOB.replace("--vp 5", "--num-layers-per-virtual-pipeline-stage 4").replace(" ", "+"))
        self.assertIn("by a flag", self.find("[data-group=layout]").text)
        self.after(lambda: self.find("#vp-0").send_keys(Keys.ARROW_RIGHT))
        self.assertIn("--vp 2", self.find("#answer-a .command").text)
        self.assertNotIn("virtual-pipeline", self.find("#answer-a .command").text)

    def test_the_job_file(self):
        link = self.find("[data-part=file]")
        self.assertEqual(link.get_attribute("download"), "job.args")
        text = self.web.execute_async_script("fetch(arguments[0]).then((r) => r.text()).then(arguments[1])", link.get_attribute("href"))
        path = os.path.join(self.dir, "job.args")
        with open(path, "w") as f:
            f.write(text)
        self.assertEqual(self.run_json("--job " + path)["iteration_ms"], self.run_json(JOB)["iteration_ms"])

    def test_a_phone_in_the_dark(self):
        colors = []
        for scheme in ("light", "dark"):
            self.web.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            colors.append(self.web.execute_script("return getComputedStyle(document.body).backgroundColor"))
        self.assertNotEqual(*colors)
        self.web.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 360, "height": 800, "deviceScaleFactor": 2, "mobile": True})
        try:
            self.wait_for(lambda: self.web.find_elements(By.CSS_SELECTOR, "[data-part=nodes] tr.here"))
            self.web.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
            for part in ("explain", "sweep"):
                self.wait_for(lambda: self.web.find_elements(By.CSS_SELECTOR, f"[data-part={part}] tbody tr"))
            self.assertLessEqual(self.web.execute_script("return document.documentElement.scrollWidth"), 360)
            cut = "return [...document.querySelectorAll('.wide:not([tabindex=\"0\"])')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.closest('[data-part]').dataset.part + ': ' + e.clientWidth + ' of ' + e.scrollWidth)"
            self.assertEqual(self.web.execute_script(cut), [])  # the timeline alone moves sideways, by keys, too
            self.shot("serve-phone-dark")
            self.after(lambda: self.insert("[data-more]", " --num-layers 81 --pipeline-model-parallel-layout " + "t|" * 60))
            self.assertIn("refused", self.headline())
            self.assertLessEqual(self.web.execute_script("return document.documentElement.scrollWidth"), 360)
            self.assertLessEqual(self.web.execute_script("return document.querySelector('.top').clientHeight"), 400)  # half the screen
        finally:
            self.web.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_the_focus_stays(self):
        """What was chosen or pressed has the focus when the page has drawn itself anew."""
        focus = "const a = document.activeElement; return a.id || a.getAttribute('aria-label') || a.className"
        self.wait_for(lambda: self.web.find_elements(By.CSS_SELECTOR, "[data-part=nodes] tr.here"))
        self.find("[aria-label='Take 16']").send_keys(Keys.ENTER)
        self.wait_for(lambda: self.web.execute_script("const now = document.querySelector('[data-part=nodes] tr.here th'); return now && now.textContent === '16'"))
        self.assertEqual(self.web.execute_script(focus), "Take 16")
        self.web.execute_script("document.getElementById('model-0').focus()")
        self.choose("model", "qwen3-8b")
        self.wait_for(lambda: "Changed" in self.find(".repair").text and "fits" in self.headline())
        self.assertEqual(self.web.execute_script(focus), "model-0")
        self.after(lambda: self.find(".repair button").send_keys(Keys.ENTER))  # Undo
        self.assertIn(self.web.execute_script(focus), ("repair", "Nearest legal layout"))

    def test_screen_readers_find_names(self):
        nameless = self.web.execute_script("""
            return [...document.querySelectorAll('input, select, textarea, button')].filter((e) =>
                !(e.labels && e.labels.length && e.labels[0].textContent.trim()) && !e.textContent.trim() &&
                !e.getAttribute('aria-label')).map((e) => e.outerHTML)""")
        self.assertEqual(nameless, [])
        bar = self.find("#answer-a .stack")
        self.assertEqual(bar.get_attribute("role"), "img")
        self.assertIn("compute", bar.get_attribute("aria-label"))
        self.assertEqual(self.find("#job-a .headline").get_attribute("aria-live"), "polite")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], defaultTest="Page.test_a_sample_of_choices" if MANY else None)
