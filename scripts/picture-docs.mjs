// The pictures of docs/pictures.md, from the sample database. Needs the package puppeteer-core, and Chromium.
//
//     picture-docs.mjs CBFS

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmdirSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const puppeteer = createRequire(`${process.cwd()}/`)("puppeteer-core");
const [cbfs] = process.argv.slice(2);
const home = dirname(dirname(fileURLToPath(import.meta.url)));
const pictures = join(home, "docs/pictures");
const SHOTS = [
    ["game", "games/000004.html#29", 980, 640],
    ["index", "index.html", 980, 640],
];

const at = mkdtempSync(join(tmpdir(), "cbfs-docs-"));
execFileSync(cbfs, ["mount", "-q", "-o", "ro", join(home, "fixtures/cbh/sample/sample.cbh"), at]);
mkdirSync(pictures, { recursive: true });
try {
    const browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
    for (const [name, path, width, height] of SHOTS) {
        const page = await browser.newPage();
        await page.setViewport({ width, height });
        const [file, move = ""] = path.split("#");
        await page.goto(`${pathToFileURL(join(at, "html", file)).href}#${move}`);
        await page.screenshot({ path: join(pictures, `${name}.png`), optimizeForSpeed: false });
    }
    await browser.close();
    copyFileSync(join(at, "tree/e4/e5/board.svg"), join(pictures, "board.svg"));
} finally {
    execFileSync(cbfs, ["umount", at]);
    rmdirSync(at);
}
