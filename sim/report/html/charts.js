/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, pointer, the memory chart below the timeline, the table of what is in view, and the start. */
Timeline.prototype.listen = function () {
  const on = (id, what, f) => document.getElementById(id).addEventListener(what, f);
  on("tl-in", "click", () => this.zoom(0.5));
  on("tl-out", "click", () => this.zoom(2));
  on("tl-left", "click", () => this.move(-0.5));
  on("tl-right", "click", () => this.move(0.5));
  on("tl-all", "click", () => this.show(this.d.start, this.d.end));
  on("tl-color", "change", (e) => { this.color = e.target.value; this.colors.clear(); this.redraw(); });
  on("tl-comm", "change", (e) => { this.comm = e.target.checked; this.selected = null; this.layout(); this.redraw(); });
  on("tl-list", "toggle", () => fillTable(this));
  this.box.addEventListener("keydown", (e) => this.key(e));
  this.listenPointer();
  this.listenMap();
  new ResizeObserver(() => { this.redraw(); this.onView(this); }).observe(this.box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.redraw(); this.onView(this); });
};

Timeline.prototype.point = function (e) {
  const r = this.canvas.getBoundingClientRect();
  return [e.clientX - r.left, e.clientY - r.top];
};

Timeline.prototype.listenPointer = function () {
  let drag = null;
  this.canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && document.activeElement !== this.box) return;
    e.preventDefault();
    this.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY * 0.002))), this.time(Math.max(LABELS, this.point(e)[0])));
  }, { passive: false });
  this.canvas.addEventListener("pointerdown", (e) => {
    drag = { x: e.clientX, from: this.from, to: this.to, moved: false };
    this.canvas.setPointerCapture(e.pointerId);
  });
  this.canvas.addEventListener("pointermove", (e) => {
    if (drag && Math.abs(e.clientX - drag.x) > 3) drag.moved = true;
    if (drag && drag.moved) {
      const by = (drag.x - e.clientX) / (this.width - LABELS) * (drag.to - drag.from);
      this.box.classList.add("drag");
      this.tip.hidden = true;
      this.show(drag.from + by, drag.to + by);
    } else this.showTip(this.hit(...this.point(e)), e);
  });
  const end = (e) => {
    if (drag && !drag.moved && e.type === "pointerup") this.select(this.hit(...this.point(e)), false);
    drag = null;
    this.box.classList.remove("drag");
  };
  this.canvas.addEventListener("pointerup", end);
  this.canvas.addEventListener("pointercancel", end);
  this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
  this.canvas.addEventListener("dblclick", (e) => {
    const found = this.hit(...this.point(e));
    if (found) this.zoomTo(found);
  });
};

Timeline.prototype.zoomTo = function (found) {
  const lane = this.rows[found.row].lane, length = lane.end[found.i] - lane.start[found.i];
  this.show(lane.start[found.i] - 2 * length, lane.end[found.i] + 2 * length);
};

Timeline.prototype.listenMap = function () {
  const center = (e) => {
    const r = this.map.getBoundingClientRect(), half = (this.to - this.from) / 2;
    const at = this.d.start + (e.clientX - r.left) / r.width * (this.d.end - this.d.start);
    this.show(at - half, at + half);
  };
  this.map.addEventListener("pointerdown", (e) => { this.map.setPointerCapture(e.pointerId); center(e); });
  this.map.addEventListener("pointermove", (e) => { if (e.buttons) center(e); });
};

/* The next or previous box of the lane; the one in the middle of the view to begin with. */
Timeline.prototype.step = function (by) {
  const s = this.selected;
  if (!s) return this.stepLane(0);
  const i = s.i + by;
  if (i >= 0 && i < this.rows[s.row].lane.n) this.select({ row: s.row, i }, true);
};

Timeline.prototype.stepLane = function (by) {
  const s = this.selected;
  let row = s ? s.row + by : 0;
  const at = s ? this.rows[s.row].lane.start[s.i] : (this.from + this.to) / 2;
  while (row >= 0 && row < this.rows.length && this.rows[row].lane.n === 0) row += by || 1;
  if (row < 0 || row >= this.rows.length) return;
  const lane = this.rows[row].lane;
  this.select({ row, i: Math.min(firstEndingAfter(lane, at), lane.n - 1) }, true);
};

Timeline.prototype.key = function (e) {
  const at = () => {
    const s = this.selected, lane = s && this.rows[s.row].lane;
    return lane && lane.start[s.i] >= this.from && lane.end[s.i] <= this.to
      ? (lane.start[s.i] + lane.end[s.i]) / 2 : (this.from + this.to) / 2;
  };
  const actions = {
    "+": () => this.zoom(0.5, at()), "=": () => this.zoom(0.5, at()), "-": () => this.zoom(2, at()),
    "_": () => this.zoom(2, at()), "0": () => this.show(this.d.start, this.d.end),
    ArrowLeft: () => e.shiftKey ? this.move(-0.25) : this.step(-1),
    ArrowRight: () => e.shiftKey ? this.move(0.25) : this.step(1),
    ArrowUp: () => this.stepLane(-1), ArrowDown: () => this.stepLane(1),
    Home: () => this.show(this.d.start, this.d.start + this.to - this.from),
    End: () => this.show(this.d.end - (this.to - this.from), this.d.end),
    Enter: () => this.selected && this.zoomTo(this.selected),
    Escape: () => { this.selected = null; this.tip.hidden = true; this.redraw(); },
  };
  if (e.ctrlKey || e.altKey || e.metaKey || !actions[e.key]) return;
  e.preventDefault();
  actions[e.key]();
};

