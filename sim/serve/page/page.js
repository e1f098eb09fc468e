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
  let reply, text;
  try {
    reply = await server.ask(path, parameters, signal);
    text = await reply.text();
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw {message: globalThis.stepsimAnswers && e.message ? e.message : "No answer: is \u201cstepsim serve\u201d still running?", offline: true};
  }
  const data = reply.json ? JSON.parse(text) : {error: {message: text}};
  if (!reply.ok) throw data.error || {message: "status " + reply.status};
  return data;
};
const told = (e) => (e.message || "no answer") + (e.hint ? ": " + e.hint : "");

const valuesOf = (c, value) => {
  const all = c.values.map(String);
  if (value !== undefined && !all.includes(String(value))) all.push(String(value));
  return all.sort((a, b) => a - b);
};

// What can be saved: [text, name of the file, address, further arguments].
const FILES = [["job file", "job.args", "/job.args"], ["report", "report.html", "/report.html"], ["timeline (SVG)", "timeline.svg", "/timeline.svg"],
  ["nodes (CSV)", "nodes.csv", "/nodes.csv"], ["values (CSV)", "sweep.csv", "/sweep.csv"], ["values (SVG)", "sweep.svg", "/sweep.svg"]];

// Draws anew, and the focus stays: on the control of the same id, else on the button with the same words, else on the first one.
function drawAnew(root, draw) {
  const had = root.contains(document.activeElement) ? document.activeElement : null, words = (b) => b.getAttribute("aria-label") || b.textContent;
  draw();
  if (!had || root.contains(document.activeElement)) return;
  const buttons = [...root.querySelectorAll("button")], again = had.id ? document.getElementById(had.id) : buttons.find((b) => words(b) === words(had)) || buttons[0];
  (again || root).focus({preventScroll: true});
}

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
    for (const part of PARTS) this.part(part).addEventListener("toggle", () => this.drawParts());
    this.part("sweep").querySelector("select").addEventListener("change", () => this.drawParts());
    this.tokens = this.part("nodes").querySelector("input");
    this.tokens.addEventListener("change", () => this.drawParts());
    this.asking = {};
    this.read(text);
  }

  part(name) { return this.root.querySelector(`[data-part=${name}]`); }

  $(selector) { return this.root.querySelector(selector); }

  text() { return textOf(this.job); }

  read(text) {
    this.job = jobOf(unitsOf(text), choices.controls);
    this.more.value = this.job.more;
    drawAnew(this.$("form"), () => {
      for (const group of this.root.querySelectorAll("[data-group]")) group.replaceChildren();
      for (const c of CONTROLS) this.$(`[data-group=${c.group}]`).append(this.control(c));
    });
    const select = this.part("sweep").querySelector("select"), kept = select.value || "--tp";
    select.replaceChildren(...CONTROLS.filter((c) => !c.on && c.flag !== "--fp8-format").map((c) => new Option(c.label, c.flag, false, c.flag === kept)));
  }

  control(c) {
    const id = c.flag.slice(2) + "-" + this.index, value = this.job.set[c.flag];
    const put = (v) => { setControl(this.job, c, v); this.more.value = this.job.more; this.changed(c.flag); };
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
        shown.textContent = toldBy(this.job, c) ? "by a flag" : c.none && this.job.set[c.flag] === undefined ? c.none : Number(all[range.value]).toLocaleString("en");
        range.setAttribute("aria-valuetext", shown.textContent);
      };
      range.value = String(Math.max(0, all.indexOf(String(value === undefined ? c.usual || all[0] : value))));
      show();
      range.addEventListener("input", () => { put(all[range.value]); show(); });
      return make("div", {class: "control"}, label, range, shown);
    }
    const select = make("select", {id});
    const options = c.choices || [...(c.usual === undefined ? [] : [[c.usual, c.none || "the model's usual one"]]), ...choices[c.list].map((n) => [n, n])];
    if (value !== undefined && !options.some((o) => o[0] === value)) options.push([value, value]);
    if (value === undefined && c.usual === undefined) options.unshift(["", "by flags"]);
    select.append(...options.map(([v, t]) => new Option(t, v)));
    select.value = value === undefined ? c.usual || "" : value;
    select.addEventListener("change", () => put(select.value || undefined));
    return make("div", {class: "control"}, label, select);
  }

  // The words have changed, by the control of this flag; a model or a cluster brings a legal layout along.
  changed(flag) {
    this.brings = flag === "--model" || flag === "--platform";
    this.repair();
    for (const e of this.root.querySelectorAll(".moved")) e.classList.remove("moved");
    this.remember();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.predict(), 25);
  }

  remember() { history.replaceState(null, "", hashOf(panels.map((p) => p.text()))); }

  // Takes other words for the job, and asks.
  take(text) {
    this.read(text);
    this.changed();
  }

  apply(words) { this.take(this.text() + " " + words); }

  // Aborts what was asked of this kind before.
  signal(kind) {
    if (this.asking[kind]) this.asking[kind].abort();
    return (this.asking[kind] = new AbortController()).signal;
  }

  async predict() {
    const text = this.text(), began = performance.now(), signal = this.signal("run"), brings = this.brings;
    const late = setTimeout(() => this.root.classList.add("old"), 150);
    let offers = false;
    this.$(".command").textContent = "stepsim run " + text;
    try {
      this.run = await ask("/run.json", {job: text}, signal);
      this.$(".error").hidden = this.$(".before").hidden = true;
      this.root.classList.remove("old");
      this.draw();
      offers = this.run.verdict === "too large";
      document.documentElement.dataset.answeredIn = Math.round(performance.now() - began);
      document.documentElement.dataset.firstAnswer ||= Math.round(performance.now()); // behind the click that opened the page
    } catch (e) {
      if (e.name === "AbortError") return;
      this.refuse(e);
      offers = !e.offline;
    } finally {
      clearTimeout(late);
    }
    if (this.index === 0 && panels[1] && panels[1].run) panels[1].draw();
    if (offers && brings) await this.mend("/nearest.json");
    else if (offers) this.offer();
    document.documentElement.dataset.ready = String(Number(document.documentElement.dataset.ready || 0) + 1);
    this.drawParts();
  }

  draw() {
    drawAnswer(this.root, this.run, this.index === 1 && panels[0] ? panels[0].run : null);
    this.good = this.text();
    const set = this.job.set;
    this.last = [set["--model"] || "a model by flags", "on", set["--nodes"] || "", "nodes of", (set["--platform"] || "") + ":", seconds(this.run.iteration_ms) + ",", this.run.verdict].join(" ");
    const experts = this.run.inputs.model.num_experts > 0;
    this.$("[data-experts]").hidden = !experts && !CONTROLS.some((c) => /experts|routing/.test(c.group) && this.job.set[c.flag] && this.job.set[c.flag] !== c.usual);
    if (this.index === 0) document.title = seconds(this.run.iteration_ms) + ", " + this.run.verdict + " \u2013 stepsim";
  }

  // No figure of another job stands as the answer of this one.
  refuse(e) {
    const word = e.offline ? "no answer" : "refused", before = this.$(".before");
    this.run = null;
    this.$(".headline").replaceChildren(make("b", {class: "refused"}, word), e.offline ? "" : "this job has no answer");
    this.$(".aside").hidden = true;
    this.$(".tiles").replaceChildren();
    this.$(".error").textContent = told(e);
    this.$(".error").hidden = false;
    before.textContent = this.last ? "Below is the last answer: " + this.last : "";
    before.hidden = !this.last;
    this.root.classList.add("old");
    if (this.index === 0) document.title = word + " \u2013 stepsim";
  }

  repair(...children) { drawAnew(this.$(".repair"), () => this.$(".repair").replaceChildren(...children)); }

  offer(text) {
    this.repair(text ? make("p", {}, text) : "", button("Nearest legal layout", () => this.mend("/nearest.json")), button("Fastest (search)", () => this.mend("/fastest.json")));
  }

  async mend(path) {
    const text = this.text();
    this.repair(make("p", {}, "Searching\u2026"));
    try {
      const found = await ask(path, {job: text}, this.signal("mend"));
      if (this.text() === text) this.settle(found, text);
    } catch (e) {
      if (e.name !== "AbortError") this.offer(told(e));
    }
    document.documentElement.dataset.mended = String(Number(document.documentElement.dataset.mended || 0) + 1);
  }

  // Takes what was found; other nodes are taken by a click.
  settle(found, text) {
    if (!found.found) return this.offer("No layout on up to " + (found.nodes || "any number of").toLocaleString("en") + " nodes holds this job" + (found.why ? "; the last was refused: " + found.why : "."));
    const words = found.words.join(" ");
    const take = () => { this.take(words); this.mark(text, words); };
    if (found.nodes === found.asked_nodes) return take();
    return this.repair(make("p", {}, found.nodes.toLocaleString("en") + " nodes are the smallest number that holds it, of " + found.asked_nodes.toLocaleString("en") + " and its doubles: " + found.verdict + ", " + seconds(found.iteration_ms) + "."),
      button("Take " + found.nodes.toLocaleString("en") + " nodes and their layout", take), ...(this.good ? [button("Back", () => this.take(this.good))] : []));
  }

  // Marks the controls that another layout has changed, and tells them.
  mark(before, after) {
    const was = jobOf(unitsOf(before), choices.controls), now = jobOf(unitsOf(after), choices.controls), d = differences(was, now);
    for (const [c, from] of d.controls) {
      const e = this.$("#" + c.flag.slice(2) + "-" + this.index);
      if (!e) continue;
      e.closest(c.on ? "label" : ".control").classList.add("moved");
      e.closest(c.on ? "label" : ".control").title = "was " + from;
    }
    const said = [...d.controls.map(([c, from, to]) => c.label + " " + from + " \u2192 " + to), ...d.gone.map((u) => "without " + u), ...d.come.map((u) => "with " + u)];
    this.repair(make("p", {}, "Changed so that it is legal and fits: " + (said.join(", ") || "nothing") + "."), button("Undo", () => this.take(before)));
  }

  // Sets an attribute of an element to an address's answer, unless the job has changed when the address is there.
  async show(element, attribute, path, parameters) {
    const url = await server.url(path, parameters);
    if (element && this.text() === parameters.job) element[attribute] = url;
  }

  drawParts() {
    const text = this.text();
    if (!this.run) return;
    if (this.part("timeline").open) {
      const img = make("img", {alt: "Timeline of job " + this.name + ": stages by time"});
      this.part("timeline").querySelector("div").replaceChildren(img);
      this.show(img, "src", "/timeline.svg", {job: text});
    }
    if (this.part("nodes").open) this.fill("nodes", "/nodes.json", this.nodes(text), (at, d) => drawNodes(at, d, Number(this.job.set["--nodes"]), (n) => this.set("--nodes", n)));
    if (this.part("explain").open) this.fill("explain", "/explain.json", {job: text}, (at, d) => drawExplain(at, d, (words) => this.apply(words)));
    const flag = this.part("sweep").querySelector("select").value;
    if (this.part("sweep").open) this.fill("sweep", "/sweep.json", this.values(text), (at, d) => drawSweep(at, flag, d.rows, this.now(flag), (v) => this.set(flag, v)));
    this.$(".files").replaceChildren("Save: ", ...FILES.map(([name, file, path]) => this.file(name, file, path,
      /nodes/.test(path) ? this.nodes(text) : /sweep/.test(path) ? this.values(text) : {job: text})));
  }

  // A link that saves a file. A page without a server makes the file when it is asked for.
  file(name, file, path, parameters) {
    const a = make("a", {download: file, href: "#", ...(path === "/job.args" ? {"data-part": "file"} : {})}, name);
    if (!globalThis.stepsimAnswers || path === "/job.args") this.show(a, "href", path, parameters);
    else a.addEventListener("click", async (e) => {
      if (a.href.startsWith("blob:")) return;
      e.preventDefault();
      a.href = await server.url(path, parameters);
      a.click();
    });
    return a;
  }

  set(flag, value) {
    setControl(this.job, CONTROLS.find((c) => c.flag === flag), String(value));
    this.take(this.text());
  }

  now(flag) { return this.job.set[flag] || CONTROLS.find((c) => c.flag === flag).usual; }

  // Numbers of nodes about the job's.
  nodes(text) {
    const now = Number(this.job.set["--nodes"]) || this.run.inputs.platform.nodes;
    return {job: text, tokens: this.tokens.value.trim() || "1T", nodes: [...new Set([now / 4, now / 2, now, now * 2, now * 4].filter((n) => n >= 1 && n % 1 === 0 && n <= 4096))].join(",")};
  }

  // Values of the chosen flag about the job's.
  values(text) {
    const flag = this.part("sweep").querySelector("select").value, c = CONTROLS.find((k) => k.flag === flag), now = this.now(flag);
    let values = c.values ? valuesOf(c, now) : (c.choices ? c.choices.map((k) => k[0]) : choices[c.list]).filter(Boolean);
    if (c.values) { const i = Math.max(0, values.indexOf(String(now))); values = values.slice(Math.max(0, i - 4), i + 6); }
    return {job: text, vary: flag.slice(2) + "=" + values.slice(0, 60).join(",")};
  }

  async fill(part, path, parameters, draw) {
    const at = this.part(part).querySelector("div");
    try {
      const data = await ask(path, parameters, this.signal(part));
      drawAnew(at, () => draw(at, data));
    } catch (e) {
      if (e.name !== "AbortError") at.replaceChildren(make("p", {class: "error"}, told(e)));
    }
  }
}
const PARTS = ["nodes", "explain", "sweep", "timeline"];

