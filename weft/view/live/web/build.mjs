// Builds ../static from src/; with --tests, out/tests.mjs from test/. The bundle begins with a hash of its sources,
// by which tests/view/test_live_bundle.py knows whether it was built from them.
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const options = { bundle: true, logLevel: "warning", target: "es2022" };

if (process.argv.includes("--tests")) {
  const contents = readdirSync("test").filter((f) => f.endsWith(".ts")).map((f) => `import "./test/${f}";`).join("\n");
  await build({ ...options, stdin: { contents, resolveDir: ".", loader: "ts" }, platform: "node", format: "esm",
    outfile: "out/tests.mjs" });
} else {
  const sources = readdirSync("src").sort();
  const hash = createHash("sha256");
  for (const name of sources) hash.update(name + "\0").update(readFileSync(`src/${name}`)).update("\0");
  const banner = `/* weft live view, built from weft/view/live/web; sources sha256 ${hash.digest("hex")} */\n`;
  const made = await build({ ...options, entryPoints: ["src/main.ts"], format: "iife", minify: true, write: false,
    charset: "ascii", legalComments: "none" });
  // In a saved page the code lies in an HTML element, which nothing in it may end.
  const code = made.outputFiles[0].text.replaceAll("</", "<\\/").replaceAll("<!--", "<\\!--");
  writeFileSync("../static/live.js", banner + code);
  writeFileSync("../static/live.css", banner + readFileSync("src/live.css", "utf8"));
  for (const name of ["index.html", "icon.svg"]) copyFileSync(`src/${name}`, `../static/${name}`);
}