/* Memory of the selected class over the window of the timeline, stacked. */
function drawMemory(t) {
  const d = t.d, c = t.cls || d.classes[0], box = document.getElementById("tl-memory"), canvas = box.querySelector("canvas");
  const height = 150, g = t.context(canvas, height), width = t.width, css = getComputedStyle(document.documentElement);
  const total = (i) => c.overhead + c.fixed.reduce((a, b) => a + b, 0) + c.dynamic.reduce((s, m) => s + (m[i] || 0), 0);
  let most = d.capacity;
  for (let i = 0; i < d.bins; i++) most = Math.max(most, total(i));
  most = most * 1.05 || 1;
  box.querySelector("h3").textContent = "Memory of " + c.label + " in the same window, GiB";
  const y = (mib) => 8 + (height - 16) * (1 - mib / most), wide = (d.end - d.start) / d.bins;
  const first = Math.max(0, Math.floor((t.from - d.start) / wide)), last = Math.min(d.bins, Math.ceil((t.to - d.start) / wide));
  const layer = (color, level) => {
    g.fillStyle = color;
    g.beginPath();
    g.moveTo(LABELS, y(0));
    for (let i = first; i < last; i++) {
      g.lineTo(Math.max(LABELS, t.x(d.start + i * wide)), y(level(i)));
      g.lineTo(Math.min(width, t.x(d.start + (i + 1) * wide)), y(level(i)));
    }
    g.lineTo(Math.min(width, t.x(d.start + last * wide)), y(0));
    g.fill();
  };
  for (let m = d.memory.length - 2; m >= 0; m--)
    layer(d.memory[m][1], (i) => {
      let sum = c.overhead;
      for (let k = 0; k <= m; k++) sum += c.fixed[k] + (c.dynamic[k][i] || 0);
      return sum;
    });
  layer(d.memory[d.memory.length - 1][1], () => c.overhead);
  g.font = "11px system-ui, sans-serif";
  g.textAlign = "right";
  g.textBaseline = "middle";
  const step = roundStep(most / 1024, 5);
  for (let v = 0; v * 1024 <= most; v += step) {
    g.fillStyle = css.getPropertyValue("--muted");
    g.fillText(String(+v.toPrecision(6)), LABELS - 8, y(v * 1024));
  }
  if (!(d.capacity > 0)) return;
  g.strokeStyle = css.getPropertyValue("--bad");
  g.setLineDash([6, 4]);
  g.beginPath();
  g.moveTo(LABELS, y(d.capacity));
  g.lineTo(width, y(d.capacity));
  g.stroke();
  g.setLineDash([]);
}

/* The first boxes in view as a table, for those who do not see the canvas. */
function fillTable(t) {
  const details = document.getElementById("tl-list"), most = 200;
  if (!details.open) return;
  const rows = [];
  for (const row of t.rows)
    for (let i = firstEndingAfter(row.lane, t.from); i < row.lane.n && row.lane.start[i] < t.to && rows.length < most; i++) {
      const lane = row.lane, step = (t.to - t.from) / 1e4, [title] = describe(t.d, lane, i);
      rows.push([row.cls.name, lane.name, title, timeText(lane.start[i], step, t.to), lengthText(lane.end[i] - lane.start[i]),
        lane.type[i] >= SEND ? bytesText(lane.bytes[i]) : ""]);
    }
  const table = document.createElement("table"), add = (cells, name, parent) => {
    const tr = parent.insertRow();
    cells.forEach((text, i) => {
      const cell = document.createElement(i === 0 ? "th" : name);
      if (i === 0) cell.scope = name === "th" ? "col" : "row";
      else if (name === "th") cell.scope = "col";
      if (i === 1 || i === 2) cell.className = "text";
      cell.textContent = text;
      tr.append(cell);
    });
  };
  table.createCaption().textContent = rows.length === most ? "The first " + most + "; zoom in to see the others" : rows.length + " in view";
  add(["Class", "Lane", "What", "Start", "Length", "Bytes"], "th", table.createTHead());
  const body = table.createTBody();
  for (const r of rows) add(r, "td", body);
  details.querySelector("div").replaceChildren(table);
}

unpack().then((d) => {
  decode(d);
  let waiting = false;
  new Timeline(d, (t) => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; drawMemory(t); fillTable(t); });
  });
  if (d.quantum > 0)
    document.getElementById("tl-help").append(" Boxes closer together than " + lengthText(d.quantum) +
      " are drawn as one; --window gives every one of a part.");
  document.documentElement.dataset.ready = "1";
}).catch((e) => {
  document.getElementById("tl-status").textContent = "The timeline cannot be drawn: " + e.message;
  console.error(e);
});