function show(texts) {
  const main = document.getElementById("jobs");
  panels.splice(0, panels.length, ...texts.map((t, i) => new Panel(i, t)));
  main.replaceChildren(...panels.map((p) => p.root));
  main.className = panels.length > 1 ? "two" : "one";
  document.getElementById("second").setAttribute("aria-pressed", String(panels.length > 1));
  for (const p of panels) p.predict();
}

// The text is read by the library; what it lacks is asked for.
function beginPaste() {
  const root = document.getElementById("paste"), text = root.querySelector("textarea"), error = root.querySelector(".error"), asked = root.querySelector(".asked");
  text.addEventListener("input", () => asked.replaceChildren());
  root.querySelector("button").addEventListener("click", async () => {
    const link = textsOf(/^\S+#\S+$/.test(text.value.trim()) ? text.value.trim().replace(/^[^#]*/, "") : "");
    if (link.length) {
      show(link);
      return panels[0].remember();
    }
    const values = [...asked.querySelectorAll("input")].filter((i) => i.value.trim()).map((i) => i.name + "=" + i.value.trim());
    try {
      const read = await ask("/import.json", {text: text.value, values: values.join("\n"), job: panels[0].text()});
      error.hidden = true;
      root.querySelector(".notes").replaceChildren(...read.notes.map((n) => make("li", {}, n)));
      if (read.missing.length) {
        asked.replaceChildren(make("p", {}, "The text gives these no value:"), ...read.missing.map((m) => make("label", {class: "short"}, m.name + (m.about ? " (" + m.about + ") " : " "),
          make("input", {name: m.name, spellcheck: "false"}))));
        asked.querySelector("input").focus();
        return;
      }
      asked.replaceChildren();
      panels[0].brings = true;
      panels[0].read(read.words.join(" "));
      panels[0].remember();
      panels[0].predict();
    } catch (e) {
      error.textContent = told(e);
      error.hidden = false;
    }
    document.documentElement.dataset.pasted = String(Number(document.documentElement.dataset.pasted || 0) + 1);
  });
}

const joined = (units) => units.map((u) => u.join(" ")).join(" ");

async function begin() {
  choices = globalThis.stepsimChoices || await ask("/choices.json", {});
  const texts = textsOf(location.hash), recipe = document.getElementById("recipe");
  show(texts.length ? texts : [choices.start.length ? joined(choices.start) : FIRST]);
  recipe.append(...Object.keys(choices.recipes).map((n) => new Option(n, n)));
  recipe.addEventListener("change", () => { if (recipe.value) { panels[0].take(joined(choices.recipes[recipe.value])); recipe.value = ""; } });
  beginPaste();
  document.getElementById("second").addEventListener("click", () => {
    const all = panels.map((p) => p.text());
    show(all.length > 1 ? [all[0]] : [all[0], all[0]]);
    panels[0].remember();
  });
  document.getElementById("link").addEventListener("click", async () => {
    const said = document.getElementById("said");
    panels[0].remember();
    try {
      await navigator.clipboard.writeText(location.href);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The address above is the link.";
    }
  });
  addEventListener("hashchange", () => { const t = textsOf(location.hash); if (t.length) show(t); });
}
begin().catch((e) => document.getElementById("jobs").replaceChildren(make("p", {class: "error", role: "alert"}, told(e))));
