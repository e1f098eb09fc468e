// SPDX-License-Identifier: Apache-2.0
// The page: controls ask, answers are drawn. An answer that was overtaken is thrown away.
"use strict";

const panels = [];
let choices = null;

// Who answers: the server that sent this page, or what a page without one set before this script (alone/ask.js). `ask` gives
// {ok, status, json, text()} of an address, `url` an address that a browser can show or save.
const query = (path, parameters) => path + "?" + new URLSearchParams(parameters);
const server = globalThis.stepsimAnswers || {
  ask: async (path, parameters, signal) => {
    const r = await fetch(query(path, parameters), {signal});
    return {ok: r.ok, status: r.status, json: r.headers.get("Content-Type").startsWith("application/json"), text: () => r.text()};
  },
  url: async (path, parameters) => query(path, parameters),
};

const ask = async (path, parameters, signal) => {
  const reply = await server.ask(path, parameters, signal), text = await reply.text();
  const data = reply.json ? JSON.parse(text) : {error: {message: text}};
  if (!reply.ok) throw data.error || {message: "status " + reply.status};
  return data;
};

const valuesOf = (c, value) => {
  const all = c.values.map(String);
  if (value !== undefined && !all.includes(String(value))) all.push(String(value));
  return all.sort((a, b) => a - b);
};

class Panel {
  constructor(index, text) {
    this.root = document.getElementById("job").content.firstElementChild.cloneNode(true);
    this.index = index;
    this.name = "AB"[index];
    this.root.querySelector("h2").textContent = "Job " + this.name;
    this.root.setAttribute("aria-label", "Job " + this.name);
    this.root.id = "job-" + "ab"[index];
    this.root.querySelector(".answer").id = "answer-" + "ab"[index];
    this.more = this.root.querySelector("[data-more]");
    this.more.addEventListener("input", () => { this.job.more = this.more.value; this.changed(); });
    this.root.querySelector("form").addEventListener("submit", (e) => e.preventDefault());
    for (const part of ["sweep", "timeline"]) this.part(part).addEventListener("toggle", () => this.drawParts());
    this.part("sweep").querySelector("select").addEventListener("change", () => this.drawParts());
    this.read(text);
  }

  part(name) { return this.root.querySelector(`[data-part=${name}]`); }

  text() { return textOf(this.job); }

  read(text) {
    this.job = jobOf(unitsOf(text), choices.controls);
    this.more.value = this.job.more;
    for (const group of this.root.querySelectorAll("[data-group]")) group.replaceChildren();
    for (const c of CONTROLS) this.root.querySelector(`[data-group=${c.group}]`).append(this.control(c));
    const select = this.part("sweep").querySelector("select"), kept = select.value || "--nodes";
    select.replaceChildren(...CONTROLS.filter((c) => !c.on && c.flag !== "--fp8-format").map((c) => new Option(c.label, c.flag, false, c.flag === kept)));
  }

  control(c) {
    const id = c.flag.slice(2) + "-" + this.index, value = this.job.set[c.flag];
    const put = (v) => { setControl(this.job, c, v); this.more.value = this.job.more; this.changed(); };
    if (c.on) {
      const box = make("input", {type: "checkbox", id});
      box.checked = !!value;
      box.addEventListener("change", () => put(box.checked));
      return make("label", {for: id}, box, c.label);
    }
    const label = make("label", {for: id, title: c.flag}, c.label);
    if (c.values) {
      const all = valuesOf(c, value), shown = make("output", {for: id});
      const range = make("input", {type: "range", id, min: "0", max: String(all.length - 1), step: "1"});
      const show = () => {
        shown.textContent = toldBy(this.job, c) ? "by a flag" : Number(all[range.value]).toLocaleString("en");
        range.setAttribute("aria-valuetext", shown.textContent);
      };
      range.value = String(Math.max(0, all.indexOf(String(value === undefined ? c.usual || all[0] : value))));
      show();
      range.addEventListener("input", () => { put(all[range.value]); show(); });
      return make("div", {class: "control"}, label, range, shown);
    }
    const select = make("select", {id});
    const options = c.choices || [...(c.usual === "" ? [["", "the model's usual one"]] : []), ...choices[c.list].map((n) => [n, n])];
    if (value !== undefined && !options.some((o) => o[0] === value)) options.push([value, value]);
    select.append(...options.map(([v, t]) => new Option(t, v)));
    select.value = value === undefined ? c.usual || "" : value;
    select.addEventListener("change", () => put(select.value));
    return make("div", {class: "control"}, label, select);
  }

