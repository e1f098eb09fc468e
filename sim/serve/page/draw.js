// SPDX-License-Identifier: Apache-2.0
// Figures as bars and tables; texts are set as texts, never as markup.
"use strict";

// Words and tones are in TIMES, MEMORY and TERMS, which the program writes before this script: {"tp": ["exposed TP", "tp"], ...}.
const tone = (id) => `var(--tone-${id})`;
const sayAs = (words, key, ...more) => [words[key][1], words[key][0], ...more];
const MOST_STAGES = 32, MUCH_HOST = 0.2;

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {}))
    if (k === "color") e.style.background = v; else if (["width", "left", "marginLeft"].includes(k)) e.style[k] = v; else e.setAttribute(k, v);
  e.append(...children.filter((c) => c !== null));
  return e;
}
function button(text, act, label) {
  const b = make("button", {type: "button", ...(label ? {"aria-label": label} : {})}, text);
  b.addEventListener("click", act);
  return b;
}

const digits = (x, n) => Number(x).toLocaleString("en", {maximumSignificantDigits: n});
function seconds(ms) {
  return ms >= 1000 ? digits(ms / 1000, 4) + " s" : digits(ms, 4) + " ms";
}
const gib = (mib) => digits(mib / 1024, 3) + " GiB";
const signed = (x) => (x >= 0 ? "+" : "\u2212") + Math.abs(x).toFixed(1) + " %";
const change = (now, before) => before > 0 ? signed(100 * (now - before) / before) : "";
const range = (low, high) => [low, high].map((p) => (p > 0 ? "+" : "\u2212") + digits(Math.abs(p), 2)).join(" to ") + " %";
const verdictClass = (v) => v === "fits" ? "fits" : v === "near limit" ? "near" : v === "too large" ? "large" : "refused";
const large = (x) => x >= 1e6 ? digits(x / 1e6, 3) + "M" : x >= 1e4 ? digits(x / 1e3, 3) + "k" : digits(x, 3);

function table(caption, heads, rows) {
  const head = make("thead", {}, make("tr", {}, ...heads.map((t) => make("th", {scope: "col"}, t))));
  return make("div", {class: "wide"}, make("table", {}, make("caption", {class: "skip"}, caption), head, make("tbody", {}, ...rows)));
}
const cells = (...all) => all.map((c) => c instanceof Node ? c : make("td", {}, c));

// parts: [tone, label, value, text]; `whole`: the length of the bar
function bar(parts, whole, title) {
  return make("div", {class: "stack", role: "img", "aria-label": title + ": " + parts.map((r) => r[1] + " " + r[3]).join(", ")},
    ...parts.map(([name, label, value, text]) => make("i", {color: tone(name), width: 100 * value / whole + "%", title: label + ": " + text})));
}

// rows: [tone, label, value, text, value of the other job or null]
function stack(rows, whole, title, other) {
  return [bar(rows, whole, title), table(title, ["part", "value", "share", ...(other ? ["B against A"] : [])],
    rows.map(([name, label, value, text, before]) => make("tr", {}, make("th", {scope: "row"}, make("i", {color: tone(name)}), label),
      ...cells(text, (100 * value / whole).toFixed(1) + " %"), other ? make("td", {}, before === null ? "" : change(value, before)) : null)))];
}

// The stages that are drawn: all, or equally many steps apart, with the last one.
function someOf(stages) {
  const step = Math.ceil(stages.length / MOST_STAGES);
  return stages.filter((s, i) => i % step === 0 || i === stages.length - 1);
}
const perStage = (stages, row) => make("div", {class: "stages"}, ...someOf(stages).map((s) => make("div", {class: "stage"}, make("span", {}, "stage " + s.stage), row(s))));

function drawStages(at, run) {
  const all = run.stage_breakdown || [];
  at.replaceChildren(...(all.length < 2 ? [] : [perStage(all, (s) => bar(Object.keys(TIMES).filter((k) => s[k] > run.iteration_ms * 5e-4)
    .map((k) => sayAs(TIMES, k, s[k], seconds(s[k]))), run.iteration_ms, "Stage " + s.stage)), make("p", {class: "hint"}, "The table is of stage " + run.critical_stage + ", which is busiest.")]));
}

function drawTime(at, run, other) {
  const parts = Object.entries(run.breakdown_ms).filter(([, ms]) => ms > run.iteration_ms * 5e-5);
  at.replaceChildren(...stack(parts.map(([k, ms]) => sayAs(TIMES, k, ms, seconds(ms), other ? other.breakdown_ms[k] : null)),
    run.iteration_ms, "Iteration", other));
}

const memoryParts = (stage) => Object.keys(MEMORY).filter((k) => stage[k + "_mib"] > 0).map((k) => sayAs(MEMORY, k, stage[k + "_mib"], gib(stage[k + "_mib"]), k + "_mib"));

