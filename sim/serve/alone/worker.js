// SPDX-License-Identifier: Apache-2.0
// A worker: the compiled module comes first, then questions {id, path, parameters}; each gets {id, status, type, text} or {id, failed}.
"use strict";
importScripts("stepsim.js", "module.js");

let asked = null;
onmessage = async ({data}) => {
  if (data.code) {
    asked = openModule(stepsimModule, data.code);
    return;
  }
  try {
    const ask = await asked;
    postMessage({id: data.id, ...ask(data.path, data.parameters)});
  } catch (e) {
    postMessage({id: data.id, failed: String(e && e.message || e)});
  }
};
