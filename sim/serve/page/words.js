// SPDX-License-Identifier: Apache-2.0
// A job as words, as controls and as the end of an address.
"use strict";

const powers = (from, to) => { const all = []; for (let v = from; v <= to; v *= 2) all.push(v); return all; };
const SIZES = [...new Set([...powers(1, 4096), ...powers(3, 3072)])].sort((a, b) => a - b);

// A control: values of its slider, choices, or the list of names that it takes; where it is `usual` no word is written; `also`: flags
// that say the same in another way, which give way when it is moved.
const CONTROLS = [
  {flag: "--model", group: "what", label: "Model", list: "models"},
  {flag: "--platform", group: "what", label: "Cluster", list: "platforms"},
  {flag: "--nodes", group: "what", label: "Nodes", values: SIZES},
  {flag: "--stack", group: "what", label: "Software", list: "stacks", usual: ""},
  {flag: "--tp", group: "layout", label: "Tensor", values: powers(1, 64)},
  {flag: "--pp", group: "layout", label: "Pipeline", values: [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 30, 32, 40, 48, 64]},
  {flag: "--cp", group: "layout", label: "Context", values: powers(1, 64), usual: "1"},
  {flag: "--ep", group: "experts", label: "Expert parallel", values: powers(1, 512), usual: "1"},
  {flag: "--vp", group: "layout", label: "Chunks a stage", values: [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20], usual: "1", also: ["--num-layers-per-virtual-pipeline-stage"]},
  {flag: "--schedule", group: "layout", label: "Schedule", list: "schedules", usual: "auto", none: "Megatron's own"},
  {flag: "--fsdp", group: "layout", label: "Sharding (FSDP)", choices: [["none", "none"], ["grad", "gradients"], ["full", "parameters too"]], usual: "none"},
  {flag: "--etp", group: "experts", label: "Tensor in experts", values: powers(1, 64), none: "as Tensor"},
  {flag: "--moe-token-dispatcher-type", group: "experts", label: "Dispatcher", choices: [["", "the stack's usual one"], ["allgather", "all-gather"], ["alltoall", "all-to-all"], ["flex", "flex (DeepEP)"]], usual: ""},
  {flag: "--mbs", group: "batch", label: "Micro batch", values: [1, 2, 3, 4, 6, 8, 12, 16, 32, 64]},
  {flag: "--gbs", group: "batch", label: "Global batch", values: [...powers(1, 65536), 15360, 1536, 768, 2304].sort((a, b) => a - b)},
  {flag: "--seq", group: "batch", label: "Sequence", values: powers(512, 1048576)},
  {flag: "--fp8-format", group: "batch", label: "Precision", choices: [["", "bf16"], ["hybrid", "fp8 GEMMs"]], usual: ""},
  {flag: "--recompute", group: "batch", label: "Recompute", choices: [["none", "none"], ["selective", "selective"], ["full", "full"]], usual: "none",
    also: ["--recompute-granularity", "--recompute-method", "--recompute-num-layers", "--recompute-activations"]},
  {flag: "--bf16", group: "switches", label: "16-bit (bf16)", on: true},
  {flag: "--sequence-parallel", group: "switches", label: "Sequence parallel", on: true},
  {flag: "--use-distributed-optimizer", group: "switches", label: "Distributed optimizer", on: true},
  {flag: "--overlap-grad-reduce", group: "switches", label: "Overlap gradient reduction", on: true},
  {flag: "--overlap-param-gather", group: "switches", label: "Overlap parameter gather", on: true},
  {flag: "--tp-comm-overlap", group: "switches", label: "Overlap tensor parallel", on: true},
  {flag: "--moe-grouped-gemm", group: "routing", label: "Grouped GEMM", on: true},
  {flag: "--moe-permute-fusion", group: "routing", label: "Permute fusion", on: true},
  {flag: "--overlap-moe-expert-parallel-comm", group: "routing", label: "Overlap experts' exchange", on: true},
];
const FIRST = "--platform h800 --nodes 8 --model llama3.1-70b --tp 8 --pp 4 --vp 5 --mbs 1 --gbs 512 --seq 8192 --bf16 " +
  "--sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap";

// Words of a text as flags with their values.
function unitsOf(text) {
  const units = [];
  for (const word of text.split(/\s+/).filter(Boolean))
    if (/^-[-a-zA-Z]/.test(word) || !units.length) {
      const equal = word.indexOf("=");
      units.push(equal > 0 ? [word.slice(0, equal), word.slice(equal + 1)] : [word]);
    } else units[units.length - 1].push(word);
  return units;
}

// {"--tp": "4", "--bf16": true}, and what has no control; of a flag given twice the later one counts. A measurement is of these very words.
function jobOf(units, names) {
  const job = {set: {}, more: "", measured: "", like: ""}, more = [];
  for (const unit of units) {
    const control = CONTROLS.find((c) => (names[c.flag] || []).includes(unit[0]) || c.flag === unit[0]);
    const known = control && (control.on ? unit.length === 1 : unit.length === 2) &&
      !(control.choices && !control.choices.some((c) => c[0] === unit[1]));
    if (known) job.set[control.flag] = control.on ? true : unit[1];
    else if (/^--measured/.test(unit[0])) job.measured += " " + unit.join(" ");
    else more.push(unit.join(" "));
  }
  job.more = more.join(" ");
  const plain = {...job, measured: ""};
  job.like = textOf(plain);
  return job;
}

function textOf(job) {
  const words = [];
  for (const c of CONTROLS) {
    const value = job.set[c.flag];
    if (c.on ? value : value !== undefined && value !== "" && value !== c.usual)
      words.push(c.on ? c.flag : c.flag + " " + value);
  }
  if (job.more.trim()) words.push(job.more.trim().replace(/\s+/g, " "));
  const text = words.join(" ");
  return text === job.like ? text + job.measured : text;
}

// Whether the words beside the controls say what this control would.
const toldBy = (job, c) => (c.also || []).find((f) => job.more.split(/\s+/).includes(f));

const without = (text, flags) => unitsOf(text).filter((u) => !flags.includes(u[0])).map((u) => u.join(" ")).join(" ");

// The control is moved: no other flag says the same any more, and another model has a shape of its own.
function setControl(job, c, value) {
  job.set[c.flag] = value;
  if (toldBy(job, c)) job.more = without(job.more, c.also);
  if (c.flag === "--model") job.more = without(job.more, choices.shape);
}

// What differs between two jobs, for people: [label, before, after].
function differences(before, after) {
  const told = (job, c) => c.on ? (job.set[c.flag] ? "on" : "off") : job.set[c.flag] || c.usual || "\u2013";
  const all = CONTROLS.filter((c) => told(before, c) !== told(after, c)).map((c) => [c, told(before, c), told(after, c)]);
  const names = (job) => unitsOf(job.more).map((u) => u.join(" "));
  const gone = names(before).filter((u) => !names(after).includes(u)), come = names(after).filter((u) => !names(before).includes(u));
  return {controls: all, gone, come};
}

// "#job=...&b=..." of texts; blanks are "+" so that a link can be read. A link of before has "a" for "job". `stepsim run --link` writes
// the same (serve/link.c).
const hashOf = (texts) => "#" + texts.map((t, i) => ["job", "b"][i] + "=" + encodeURIComponent(t).replace(/%20/g, "+")).join("&");
function textsOf(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  return [found.get("job") ?? found.get("a"), found.get("b")].filter((t) => t !== null);
}
