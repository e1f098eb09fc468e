/* SPDX-License-Identifier: Apache-2.0 */
/* The interactive timeline: one canvas, drawn anew for every view. */
const LABELS = 128, ROW = 26, THIN = 9, GAP = 8, AXIS = 24;

function firstEndingAfter(lane, time) {
  let lo = 0, hi = lane.n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (lane.end[mid] > time) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

class Timeline {
  constructor(data, onView) {
    this.d = data;
    this.onView = onView;
    this.box = document.getElementById("tl");
    this.canvas = this.box.querySelector("canvas");
    this.map = document.getElementById("tl-map");
    this.tip = document.getElementById("tip");
    this.status = document.getElementById("tl-status");
    this.from = data.start;
    this.to = data.end;
    this.color = "phase";
    this.comm = true;
    this.selected = null;
    this.pending = false;
    this.colors = new Map();
    this.layout();
    this.listen();
    this.legend();
    this.show(data.start, data.end);
  }

  /* Which lanes are drawn, and where. */
  layout() {
    this.rows = [];
    let y = AXIS;
    for (const c of this.d.classes) {
      for (const lane of c.lanes) {
        if (lane.kind !== 0 && !this.comm) continue;
        const height = lane.kind === 0 ? ROW : THIN;
        this.rows.push({ lane, y, height, cls: c });
        y += height + 1;
      }
      y += GAP;
    }
    this.height = y;
    this.canvas.style.height = y + "px";
  }

  get width() { return this.box.clientWidth; }
  x(time) { return LABELS + (time - this.from) / (this.to - this.from) * (this.width - LABELS); }
  time(x) { return this.from + (x - LABELS) / (this.width - LABELS) * (this.to - this.from); }

  show(from, to) {
    const whole = this.d.end - this.d.start, least = Math.max(whole * 1e-7, 1e-9);
    const length = Math.min(Math.max(to - from, least), whole);
    this.from = Math.min(Math.max(from, this.d.start), this.d.end - length);
    this.to = this.from + length;
    this.box.dataset.from = this.from;
    this.box.dataset.to = this.to;
    const step = length / 1000;
    document.getElementById("tl-range").textContent =
      timeText(this.from, step, this.to) + " to " + timeText(this.to, step, this.to) + " of " + lengthText(this.d.iteration);
    this.redraw();
    this.onView(this);
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  move(share) {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
      this.drawMap();
    });
  }

  fill(lane, i) {
    const type = lane.type[i], ref = lane.ref[i];
    const key = type * 1e7 + (ref + 1e5) * 11 + (this.color === "microbatch" && lane.mb[i] >= 0 ? lane.mb[i] % this.d.series.length : 10);
    let color = this.colors.get(key);
    if (!color) this.colors.set(key, color = boxColor(this.d, lane, i, this.color));
    return color;
  }

  context(canvas, height) {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    return g;
  }

  draw() {
    const g = this.context(this.canvas, this.height), css = getComputedStyle(document.documentElement);
    this.ink = css.getPropertyValue("--ink");
    this.muted = css.getPropertyValue("--muted");
    const line = css.getPropertyValue("--line"), idle = this.hatch(g, css);
    this.axis(g, line);
    for (const row of this.rows) {
      g.textAlign = "right";
      g.textBaseline = "middle";
      g.fillStyle = row.lane.kind === 0 ? this.ink : this.muted;
      g.font = row.lane.kind === 0 ? "12px system-ui, sans-serif" : "8.5px system-ui, sans-serif";
      g.fillText(row.lane.kind === 0 ? row.cls.name : row.lane.name, LABELS - 8, row.y + row.height / 2, LABELS - 12);
      if (row.lane.kind === 0) {
        g.fillStyle = idle;
        g.fillRect(LABELS, row.y, this.width - LABELS, row.height);
      }
      this.drawLane(g, row);
    }
    this.mark(g);
  }

  hatch(g, css) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const t = tile.getContext("2d");
    t.fillStyle = css.getPropertyValue("--idle");
    t.fillRect(0, 0, 8, 8);
    t.strokeStyle = css.getPropertyValue("--hatch");
    t.beginPath();
    t.moveTo(-2, 10); t.lineTo(10, -2);
    t.moveTo(-2, 2); t.lineTo(2, -2);
    t.moveTo(6, 10); t.lineTo(10, 6);
    t.stroke();
    return g.createPattern(tile, "repeat");
  }

  axis(g, line) {
    const range = this.to - this.from, step = roundStep(range, Math.max(2, (this.width - LABELS) / 95));
    g.font = "11px system-ui, sans-serif";
    g.textAlign = "center";
    g.textBaseline = "middle";
    for (let i = Math.ceil(this.from / step - 1e-9); i * step <= this.to; i++) {
      const x = this.x(i * step);
      g.fillStyle = line;
      g.fillRect(x, AXIS - 6, 1, this.height - AXIS);
      g.fillStyle = this.muted;
      if (x > LABELS + 20 && x < this.width - 36) g.fillText(timeText(i * step, step, this.to), x, AXIS / 2);
    }
  }

  /* One by one while they can be told apart, else the mean colour of each pixel. */
  drawLane(g, row) {
    const lane = row.lane, first = firstEndingAfter(lane, this.from);
    let last = first;
    while (last < lane.n && lane.start[last] < this.to) last += 64;
    last = Math.min(last, lane.n);
    if (last - first > (this.width - LABELS) / 2) {
      this.drawDense(g, row, first, last);
      return;
    }
    for (let i = first; i < last && lane.start[i] < this.to; i++) this.drawBox(g, row, i);
    if (lane.kind === 0) this.drawNumbers(g, row, first, last);
  }

  /* A wait is shallow; of a phase that has a part of its row, or of a backward among colours of microbatches, a part. */
  drawBox(g, row, i) {
    const lane = row.lane, slot = lane.type[i] === RUN ? slotOf(this.d, lane.ref[i]) : null, h = row.height;
    let [top, bottom] = lane.type[i] === WAIT ? [0.25, 0.75] : slot ? this.d.phases[slot.phase].slice(3) : [0, 1];
    if (slot && slot.phase > 0 && this.color === "microbatch") top = Math.max(top, 0.2);
    const x1 = Math.max(this.x(lane.start[i]), LABELS), x2 = Math.min(this.x(lane.end[i]), this.width);
    const w = Math.max(x2 - x1, 0.6), color = this.fill(lane, i);
    g.fillStyle = color;
    g.fillRect(x1, row.y + top * h, w > 4 ? w - 0.7 : w, (bottom - top) * h);
  }

  /* The microbatch, once for all computations of a slot. */
  drawNumbers(g, row, first, last) {
    const lane = row.lane;
    g.font = "10.5px system-ui, sans-serif";
    g.textAlign = "center";
    for (let i = first, next; i < last; i = next) {
      let end = i;
      for (next = i + 1; next < last && lane.mb[next] === lane.mb[i] && (lane.type[next] !== RUN || lane.ref[next] === lane.ref[i]); next++)
        if (lane.type[next] === RUN) end = next;
      if (lane.type[i] !== RUN || lane.mb[i] < 0 || lane.count[i] > 1) { next = i + 1; continue; }
      const x1 = Math.max(this.x(lane.start[i]), LABELS), x2 = Math.min(this.x(lane.end[end]), this.width);
      const text = String(lane.mb[i]), rgb = parseInt(this.fill(lane, i).slice(1), 16);
      if (x2 - x1 < 6.5 * text.length + 3) continue;
      const light = 0.299 * (rgb >> 16) + 0.587 * (rgb >> 8 & 255) + 0.114 * (rgb & 255) > 140;
      g.fillStyle = light ? "#10161d" : "#fff";
      g.fillText(text, (x1 + x2) / 2, row.y + row.height / 2 + 0.5);
    }
  }

  drawDense(g, row, first, last) {
    const lane = row.lane, width = Math.ceil(this.width - LABELS), sum = new Float32Array(width * 4);
    const scale = width / (this.to - this.from);
    for (let i = first; i < last; i++) {
      const rgb = parseInt(this.fill(lane, i).slice(1), 16);
      const a = Math.max((lane.start[i] - this.from) * scale, 0), b = Math.min((lane.end[i] - this.from) * scale, width);
      for (let x = Math.floor(a); x < b; x++) {
        const part = Math.min(b, x + 1) - Math.max(a, x);
        sum[4 * x] += part * (rgb >> 16);
        sum[4 * x + 1] += part * (rgb >> 8 & 255);
        sum[4 * x + 2] += part * (rgb & 255);
        sum[4 * x + 3] += part;
      }
    }
    for (let x = 0; x < width; x++) {
      const w = sum[4 * x + 3];
      if (w < 1e-6) continue;
      const alpha = Math.min(Math.max(w, lane.kind === 0 ? 0 : 0.35), 1); /* a message is short, but not nothing */
      g.fillStyle = `rgba(${sum[4 * x] / w | 0},${sum[4 * x + 1] / w | 0},${sum[4 * x + 2] / w | 0},${alpha})`;
      g.fillRect(LABELS + x, row.y, 1, row.height);
    }
  }

  mark(g) {
    if (!this.selected) return;
    const row = this.rows[this.selected.row], lane = row.lane, i = this.selected.i;
    const x1 = Math.max(this.x(lane.start[i]), LABELS), x2 = Math.min(this.x(lane.end[i]), this.width);
    if (x2 < LABELS || x1 > this.width) return;
    g.strokeStyle = this.ink;
    g.lineWidth = 2;
    g.strokeRect(x1, row.y, Math.max(x2 - x1, 2), row.height);
  }

  /* The whole iteration in one strip, and where the view is. */
  drawMap() {
    const height = this.map.clientHeight, g = this.context(this.map, height), width = this.map.clientWidth;
    const lanes = this.d.classes.map((c) => c.lanes[0]), scale = width / (this.d.end - this.d.start);
    if (!this.density || this.density.length !== Math.ceil(width)) {
      this.density = new Float32Array(Math.ceil(width));
      for (const lane of lanes)
        for (let i = 0; i < lane.n; i++) {
          if (lane.type[i] !== RUN) continue;
          const a = (lane.start[i] - this.d.start) * scale, b = (lane.end[i] - this.d.start) * scale;
          for (let x = Math.max(0, Math.floor(a)); x < b && x < this.density.length; x++)
            this.density[x] += (Math.min(b, x + 1) - Math.max(a, x)) / lanes.length;
        }
    }
    const css = getComputedStyle(document.documentElement);
    g.fillStyle = css.getPropertyValue("--hatch");
    this.density.forEach((v, x) => g.fillRect(x, height * (1 - Math.min(v, 1)), 1, height));
    g.fillStyle = css.getPropertyValue("--accent");
    const x1 = (this.from - this.d.start) * scale, x2 = (this.to - this.d.start) * scale;
    g.globalAlpha = 0.22;
    g.fillRect(x1, 0, Math.max(x2 - x1, 2), height);
    g.globalAlpha = 1;
    g.fillRect(x1, 0, 2, height);
    g.fillRect(Math.max(x2 - 2, x1), 0, 2, height);
  }

  /* {row, i} under a point of the canvas, or null; half a pixel counts for boxes thinner than that. */
  hit(x, y) {
    const row = this.rows.findIndex((r) => y >= r.y && y < r.y + r.height + 1);
    if (row < 0 || x < LABELS) return null;
    const lane = this.rows[row].lane, slack = (this.to - this.from) / (this.width - LABELS) * 1.5;
    const i = firstEndingAfter(lane, this.time(x) - slack);
    return i < lane.n && lane.start[i] <= this.time(x) + slack ? { row, i } : null;
  }

  select(found, focusView) {
    this.selected = found;
    if (!found) return;
    const row = this.rows[found.row], lane = row.lane, i = found.i;
    this.status.textContent = describe(this.d, lane, i).join(", ");
    this.cls = row.cls;
    if (focusView && (lane.start[i] < this.from || lane.end[i] > this.to)) {
      const half = Math.max(this.to - this.from, 2 * (lane.end[i] - lane.start[i])) / 2;
      const mid = (lane.start[i] + lane.end[i]) / 2;
      this.show(mid - half, mid + half);
    } else {
      this.redraw();
      this.onView(this);
    }
    if (focusView) this.box.scrollTop = Math.max(0, Math.min(this.box.scrollTop, row.y - 30),
      row.y + ROW - this.box.clientHeight);
  }

  showTip(found, event) {
    this.tip.hidden = !found;
    if (!found) return;
    const [title, ...lines] = describe(this.d, this.rows[found.row].lane, found.i);
    this.tip.textContent = "";
    const b = document.createElement("b");
    b.textContent = title;
    this.tip.append(b, ...lines.flatMap((l) => [l, document.createElement("br")]));
    const right = event.clientX + 18 + this.tip.offsetWidth > window.innerWidth;
    this.tip.style.left = (right ? event.clientX - 14 - this.tip.offsetWidth : event.clientX + 16) + "px";
    this.tip.style.top = Math.min(event.clientY + 14, window.innerHeight - this.tip.offsetHeight - 8) + "px";
  }

  /* What occurs: the schedule's phases first, then the rest in the order of the labels. */
  legend() {
    const phases = new Set(), labels = new Set(), others = new Set();
    for (const c of this.d.classes)
      for (const lane of c.lanes)
        for (let i = 0; i < lane.n; i++) {
          const slot = slotOf(this.d, lane.ref[i]), ref = lane.ref[i];
          if (lane.type[i] === WAIT) labels.add(ref);
          else if (lane.type[i] === COLLECTIVE) labels.add(this.d.collectives[ref][1]);
          else if (lane.type[i] === RUN && slot) phases.add(slot.phase);
          else if (lane.type[i] === RUN) others.add(ref === -2);
        }
    const items = [...phases].sort().map((p) => [phaseColor(this.d, p, 0), this.d.phases[p][2]]);
    if (this.d.chunks > 1)
      items.push([phaseColor(this.d, 0, this.d.chunks - 1), "lighter: chunk " + (this.d.chunks > 2 ? "1 to " : "") + (this.d.chunks - 1)]);
    if (others.has(true)) items.push([MIXED, "several slots"]);
    if (others.has(false)) items.push([this.d.outside, "outside the schedule"]);
    for (const l of [...labels].sort((a, b) => a - b))
      items.push([this.d.labels[l][1], this.d.labels[l][0]]);
    for (const [color, text] of items) {
      const span = document.createElement("span"), i = document.createElement("i");
      i.style.background = color;
      span.append(i, text);
      document.getElementById("tl-legend").append(span);
    }
  }
}
