#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# usage: STEPSIM_ALONE=build-alone/page test_alone.py PROGRAM SOURCE
# The page of `sh setup.sh page` in headless Chromium, from a server that only gives files away: all that test_serve.py asks of the page of
# `stepsim serve`, ten jobs whose figures are those of `run --json` to the last digit, and the size that a browser loads.
# Without STEPSIM_ALONE or without Chromium the test is skipped.
import glob
import gzip
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import unittest

FOLDER = os.environ.get("STEPSIM_ALONE", "")
for missing, why in ((not FOLDER, "STEPSIM_ALONE names no folder of `sh setup.sh page`"),
                     (not shutil.which("chromium") or not shutil.which("chromedriver"), "chromium is missing")):
    if missing:
        print("test_alone.py: skipped: " + why)
        sys.exit(77)

import test_serve  # noqa: E402

PROGRAM, SOURCE = sys.argv[1:3]
MOST_BYTES = 5e6  # gzipped


class Files(http.server.SimpleHTTPRequestHandler):
    asked = []

    def __init__(self, *args):
        super().__init__(*args, directory=FOLDER)

    def log_message(self, *args):
        self.asked.append(self.path)


class Alone(test_serve.Page):
    start = "#job=" + test_serve.JOB.replace(" ", "+")

    @classmethod
    def begin_server(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.url = f"http://127.0.0.1:{cls.server.server_port}/"

    @classmethod
    def end_server(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def tearDown(self):
        if self.web.current_url.startswith("http"):
            super().tearDown()
        self.assertLessEqual({p.split("?")[0].lstrip("/") for p in Files.asked}, {"", *os.listdir(FOLDER)})

    def link_of(self, job):
        return subprocess.run([PROGRAM, "run", "--job", job, "--link"], capture_output=True, text=True, check=True).stdout.strip()

    def test_ten_jobs_to_the_last_digit(self):
        jobs = sorted(glob.glob(os.path.join(SOURCE, "workloads/jobs/*.args")))[-10:]
        self.assertEqual(len(jobs), 10)
        for job in jobs:
            self.web.get("about:blank")
            self.open(self.url + self.link_of(job))
            text = self.web.execute_async_script(
                "stepsimAnswers.ask('/run.json', {job: panels[0].text()}).then((r) => r.text()).then(arguments[0])")
            out = subprocess.run([PROGRAM, "run", "--job", job, "--engine", "native", "--json"], capture_output=True, text=True).stdout
            mine, its = (json.loads(t, parse_float=str, parse_int=str) for t in (text, out))
            for run in (mine, its):
                del run["inputs"]  # says that a file was read
                for key in ("measured_ms", "error_pct", "error_band_covers"):
                    run.pop(key, None)  # the page keeps no measurement
                for key in ("measured_mib", "error_pct"):
                    run["memory"].pop(key, None)
                    for stage in run["memory"]["stages"]:
                        stage.pop(key, None)
            self.assertEqual(mine, its, job)
            print(f"{os.path.basename(job)}: the same digits, answered in {self.web.execute_script('return document.documentElement.dataset.answeredIn')} ms")

    def test_opened_as_a_file(self):
        self.web.get("file://" + os.path.abspath(os.path.join(FOLDER, "index.html")))
        self.wait_for(lambda: "give this folder to a web server" in self.find("#jobs .error").text)

    def test_a_first_answer(self):
        print(f"first answer {self.web.execute_script('return document.documentElement.dataset.firstAnswer')} ms behind the opening")

    def test_a_browser_loads_little(self):
        size = 0
        for name in os.listdir(FOLDER):
            with open(os.path.join(FOLDER, name), "rb") as f:
                size += len(gzip.compress(f.read()))
        print(f"{size} bytes gzipped")
        self.assertLess(size, MOST_BYTES)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