  changed() {
    history.replaceState(null, "", hashOf(panels.map((p) => p.text())));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.predict(), 25);
  }

  async predict() {
    const text = this.text(), began = performance.now();
    if (this.asking) this.asking.abort();
    const asking = this.asking = new AbortController();
    const error = this.root.querySelector(".error");
    const late = setTimeout(() => this.root.classList.add("old"), 150);
    this.root.querySelector(".command").textContent = "stepsim run " + text;
    try {
      this.run = await ask("/run.json", {job: text}, asking.signal);
      error.hidden = true;
      this.root.classList.remove("old");
      this.draw();
      if (this.index === 0 && panels[1] && panels[1].run) panels[1].draw();
      document.documentElement.dataset.answeredIn = Math.round(performance.now() - began);
    } catch (e) {
      if (e.name === "AbortError") return;
      error.textContent = (e.message || "no answer: is stepsim serve still running?") + (e.hint ? ": " + e.hint : "");
      error.hidden = false;
      this.root.classList.add("old");
    } finally {
      clearTimeout(late);
    }
    this.show("file", "href", "/job.args", text);
    document.documentElement.dataset.ready = String(Number(document.documentElement.dataset.ready || 0) + 1);
    this.drawParts();
  }

  draw() {
    drawAnswer(this.root, this.run, this.index === 1 && panels[0] ? panels[0].run : null);
    if (this.index === 0)
      document.title = seconds(this.run.iteration_ms) + ", " + this.run.verdict + " \u2013 stepsim";
  }

  // Sets an attribute of a part to an address's answer for the job, unless the job has changed when the address is there.
  async show(part, attribute, path, text) {
    const url = await server.url(path, {job: text});
    if (this.part(part) && this.text() === text) this.part(part)[attribute] = url;
  }

  drawParts() {
    const text = this.text();
    if (this.part("timeline").open) {
      const img = make("img", {alt: "Timeline of job " + this.name + ": stages by time", "data-part": "picture"});
      this.part("timeline").querySelector("div").replaceChildren(img);
      this.show("picture", "src", "/timeline.svg", text);
    }
    if (this.part("sweep").open) this.sweep(text);
  }

  async sweep(text) {
    const flag = this.part("sweep").querySelector("select").value, c = CONTROLS.find((k) => k.flag === flag), now = this.job.set[flag] || c.usual;
    const at = this.part("sweep").querySelector("div");
    let values = c.values ? valuesOf(c, now) : (c.choices ? c.choices.map((k) => k[0]) : choices[c.list]).filter(Boolean);
    if (c.values) { const i = values.indexOf(String(now)); values = values.slice(Math.max(0, i - 4), i + 6); }
    if (this.sweeping) this.sweeping.abort();
    this.sweeping = new AbortController();
    try {
      const data = await ask("/sweep.json", {job: text, vary: flag.slice(2) + "=" + values.slice(0, 60).join(",")}, this.sweeping.signal);
      drawSweep(at, flag, data.rows, now, (v) => { setControl(this.job, c, v); this.read(this.text()); this.changed(); });
    } catch (e) {
      if (e.name !== "AbortError") at.replaceChildren(make("p", {class: "error"}, e.message || "no answer"));
    }
  }
}

function show(texts) {
  const main = document.getElementById("jobs");
  panels.splice(0, panels.length, ...texts.map((t, i) => new Panel(i, t)));
  main.replaceChildren(...panels.map((p) => p.root));
  main.className = panels.length > 1 ? "two" : "one";
  document.getElementById("second").setAttribute("aria-pressed", String(panels.length > 1));
  for (const p of panels) p.predict();
}

async function begin() {
  choices = await ask("/choices.json", {});
  const start = choices.start.length ? choices.start.map((u) => u.join(" ")).join(" ") : FIRST;
  const texts = textsOf(location.hash);
  show(texts.length ? texts : [start]);
  document.getElementById("second").addEventListener("click", () => {
    const all = panels.map((p) => p.text());
    show(all.length > 1 ? [all[0]] : [all[0], all[0]]);
    history.replaceState(null, "", hashOf(panels.map((p) => p.text())));
  });
  document.getElementById("link").addEventListener("click", async () => {
    const said = document.getElementById("said");
    history.replaceState(null, "", hashOf(panels.map((p) => p.text())));
    try {
      await navigator.clipboard.writeText(location.href);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The address above is the link.";
    }
  });
  addEventListener("hashchange", () => { const t = textsOf(location.hash); if (t.length) show(t); });
}
begin().catch((e) => document.getElementById("jobs").replaceChildren(
  make("p", {class: "error", role: "alert"}, e.message || "no answer: is stepsim serve still running?")));
