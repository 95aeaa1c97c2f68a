// Pages of mounted databases in real browsers. Needs the packages puppeteer-core and axe-core; see scripts/test.
//
//     judge-pages.mjs CBFS BROWSER BASE.cbh…                 BROWSER is chromium or firefox, or a path to one of them
//         --pages N          pages of each kind that are looked at (12)
//         --pictures FOLDER  pictures of pages as they look: wide, narrow, dark, printed
//
// A page is opened from the mount. It has to say nothing on the console, ask for nothing but itself, its style and script, and please axe.
// In a page of a game the board has to show the position of each move that is gone to: by keys, wheel, buttons, clicks, touches, plots and address.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

// Packages lie in the folder that npm was run in, not beside this file.
const require = createRequire(`${process.cwd()}/`);
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { pages: { type: "string", default: "12" }, pictures: { type: "string" } },
});
const [cbfs, browserName, ...bases] = positionals;
const most = Number(values.pages);
const isFirefox = browserName.includes("firefox");

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844, hasTouch: !isFirefox, isMobile: !isFirefox };

let faults = 0;
const seen = { pages: 0, positions: 0 };

function fault(page, what) {
    faults += 1;
    console.log(`${decodeURI(page.url()).replace(/^file:..tmp.cbfs-pages-[^/]*./, "")}: ${what}`);
}

function check(page, is, what) {
    if (!is) fault(page, what);
}

/// What the board of a page shows, read from the picture: placement as FEN has it. Runs in the page.
function shown(isFlipped) {
    const rows = Array.from({ length: 8 }, () => Array(8).fill(""));
    for (const use of document.querySelectorAll("#stage svg.board g.pieces use")) {
        let file = Number(use.getAttribute("x")) / 45;
        let row = Number(use.getAttribute("y")) / 45;
        if (isFlipped) [file, row] = [7 - file, 7 - row];
        rows[row][file] = use.getAttribute("href").slice(2);
    }
    const packed = (row) => row.map((piece) => piece || ".").join("").replace(/\.+/g, (gap) => gap.length);
    return rows.map(packed).join("/");
}

const board = (page, isFlipped = false) => page.evaluate(shown, isFlipped);
const current = (page) => page.evaluate(() => Number(document.querySelector("a.on").id));

/// The moves of a page: number, position, number before. Runs in the page.
function listed() {
    return [...document.querySelectorAll("a[data-f]")].map((a) => ({
        number: Number(a.id),
        position: a.dataset.f.split(" ")[0],
        before: a.id === "0" ? null : Number(a.dataset.u ?? Number(a.id) - 1),
    }));
}

