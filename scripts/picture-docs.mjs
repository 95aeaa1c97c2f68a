// The pictures of docs/pictures.md, from the sample database and a club's tournament. Needs the package puppeteer-core, and Chromium.
//
//     picture-docs.mjs CBFS

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const puppeteer = createRequire(`${process.cwd()}/`)("puppeteer-core");
const [cbfs] = process.argv.slice(2);
const home = dirname(dirname(fileURLToPath(import.meta.url)));
const pictures = join(home, "docs/pictures");

// Players of a club, the strongest first, and what each scored against those behind it.
const CLUB = [
    ["Berg, Tora", 2214, "½1½1½11"],
    ["Hauge, Nils", 2187, "½½111½"],
    ["Lie, Ingrid", 2145, "1½½11"],
    ["Moen, Arne", 2098, "½01½"],
    ["Dahl, Sigrid", 2071, "11½"],
    ["Vik, Olav", 2043, "½1"],
    ["Ruud, Kari", 1988, "1"],
    ["Aas, Jon", 1932, ""],
];
const RESULTS = { 1: ["1-0", "0-1"], 0: ["0-1", "1-0"], "½": ["1/2-1/2", "1/2-1/2"] };

/// The games of the club as PGN, by the tables of a round robin: one player stays, the others go round and change colours.
function clubGames() {
    const games = [];
    const seats = CLUB.map((_, number) => number);
    for (let round = 1; round < CLUB.length; round += 1) {
        for (let table = 0; table < CLUB.length / 2; table += 1) {
            const pair = [seats[table], seats[CLUB.length - 1 - table]];
            if ((table || round) % 2) pair.reverse();
            const [white, black] = pair;
            const better = Math.min(white, black);
            const [asWhite, asBlack] = RESULTS[CLUB[better][2][Math.abs(white - black) - 1]];
            const tags = {
                Event: "Club Championship", Site: "Bergen", Date: `2026.0${round}.10`, Round: round,
                White: CLUB[white][0], Black: CLUB[black][0], Result: white === better ? asWhite : asBlack,
                WhiteElo: CLUB[white][1], BlackElo: CLUB[black][1], EventDate: "2026.01.10",
            };
            const lines = Object.entries(tags).map(([name, value]) => `[${name} "${value}"]`);
            games.push(`${lines.join("\n")}\n\n1. e4 e5 2. Nf3 Nc6 ${tags.Result}\n`);
        }
        seats.splice(1, 0, seats.pop());
    }
    return games.join("\n");
}

/// Takes pictures of pages of a base: name, page, width and height of each.
async function shoot(browser, base, shots, also = () => {}) {
    const at = mkdtempSync(join(tmpdir(), "cbfs-docs-"));
    execFileSync(cbfs, ["mount", "-q", "-o", "ro", base, at]);
    try {
        for (const [name, path, width, height] of shots) {
            const page = await browser.newPage();
            await page.setViewport({ width, height });
            const [file, move = ""] = path.split("#");
            await page.goto(`${pathToFileURL(join(at, "html", file)).href}#${move}`);
            await page.screenshot({ path: join(pictures, `${name}.png`), optimizeForSpeed: false });
        }
        also(at);
    } finally {
        execFileSync(cbfs, ["umount", at]);
        rmdirSync(at);
    }
}

mkdirSync(pictures, { recursive: true });
const browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const folder = mkdtempSync(join(tmpdir(), "cbfs-club-"));
try {
    const sample = join(home, "fixtures/cbh/sample/sample.cbh");
    const shots = [["game", "games/000004.html#29", 980, 640], ["index", "index.html", 980, 640]];
    await shoot(browser, sample, shots, (at) => copyFileSync(join(at, "tree/e4/e5/board.svg"), join(pictures, "board.svg")));
    writeFileSync(join(folder, "club.pgn"), clubGames());
    execFileSync(cbfs, ["import", "--quiet", "--create", join(folder, "club.cbh"), join(folder, "club.pgn")]);
    await shoot(browser, join(folder, "club.cbh"), [["table", "tournaments/Club Championship (Bergen) 2026.html", 980, 560]]);
} finally {
    await browser.close();
    rmSync(folder, { recursive: true });
}