function drawMemory(at, run, other) {
  const m = run.memory, fullest = (r) => r.memory.stages.find((s) => s.stage === r.memory.peak_stage) || r.memory.stages[0], its = other ? fullest(other) : null;
  const whole = Math.max(m.capacity_mib, ...m.stages.map((s) => s.total_mib * (1 + Math.max(0, m.band_high_pct || 0) / 100)));
  const drawn = (s, title) => {
    const b = bar(memoryParts(s), whole, title), low = s.total_mib * (1 + m.band_low_pct / 100), high = s.total_mib * (1 + m.band_high_pct / 100);
    if (m.band_high_pct !== null && m.band_high_pct !== undefined)
      b.append(make("u", {left: 100 * low / whole + "%", width: 100 * (high - low) / whole + "%", title: "90 % of such jobs: " + gib(low) + " to " + gib(high)}));
    b.append(make("s", {left: 100 * m.capacity_mib / whole + "%", title: "the card has " + gib(m.capacity_mib)}));
    return b;
  };
  const rows = memoryParts(fullest(run)).map((p) => [...p.slice(0, 4), its && its[p[4]] !== undefined ? its[p[4]] : null]);
  const last = stack(rows, whole, "Memory of stage " + m.peak_stage, other)[1];
  at.replaceChildren(m.stages.length < 2 ? drawn(fullest(run), "Memory") : perStage(m.stages, (s) => drawn(s, "Memory of stage " + s.stage)), last,
    make("p", {class: "hint"}, "The line is what the card has, the bracket what 90 % of such jobs need; the table is of stage " + m.peak_stage + "."));
}

function tile(name, value, note) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value, make("small", {}, note || "")));
}

// Mean share of an iteration in which a stage waits for others.
function idle(run) {
  const stages = run.stage_breakdown && run.stage_breakdown.length ? run.stage_breakdown : [run.breakdown_ms];
  const mean = (k) => 100 * stages.reduce((sum, s) => sum + s[k], 0) / stages.length / run.iteration_ms;
  return {imbalance: mean("imbalance"), bubble: mean("bubble")};
}

function drawTiles(at, run, other) {
  const m = run.memory, wait = idle(run), measured = m.measured_mib ? ", measured " + gib(m.measured_mib) + " (" + signed(m.error_pct) + ")" : "";
  const band = m.band_high_pct === null || m.band_high_pct === undefined ? "" : "; " + range(m.band_low_pct, m.band_high_pct);
  at.replaceChildren(
    tile("tokens a second and GPU", digits(run.tokens_per_s_per_gpu, 4), other ? change(run.tokens_per_s_per_gpu, other.tokens_per_s_per_gpu) : run.gpus + " GPUs"),
    tile("TFLOP/s a GPU", digits(run.tflops_logged_per_gpu, 4), (run.logged_by ? "as " + run.logged_by + " logs it; " : "") + "MFU " + (100 * run.mfu).toFixed(1) + " %"),
    tile("memory", gib(m.device_mib), "of " + gib(m.capacity_mib) + ", stage " + m.peak_stage + band + measured),
    tile("idle in the pipeline", (wait.imbalance + wait.bubble).toFixed(1) + " %", "of GPU time: " + TIMES.imbalance[0] + " " + wait.imbalance.toFixed(1) + ", " + TIMES.bubble[0] + " " + wait.bubble.toFixed(1)),
    tile("exposed communication", seconds(run.exposed_communication_ms), (100 * run.exposed_communication_ms / run.iteration_ms).toFixed(1) + " %"));
}

function drawAnswer(panel, run, other) {
  const $ = (q) => panel.querySelector(q), weighed = (run.assumed || []).map((a) => a.without).filter((w) => w && w.takes_ms);
  const band = run.error_band_pct > 0 ? weighed.length ? " " + range(run.error_band_low_pct, run.error_band_high_pct) : " \u00b1 " + digits(run.error_band_pct, 2) + " %" : "";
  const things = weighed.map((w) => w.flags + " is assumed: " + (w.instead ? "with " + w.instead : "without") + " " + seconds(w.takes_ms) + ", " + gib(w.takes_mib));
  $(".headline").replaceChildren(make("b", {class: verdictClass(run.verdict)}, run.verdict), seconds(run.iteration_ms) + " an iteration" + band +
    (run.measured_ms ? ", measured " + seconds(run.measured_ms) + " (" + signed(run.error_pct) + ")" : "") + (other ? ", " + change(run.iteration_ms, other.iteration_ms) + " against A" : ""));
  const host = run.breakdown_ms.other / run.iteration_ms, aside = $(".aside"), compute = run.inputs.flags || {};
  aside.hidden = host <= MUCH_HOST;
  aside.textContent = "The GPU waits for the host to launch kernels in " + (100 * host).toFixed(0) + " % of the iteration" +
    (run.inputs.model.num_experts && compute.moe_grouped_gemm === false ? ": experts run one after the other, as Grouped GEMM is off." : ": kernels are too small or too many.");
  drawTiles($(".tiles"), run, other);
  drawStages($("[data-part=stages]"), run);
  drawTime($("[data-part=time]"), run, other);
  drawMemory($("[data-part=memory]"), run, other);
  const notes = [run.reason, ...new Set(things), ...(run.warnings || []), ...(run.fixes || []).map((f) => "try " + (f.change || f.flags))].filter(Boolean);
  $(".answer .notes").replaceChildren(...notes.map((n) => make("li", {}, String(n))));
}

