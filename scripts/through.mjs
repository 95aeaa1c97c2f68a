// Games through readers of JavaScript. Needs the packages chessops and @mliebelt/pgn-parser; see scripts/test.
//
//     through.mjs again PGN          what chessops makes of the games, on standard output
//     through.mjs load PGN…          the files that the parser of pgn-viewer does not read, a line each
//     through.mjs commands PGN…      of each file: games with comments, games in which chessops shows a private command

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Packages lie in the folder that npm was run in, not beside this file.
const require = createRequire(`${process.cwd()}/`);
const chessops = pathToFileURL(`${process.cwd()}/node_modules/chessops/dist/esm/pgn.js`);
const { makePgn, parseComment, parsePgn } = await import(chessops);

const [task, ...files] = process.argv.slice(2);
const read = (file) => readFileSync(file, "utf8");

function comments(game) {
    const found = [...(game.comments ?? [])];
    const waiting = [game.moves];
    while (waiting.length > 0) {
        for (const child of waiting.pop().children) {
            found.push(...(child.data.startingComments ?? []), ...(child.data.comments ?? []));
            waiting.push(child);
        }
    }
    return found;
}

if (task === "again") {
    process.stdout.write(parsePgn(read(files[0])).map(makePgn).join("\n"));
} else if (task === "load") {
    const { parse } = require("@mliebelt/pgn-parser");
    for (const file of files) {
        try {
            parse(read(file), { startRule: "games" });
        } catch (error) {
            console.log(`${file}: ${error.message.slice(0, 200)} at line ${error.location?.start.line}`);
        }
    }
} else {
    for (const file of files) {
        const shown = parsePgn(read(file)).map((game) => comments(game).map((comment) => parseComment(comment).text));
        const commented = shown.filter((texts) => texts.length > 0);
        const showing = commented.filter((texts) => texts.some((text) => text.includes("[%cb")));
        console.log(`${commented.length} ${showing.length}`);
    }
}