async function judgeGame(page) {
    const moves = await page.evaluate(listed);
    const of = new Map(moves.map((move) => [move.number, move]));
    const followers = (number) => moves.filter((move) => move.before === number);
    const main = [0];
    for (let next = 0; (next = followers(main.at(-1)).sort((a, b) => a.number - b.number)[0]); ) main.push(next.number);
    const is = async (number, how, isFlipped = false) => {
        seen.positions += 1;
        const [at, there] = [await current(page), await board(page, isFlipped)];
        check(page, at === number, `${how}: move ${at}, not ${number}`);
        check(page, there === of.get(number).position, `${how}: move ${number} shows ${there}`);
    };
    await is(0, "opened");
    const steps = main.slice(1, 12);
    for (const number of steps) {
        await page.keyboard.press("ArrowRight");
        await is(number, "right");
    }
    await page.keyboard.press("End");
    await is(main.at(-1), "End");
    if (main.length > 1) {
        await page.keyboard.press("ArrowLeft");
        await is(main.at(-2), "left");
    }
    await page.keyboard.press("Home");
    await is(0, "Home");
    await page.keyboard.press("f");
    await is(0, "flipped", true);
    await page.keyboard.press("f");
    await is(0, "flipped back");
    // Every move by its address, as a link from elsewhere has it.
    for (const { number } of moves.slice(0, 60)) {
        await page.evaluate((number) => { location.hash = number; }, number);
        await page.waitForFunction((number) => document.querySelector("a.on")?.id === String(number), { timeout: 3000 }, number)
            .catch(() => fault(page, `#${number} leads to no move`));
        await is(number, "address");
    }
    const variation = moves.find((move) => move.number >= main.length);
    for (const move of [of.get(main[1]), variation].filter(Boolean)) {
        await page.evaluate((number) => document.getElementById(number).click(), move.number);
        await page.waitForFunction((number) => document.querySelector("a.on")?.id === String(number), { timeout: 3000 }, move.number).catch(() => {});
        await is(move.number, "click");
        if (move === variation) {
            await page.keyboard.press("ArrowLeft");
            await is(move.before, "out of a variation");
            await page.keyboard.press("ArrowRight");
            const first = followers(move.before).sort((a, b) => a.number - b.number)[0];
            await is(first.number, "on in the main line");
        }
    }
    await page.keyboard.press("Home");
    if (main.length > 2) {
        await page.click('#stage button[aria-label="Next"]');
        await is(main[1], "button");
        const box = await (await page.$("#stage svg.board")).boundingBox();
        const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
        await page.mouse.move(middle.x, middle.y);
        await page.mouse.wheel({ deltaY: 120 });
        await page.waitForFunction((number) => document.querySelector("a.on")?.id === String(number), { timeout: 3000 }, main[2]).catch(() => {});
        await is(main[2], "wheel");
        await page.mouse.wheel({ deltaY: -120 });
        await page.waitForFunction((number) => document.querySelector("a.on")?.id === String(number), { timeout: 3000 }, main[1]).catch(() => {});
        await is(main[1], "wheel back");
        await page.mouse.click(box.x + box.width * 0.8, middle.y);
        await is(main[2], "right half");
        await page.mouse.click(box.x + box.width * 0.2, middle.y);
        await is(main[1], "left half");
    }
    await page.keyboard.press("Home");
}

async function judgeTouch(page) {
    const moves = await page.evaluate(listed);
    if (moves.length < 3) return;
    const element = await page.$("#stage svg.board");
    await element.scrollIntoView();
    const box = await element.boundingBox();
    const [x, y] = [box.x + box.width * 0.8, box.y + box.height / 2];
    await page.keyboard.press("Home");
    await page.touchscreen.tap(x, y);
    check(page, (await current(page)) === 1, `a tap on the right half leads to ${await current(page)}`);
    await page.touchscreen.touchStart(box.x + box.width * 0.8, y);
    await page.touchscreen.touchMove(box.x + box.width * 0.5, y);
    await page.touchscreen.touchMove(box.x + box.width * 0.3, y);
    await page.touchscreen.touchEnd();
    check(page, (await current(page)) === 2, `a swipe to the left leads to ${await current(page)}`);
    await page.touchscreen.touchStart(box.x + box.width * 0.3, y);
    await page.touchscreen.touchMove(box.x + box.width * 0.7, y);
    await page.touchscreen.touchEnd();
    check(page, (await current(page)) === 1, `a swipe to the right leads to ${await current(page)}`);
}

async function judgeLook(page, path) {
    const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
    for (const [name, view] of [["wide", WIDE], ["narrow", NARROW]]) {
        await page.setViewport(view);
        check(page, (await page.evaluate(overflow)) <= 0, `${name}: it is wider than the window`);
        if (name === "narrow" && path.includes("/games/") && !isFirefox) {
            await page.goto(page.url().split("#")[0], { waitUntil: "load" });
            await judgeTouch(page);
        }
    }
    await page.setViewport(WIDE);
    const found = await page.evaluate(async (axe) => {
        (0, eval)(axe);
        const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
        return violations.map((one) => `${one.id}: ${one.nodes.length} times, as ${one.nodes[0].html.slice(0, 120)}`);
    }, axe);
    for (const one of found) fault(page, `axe: ${one}`);
}