const lengthCell = (part, whole) => make("td", {class: "wide-cell"}, make("span", {class: "length", width: 100 * part / whole + "%"}));
const takeCell = (value, take) => make("td", {}, button("take", () => take(value), "Take " + value));

// rows of /sweep.json: `take` sets the control to a value
function drawSweep(at, flag, rows, now, take) {
  const longest = Math.max(...rows.map((r) => r.iteration_ms || 0));
  at.replaceChildren(table("Values of " + flag, ["value", "verdict", "iteration", "tokens/s/GPU", "memory", "", ""], rows.map((r) => {
    const value = r.flags[flag];
    return make("tr", value === String(now) ? {class: "here"} : {}, make("th", {scope: "row"}, value), make("td", {class: verdictClass(r.verdict)}, r.verdict),
      ...(r.iteration_ms === undefined ? [make("td", {class: "text", colspan: "4"}, r.reason)] : [...cells(seconds(r.iteration_ms), digits(r.tokens_per_s_per_gpu, 4), gib(r.device_mib || r.peak_mib)), lengthCell(r.iteration_ms, longest)]),
      takeCell(value, take));
  })));
}

// points of /nodes.json
function drawNodes(at, plan, now, take) {
  const longest = Math.max(...plan.points.map((p) => p.days_high || p.days || 0)), dollars = (p) => p.usd ? large(p.usd) + " USD" : "";
  const rows = plan.points.map((p) => make("tr", p.nodes === now ? {class: "here"} : {}, make("th", {scope: "row"}, String(p.nodes)), make("td", {class: verdictClass(p.verdict)}, p.verdict),
    ...(p.days === undefined ? [make("td", {class: "text", colspan: "5"}, p.reason)] : [
      make("td", {}, digits(p.days, 3), make("small", {}, digits(p.days_low, 3) + " to " + digits(p.days_high, 3))),
      make("td", {class: "wide-cell"}, make("span", {class: "length whisker", width: 100 * p.days / longest + "%"}, make("u", {left: 100 * p.days_low / p.days + "%", width: 100 * (p.days_high - p.days_low) / p.days + "%"}))),
      make("td", {}, dollars(p), p.usd ? make("small", {}, large(p.usd_low) + " to " + large(p.usd_high)) : null),
      ...cells(large(p.gpu_hours), seconds(p.iteration_ms))]),
    takeCell(p.nodes, take)));
  const i = plan.inputs, price = i.price_usd_h ? digits(i.price_usd_h, 3) + " USD an hour and GPU" + (i.price_is_example ? " is an example" + (i.price_basis ? " (" + i.price_basis + ")" : "") : "") + ". " : "No price is known for this card. ";
  at.replaceChildren(table("Numbers of nodes", ["nodes", "verdict", "days", "", "cost", "GPU-hours", "iteration", ""], rows),
    make("p", {class: "hint"}, price + "Ranges hold 90 % of such jobs; failures and checkpoints count. The layout is the job's, data parallelism takes the nodes."));
}

// /explain.json: from the peak to the answer, and what wins back most
function drawExplain(at, x, apply) {
  const terms = Object.entries(x.terms_ms).filter(([, ms]) => ms > x.iteration_ms * 1e-3);
  let sum = 0;
  const rows = terms.map(([k, ms]) => {
    const from = sum;
    sum += ms;
    return make("tr", {}, make("th", {scope: "row"}, TERMS[k][0]), ...cells(seconds(ms), (100 * ms / x.iteration_ms).toFixed(1) + " %"),
      make("td", {class: "wide-cell"}, make("span", {class: "length", color: tone(TERMS[k][1]), width: 100 * ms / x.iteration_ms + "%", marginLeft: 100 * from / x.iteration_ms + "%"})));
  });
  const advice = [...(x.split ? [x.split] : []), ...(x.advice || [])].filter((a, i, all) => all.findIndex((b) => b.change === a.change) === i);
  const helps = advice.map((a) => make("tr", {}, make("th", {scope: "row", class: "words"}, a.change), make("td", {class: verdictClass(a.verdict)}, a.verdict),
    ...cells(seconds(a.iteration_ms), signed(a.time_pct) + (a.apart === false ? ", too close to call" : "")), make("td", {class: "text"}, a.note || ""),
    make("td", {}, button("take", () => apply(a.change), "Take " + a.change))));
  const more = Object.entries(x.elasticity_pct || {}).filter(([, p]) => Math.abs(p) >= 0.01).sort((a, b) => a[1] - b[1]);
  at.replaceChildren(table("From the peak to the answer", ["what", "time", "share", ""], rows),
    helps.length ? table("Changes that help", ["change", "verdict", "iteration", "", "", ""], helps) : make("p", {class: "hint"}, "No change that was tried helps."),
    make("p", {class: "hint"}, more.length ? "1 % more of: " + more.map(([k, p]) => k + " " + signed(p).replace(/ %$/, "") + " %").join(", ") + " of the iteration." : ""));
}
