/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks the numbers of this page: boxes as typed arrays, in seconds. */
const RUN = 0, WAIT = 1, SEND = 2, COLLECTIVE = 3, FIELDS = 7;

async function unpack() {
  const text = document.getElementById("data").textContent;
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/* start, length, kind, reference, microbatch, bytes, count; start and bytes relative to the box before */
function decodeLane(lane, cls) {
  const raw = lane.boxes, n = raw.length / FIELDS;
  const out = {
    cls, name: lane.name, kind: lane.kind, n,
    start: new Float64Array(n), end: new Float64Array(n), type: new Uint8Array(n), ref: new Int32Array(n),
    mb: new Int32Array(n), bytes: new Float64Array(n), count: new Int32Array(n),
  };
  let at = 0, bytes = 0;
  for (let i = 0, k = 0; i < n; i++, k += FIELDS) {
    at += raw[k];
    bytes += raw[k + 5];
    out.start[i] = at * 1e-9;
    out.end[i] = (at + raw[k + 1]) * 1e-9;
    out.type[i] = raw[k + 2];
    out.ref[i] = raw[k + 3];
    out.mb[i] = raw[k + 4];
    out.bytes[i] = bytes;
    out.count[i] = raw[k + 6];
  }
  return out;
}

function decode(d) {
  for (const c of d.classes) c.lanes = c.lanes.map((l) => decodeLane(l, c));
  d.chunks = 1;
  for (const c of d.classes)
    for (const l of c.lanes)
      for (let i = 0; i < l.n; i++)
        if ((l.type[i] === RUN || l.type[i] === SEND) && l.ref[i] >= 0)
          d.chunks = Math.max(d.chunks, Math.floor(l.ref[i] / d.phases.length) + 1);
  return d;
}

/* "12.34 ms": the unit fits times up to `most`, the decimals tell steps of this size apart. */
function timeText(seconds, step, most) {
  const units = [[1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"], [1e-9, "ns"]];
  let u = 0;
  while (u < 3 && most < units[u][0] * 0.9999) u++;
  const digits = Math.max(0, Math.ceil(-Math.log10(step / units[u][0]) - 1e-9));
  return (seconds / units[u][0]).toFixed(Math.min(digits, 9)) + " " + units[u][1];
}

/* "36.00 ms": four digits. */
function lengthText(seconds) {
  for (const [size, name] of [[1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"]])
    if (seconds >= size * 0.9999) return (seconds / size).toPrecision(4) + " " + name;
  return (seconds * 1e9).toPrecision(4) + " ns";
}

function bytesText(bytes) {
  const units = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
  for (const [size, name] of units)
    if (bytes >= size) return (bytes / size).toPrecision(4).replace(/\.?0+$/, "") + " " + name;
  return Math.round(bytes) + " bytes";
}

function roundStep(range, most) {
  const raw = range / most, power = 10 ** Math.floor(Math.log10(raw));
  for (const s of [1, 2, 5, 10]) if (s * power >= raw * (1 - 1e-9)) return s * power;
  return 10 * power;
}

function mix(a, b, share) {
  const part = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  return "#" + [0, 1, 2].map((i) => Math.round(part(a, i) + (part(b, i) - part(a, i)) * share)
    .toString(16).padStart(2, "0")).join("");
}

const MIXED = "#4a7d8c", PP = 8;

/* Phase and chunk of a computation's or message's reference; null outside the schedule. */
function slotOf(d, ref) {
  const n = d.phases.length;
  return ref >= 0 ? { phase: ref % n, chunk: Math.floor(ref / n) } : null;
}

function phaseColor(d, phase, chunk) {
  const [from, to] = d.phases[phase][1].split(" ");
  return mix(from, to, d.chunks > 1 ? chunk / (d.chunks - 1) : 0);
}

function boxColor(d, lane, i, by) {
  const type = lane.type[i], ref = lane.ref[i];
  if (type === WAIT) return d.labels[ref][1];
  if (type === COLLECTIVE) return d.labels[d.collectives[ref][1]][1];
  const slot = slotOf(d, ref);
  if (!slot) return ref === -2 ? MIXED : type === SEND ? d.labels[PP][1] : d.outside;
  if (by === "microbatch") return d.series[lane.mb[i] % d.series.length];
  return phaseColor(d, slot.phase, slot.chunk);
}

/* What a box is, as [title, line, line...]. */
function describe(d, lane, i) {
  const type = lane.type[i], ref = lane.ref[i], slot = slotOf(d, ref), length = lane.end[i] - lane.start[i];
  let title = "computation";
  if (type === COLLECTIVE) title = d.collectives[ref][0];
  else if (type === WAIT) title = "waits: " + d.labels[ref][0];
  else if (slot) title = (type === SEND ? "sends " : "") + d.phases[slot.phase][0] + " of microbatch " + lane.mb[i];
  else if (ref <= -3) title = d.templates[-3 - ref];
  const lines = [lane.cls.name + ", " + lane.name];
  if (slot && d.chunks > 1 && type !== WAIT) lines.push("chunk " + slot.chunk);
  if (type === SEND || type === COLLECTIVE) lines.push(bytesText(lane.bytes[i]));
  if (lane.count[i] > 1) lines.push("with " + (lane.count[i] - 1) + " more, too short to draw");
  lines.push(timeText(lane.start[i], length / 100, lane.end[i]) + " to " + timeText(lane.end[i], length / 100, lane.end[i]));
  lines.push("takes " + lengthText(length));
  return [title, ...lines];
}
