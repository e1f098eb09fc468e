// SPDX-License-Identifier: Apache-2.0
// Figures as bars and tables; texts are set as texts, never as markup.
"use strict";

const COLORS = {
  compute: "#4878d0", recompute: "#8fb0e8", optimizer: "#6acc64", tp: "#d65f5f", cp: "#b47cc7", ep: "#d5bb67", dp: "#82c6e2",
  offload: "#8c613c", pp: "#ee854a", bubble: "#a5acb8", imbalance: "#797f88", spread: "#c4a484", other: "#5d6570",
  weights: "#4878d0", gradients: "#ee854a", activations: "#d65f5f", logits: "#d5bb67",
};
const TIMES = {compute: "compute", recompute: "recompute", optimizer: "optimizer", tp: "waits for tensor parallel", cp: "waits for context parallel",
  ep: "waits for experts", dp: "waits for data parallel", offload: "waits for offload", pp: "waits for pipeline transfers", bubble: "pipeline bubble",
  imbalance: "unequal stages", spread: "slower GPUs", other: "other"};

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {}))
    if (k === "color") e.style.background = v; else if (k === "width") e.style.width = v; else e.setAttribute(k, v);
  e.append(...children.filter((c) => c !== null));
  return e;
}

const digits = (x, n) => Number(x).toLocaleString("en", {maximumSignificantDigits: n});
function seconds(ms) {
  return ms >= 1000 ? digits(ms / 1000, 4) + " s" : digits(ms, 4) + " ms";
}
const gib = (mib) => digits(mib / 1024, 3) + " GiB";
const signed = (x) => (x >= 0 ? "+" : "\u2212") + Math.abs(x).toFixed(1) + " %";
const change = (now, before) => before > 0 ? signed(100 * (now - before) / before) : "";
const verdictClass = (v) => v === "fits" ? "fits" : v === "near limit" ? "near" : v === "too large" ? "large" : "refused";

// rows: [name, label, value, text of the value, value of the other job or null]; `whole`: the length of the bar
function stack(rows, whole, title, other) {
  const bar = make("div", {class: "stack", role: "img", "aria-label": title + ": " +
    rows.map((r) => r[1] + " " + r[3]).join(", ")});
  const body = make("tbody");
  for (const [name, label, value, text, before] of rows) {
    const color = COLORS[name] || "#97a1ad";
    bar.append(make("i", {color, width: 100 * value / whole + "%", title: label + ": " + text}));
    body.append(make("tr", {}, make("th", {scope: "row"}, make("i", {color}), label), make("td", {}, text),
      make("td", {}, (100 * value / whole).toFixed(1) + " %"), other ? make("td", {}, before === null ? "" : change(value, before)) : null));
  }
  const head = make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "part"), make("th", {scope: "col"}, "value"), make("th", {scope: "col"}, "share"),
    other ? make("th", {scope: "col"}, "B against A") : null));
  return [bar, make("div", {class: "wide"}, make("table", {}, make("caption", {class: "skip"}, title), head, body))];
}

function drawTime(at, run, other) {
  const parts = Object.entries(run.breakdown_ms).filter(([, ms]) => ms > run.iteration_ms * 5e-5);
  at.replaceChildren(...stack(parts.map(([k, ms]) => [k, TIMES[k] || k, ms, seconds(ms), other ? other.breakdown_ms[k] : null]),
    run.iteration_ms, "Iteration", other));
}

function drawMemory(at, run, other) {
  const stage = (r) => r.memory.stages.find((s) => s.stage === r.memory.peak_stage) || r.memory.stages[0];
  const mine = stage(run), its = other ? stage(other) : null;
  const parts = Object.entries(mine).filter(([k, v]) => /_mib$/.test(k) && !/^(peak|allocated|reserved|device|measured|total)/.test(k) && v > 0);
  const rows = parts.map(([k, v]) => [k.replace(/_mib$/, ""), k.replace(/_mib$/, "").replace(/_/g, " "), v, gib(v), its && its[k] !== undefined ? its[k] : null]);
  at.replaceChildren(...stack(rows, Math.max(run.memory.capacity_mib, run.memory.device_mib), "Memory", other));
}

function tile(name, value, note) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value, make("small", {}, note || "")));
}

function drawAnswer(panel, run, other) {
  const $ = (q) => panel.querySelector(q), weighed = (run.assumed || []).map((a) => a.without).filter((w) => w && w.takes_ms);
  const band = run.error_band_pct > 0 && (weighed.length ? [run.error_band_low_pct, run.error_band_high_pct].map((p) => (p > 0 ? "+" : "") + digits(p, 2)).join(" to ")
    : "\u00b1 " + digits(run.error_band_pct, 2));
  const things = weighed.map((w) => w.flags + " is assumed: " + (w.instead ? "with " + w.instead : "without") + " " + seconds(w.takes_ms) + ", " + gib(w.takes_mib));
  const verdict = make("b", {class: verdictClass(run.verdict)}, run.verdict);
  $(".headline").replaceChildren(verdict, seconds(run.iteration_ms) + " an iteration" + (band ? " " + band + " %" : "") +
    (other ? ", " + change(run.iteration_ms, other.iteration_ms) + " against A" : ""));
  const m = run.memory;
  $(".tiles").replaceChildren(
    tile("tokens a second and GPU", digits(run.tokens_per_s_per_gpu, 4), other ? change(run.tokens_per_s_per_gpu, other.tokens_per_s_per_gpu) : run.gpus + " GPUs"),
    tile("TFLOP/s a GPU", digits(run.tflops_logged_per_gpu, 4), (run.logged_by ? "as " + run.logged_by + " logs it; " : "") + "MFU " + (100 * run.mfu).toFixed(1) + " %"),
    tile("memory", gib(m.device_mib), "of " + gib(m.capacity_mib) + ", stage " + m.peak_stage),
    tile("bubble", (100 * run.bubble_fraction).toFixed(1) + " %", "exposed communication " + seconds(run.exposed_communication_ms)));
  drawTime($("[data-part=time]"), run, other);
  drawMemory($("[data-part=memory]"), run, other);
  const notes = [run.reason, ...new Set(things), ...(run.warnings || []), ...(run.fixes || []).map((f) => "try " + (f.change || f.flags))].filter(Boolean);
  $(".notes").replaceChildren(...notes.map((n) => make("li", {}, String(n))));
}

// rows of /sweep.json: `take` sets the control to a value
function drawSweep(at, flag, rows, now, take) {
  const longest = Math.max(...rows.map((r) => r.iteration_ms || 0));
  const body = make("tbody");
  for (const r of rows) {
    const value = r.flags[flag], button = make("button", {type: "button", "aria-label": "Take " + value}, "take");
    button.addEventListener("click", () => take(value));
    const row = make("tr", value === String(now) ? {class: "here"} : {}, make("th", {scope: "row"}, value),
      make("td", {class: verdictClass(r.verdict)}, r.verdict));
    if (r.iteration_ms === undefined) row.append(make("td", {class: "text", colspan: "4"}, r.reason));
    else row.append(make("td", {}, seconds(r.iteration_ms)), make("td", {}, digits(r.tokens_per_s_per_gpu, 4)), make("td", {}, gib(r.device_mib || r.peak_mib)),
      make("td", {class: "wide-cell"}, make("span", {class: "length", width: 100 * r.iteration_ms / longest + "%"})));
    row.append(make("td", {}, button));
    body.append(row);
  }
  const head = ["value", "verdict", "iteration", "tokens/s/GPU", "memory", "", ""].map((t) => make("th", {scope: "col"}, t));
  at.replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...head)), body));
}
