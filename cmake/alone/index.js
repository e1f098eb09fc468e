// SPDX-License-Identifier: Apache-2.0
// usage: node index.js FOLDER [ADDRESS [NAME=VALUE...]]
// Asks the module in the folder. Without an address: writes the page as FOLDER/index.html, with the script that asks workers and with what its
// controls may be set to, so that they stand before the module is there.
"use strict";
const fs = require("fs"), path = require("path");

const [folder, address, ...given] = process.argv.slice(2);
const {open} = require(path.resolve(folder, "module.js"));

open(require(path.resolve(folder, "stepsim.js")), fs.readFileSync(path.join(folder, "stepsim.wasm"))).then((ask) => {
  const parameters = given.map((g) => [g.slice(0, g.indexOf("=")), g.slice(g.indexOf("=") + 1)]), reply = ask(address || "/", parameters);
  if (address) process.stdout.write(reply.text);
  else fs.writeFileSync(path.join(folder, "index.html"), reply.text.replace("<head>", () =>
    `<head>\n<script src="ask.js"></script>\n<script>globalThis.stepsimChoices = ${ask("/choices.json", []).text}</script>`));
  process.exitCode = reply.status === 200 ? 0 : 1;
});
