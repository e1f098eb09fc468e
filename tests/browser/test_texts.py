#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# usage: test_texts.py PROGRAM SOURCE_ROOT [FOLDER]
# Draws every kind of picture (docs/guide/contact-sheet.sh), as wide as it is by itself and on each of WIDTHS, and opens each in headless
# Chromium at its own size: it is so wide, and no text is cut, lies over another one or is smaller than 8 px. 77 where Chromium, its driver or
# selenium is not installed.
import glob
import os
import shutil
import subprocess
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    sys.exit(77)
WIDTHS = (None, 600, 900, 1400)
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    print("chromium or chromium-driver is missing: skipped")
    sys.exit(77)
PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
         "--disable-component-update", "--disable-dev-shm-usage", "--window-size=1320,1000", "--force-device-scale-factor=1"]
# A text's box is as high as its line; letters fill the middle of it, so boxes may touch by SLACK of a line's height.
LOOK = """
const sheet = document.documentElement.viewBox.baseVal, slack = 0.15, bad = [], seen = [];
for (const t of document.querySelectorAll('text')) {
  const b = t.getBBox(), text = t.textContent, size = parseFloat(getComputedStyle(t).fontSize);
  if (!text) continue;
  if (size < 8) bad.push('small (' + size + ' px): ' + text);
  const h = b.height * slack, box = {x1: b.x, x2: b.x + b.width, y1: b.y + h, y2: b.y + b.height - h, text};
  if (box.x1 < -0.5 || box.x2 > sheet.width + 0.5 || b.y + h < 0 || b.y + b.height - h > sheet.height) bad.push('cut: ' + text);
  seen.push(box);
}
seen.sort((a, b) => a.x1 - b.x1);
let open = [];
for (const b of seen) {
  open = open.filter((a) => a.x2 > b.x1 + 0.5);
  for (const a of open) if (a.y1 < b.y2 && b.y1 < a.y2) bad.push('over each other: ' + a.text + ' | ' + b.text);
  open.push(b);
}
return [seen.length, bad.slice(0, 8), bad.length, sheet.width];
"""


# What LOOK must find: one text over another, one that is cut, one of 6 px.
CONTROL = """<svg xmlns="http://www.w3.org/2000/svg" width="200" height="80" viewBox="0 0 200 80"><text x="4" y="20">first</text>
<text x="8" y="24">second</text><text x="180" y="50">cut at the end</text><text x="4" y="70" style="font-size:6px">small</text></svg>"""


def main():
    folder = sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp(prefix="stepsim-texts-")
    sheets = {width: os.path.join(folder, str(width or "own")) for width in WIDTHS}
    for width, sheet in sheets.items():
        subprocess.run(["sh", os.path.join(SOURCE, "docs/guide/contact-sheet.sh"), PROGRAM, sheet, *([str(width)] if width else [])], check=True)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS + ["--user-data-dir=" + os.path.join(folder, "profile")]:
        options.add_argument(flag)
    web = webdriver.Chrome(service=Service(DRIVER), options=options)
    failed = drawn = 0
    try:
        control = os.path.join(folder, "control.xml")
        with open(control, "w", encoding="ascii") as f:
            f.write(CONTROL)
        web.get("file://" + control)
        found = " ".join(web.execute_script(LOOK)[1])
        if not all(word in found for word in ("small (6 px)", "cut: cut", "over each other: first | second")):
            sys.exit("the control picture is taken to be good: " + found)
        for width, sheet in sheets.items():
            for path in sorted(glob.glob(os.path.join(sheet, "*.svg"))):
                web.get("file://" + path)
                texts, bad, n, drawn_width = web.execute_script(LOOK)
                drawn += 1
                if n or texts < 3 or width not in (None, drawn_width):
                    failed += 1
                    print(f"{os.path.basename(path)} of {width or 'its own'} px, {drawn_width} wide: {n} of {texts} texts: " + "; ".join(bad))
    finally:
        web.quit()
        if len(sys.argv) <= 3:
            shutil.rmtree(folder)
    print(f"{drawn} pictures, {failed} with texts that cannot be read")
    return 1 if failed or drawn < 15 * len(WIDTHS) else 0


sys.exit(main())