async function pictures(page, name) {
    if (!values.pictures) return;
    mkdirSync(values.pictures, { recursive: true });
    const take = (kind, fullPage = false) => page.screenshot({ path: join(values.pictures, `${name}-${kind}.png`), fullPage });
    if (name.includes("games")) await page.evaluate(() => { location.hash = 9; });
    await page.setViewport(WIDE);
    await take("wide");
    if (!isFirefox) {
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
        await take("dark");
        await page.emulateMediaFeatures([]);
        await page.emulateMediaType("print");
        await take("print");
        await page.emulateMediaType(null);
    }
    await page.setViewport({ ...NARROW, isMobile: false });
    await take("narrow", !name.includes("list"));
    await page.setViewport(WIDE);
}

async function judge(browser, root, path) {
    const page = await browser.newPage();
    const wanted = [];
    page.on("console", (message) => fault(page, `console: ${message.text()}`));
    page.on("pageerror", (error) => fault(page, `script: ${error.message}`));
    page.on("request", (request) => wanted.push(request.url()));
    await page.setBypassCSP(false).catch(() => {});
    await page.setViewport(WIDE);
    await page.goto(pathToFileURL(join(root, path)).href, { waitUntil: "load" });
    seen.pages += 1;
    if (path.startsWith("games/") && (await page.$("#stage"))) await judgeGame(page);
    await pictures(page, `${basename(root.replace(/.html$/, ""))}-${path.replaceAll("/", "-").replace(".html", "")}`);
    const own = new Set(["cbfs.css", "cbfs.js", path].map((name) => pathToFileURL(join(root, name)).href));
    for (const url of wanted) {
        // Firefox has fonts of its own in addresses.
        const isOfFirefox = isFirefox && /^data:font|favicon.ico$/.test(url);
        check(page, own.has(url.split("#")[0]) || isOfFirefox, `it asks for ${url}`);
    }
    // axe is put into the page, which its policy forbids.
    const copy = await browser.newPage();
    await copy.setBypassCSP(true).catch(() => {});
    await copy.setViewport(WIDE);
    await copy.goto(pathToFileURL(join(root, path)).href, { waitUntil: "load" });
    await judgeLook(copy, `/${path}`);
    await copy.close();
    await page.close();
}

/// Paths of pages that lie below a folder, as the links of its list name them.
async function linked(browser, root, list, folder) {
    const page = await browser.newPage();
    await page.goto(pathToFileURL(join(root, list)).href);
    const links = await page.$$eval("main a", (all) => all.map((a) => a.href));
    await page.close();
    const paths = links.filter((url) => url.startsWith("file:")).map((url) => fileURLToPath(url.split("#")[0]).slice(root.length + 1));
    return [...new Set(paths)].filter((path) => path.startsWith(folder));
}

async function judgeBase(browser, base) {
    const at = mkdtempSync(join(tmpdir(), "cbfs-pages-"));
    execFileSync(cbfs, ["mount", "-q", "-o", "ro", base, at]);
    const root = join(at, "html");
    try {
        const lists = ["players", "tournaments", "eco"];
        for (const path of ["index.html", ...lists.map((list) => `${list}.html`)]) await judge(browser, root, path);
        const games = new Set();
        for (const list of lists) {
            for (const path of (await linked(browser, root, `${list}.html`, list)).slice(0, most)) {
                await judge(browser, root, path);
                for (const game of await linked(browser, root, path, "games/")) games.add(game);
            }
        }
        const all = [...games].sort();
        const step = Math.max(1, Math.ceil(all.length / most));
        for (const path of all.filter((_, place) => place % step === 0)) await judge(browser, root, path);
    } finally {
        execFileSync(cbfs, ["umount", at]);
        rmdirSync(at);
    }
}

const executablePath = browserName.includes("/") ? browserName : `/usr/bin/${browserName}`;
const browser = await puppeteer.launch({
    executablePath,
    browser: isFirefox ? "firefox" : "chrome",
    args: isFirefox ? [] : ["--no-sandbox", "--disable-gpu", "--allow-file-access-from-files=false"],
});
for (const base of bases) await judgeBase(browser, base);
await browser.close();
console.log(`${basename(browserName)}: ${seen.pages} pages, ${seen.positions} positions on boards, ${faults} faults`);
process.exit(faults > 0 ? 1 : 0);
