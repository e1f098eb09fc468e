// SPDX-License-Identifier: Apache-2.0
// The program in WebAssembly as a function: ask("/run.json", [["job", "--tp 4 ..."]]) is {status, type, text}.
"use strict";

// `make` is what emscripten wrote, `code` the bytes of stepsim.wasm or the compiled module.
async function openModule(make, code) {
  const module = await make(code instanceof WebAssembly.Module
    ? {instantiateWasm: (imports, done) => { WebAssembly.instantiate(code, imports).then((i) => done(i)); return {}; }}
    : {wasmBinary: code});
  const call = (name, result, ...words) => module.ccall("alone_" + name, result, words.map(() => "string"), words);
  return (path, parameters) => {
    for (const [name, value] of parameters) call("argument", "number", name, value);
    const status = call("ask", "number", path);
    return {status, type: call("type", "string"), text: call("body", "string")};
  };
}
if (typeof module !== "undefined") module.exports = {open: openModule};
