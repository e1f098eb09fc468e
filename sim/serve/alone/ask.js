// SPDX-License-Identifier: Apache-2.0
// The page without a server: workers answer, each with a whole program. A question that was overtaken before a worker was free is not asked.
"use strict";

globalThis.stepsimAnswers = (() => {
  const MOST = Math.max(1, Math.min(3, (navigator.hardwareConcurrency || 2) - 1)), PATIENCE_MS = 1000;
  const code = (async () => {
    if (location.protocol === "file:")
      throw new Error("A browser runs no workers of a file: give this folder to a web server, as by python3 -m http.server, and open its address.");
    const reply = await fetch("stepsim.wasm");
    if (!reply.ok) throw new Error("stepsim.wasm is not beside this page: status " + reply.status);
    return reply.headers.get("Content-Type") === "application/wasm" ? WebAssembly.compileStreaming(reply) : WebAssembly.compile(await reply.arrayBuffer());
  })();
  code.catch(() => {}); // each question tells it
  const workers = [], waiting = [];

  const overtaken = () => new DOMException("overtaken", "AbortError");

  async function hire() {
    if (location.protocol === "file:") await code;
    const w = {worker: new Worker("worker.js"), question: null}; // reads its scripts while the module is compiled
    w.worker.postMessage({code: await code});
    w.worker.onmessage = ({data}) => finish(w, data);
    w.worker.onerror = (e) => finish(w, {failed: e.message});
    return w;
  }

  function finish(w, data) {
    const q = w.question;
    w.question = null;
    if (data.failed) { // its memory is not to be trusted any more
      w.worker.terminate();
      workers.splice(workers.indexOf(w), 1);
    }
    if (q) data.failed ? q.reject(new Error("the program ended: " + data.failed)) : q.resolve(data);
    deal();
  }

  function deal() {
    for (const w of workers.filter((k) => !k.question)) {
      const q = waiting.shift();
      if (!q) return;
      w.question = q;
      q.since = performance.now();
      w.worker.postMessage({id: 0, path: q.path, parameters: q.parameters});
    }
    if (waiting.length && workers.length + deal.hiring < MOST) {
      deal.hiring++;
      hire().then((w) => { deal.hiring--; workers.push(w); deal(); }, (e) => {
        deal.hiring--;
        for (const q of waiting.splice(0)) q.reject(e);
      });
    }
  }
  deal.hiring = 0;

  // A worker that has long been busy with what nobody wants any more makes room for a new one.
  function drop(q) {
    const at = waiting.indexOf(q), w = workers.find((k) => k.question === q);
    if (at >= 0) waiting.splice(at, 1);
    if (w && performance.now() - q.since > PATIENCE_MS) {
      w.worker.terminate();
      workers.splice(workers.indexOf(w), 1);
      deal();
    }
    q.reject(overtaken());
  }

  function question(path, parameters, signal) {
    return new Promise((resolve, reject) => {
      if (signal && signal.aborted) return reject(overtaken());
      const q = {path, parameters: Object.entries(parameters), resolve, reject};
      if (signal) signal.addEventListener("abort", () => drop(q));
      waiting.push(q);
      deal();
    });
  }

  return {
    ask: async (path, parameters, signal) => {
      const r = await question(path, parameters, signal);
      return {ok: r.status === 200, status: r.status, json: r.type.startsWith("application/json"), text: async () => r.text};
    },
    url: async (path, parameters) => {
      const r = await question(path, parameters);
      return URL.createObjectURL(new Blob([r.text], {type: r.type}));
    },
  };
})();
