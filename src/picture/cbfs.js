// Shows the positions that stand in a page. Knows no rules of chess.
(() => {
  'use strict';
  const stage = document.getElementById('stage');
  if (!stage) return;
  const svg = stage.querySelector('svg.board');
  const NS = 'http://www.w3.org/2000/svg';
  const HUES = { 2: '#15781b', 3: '#e0a800', 4: '#b3261e' };
  const NAMES = { k: 'king', q: 'queen', r: 'rook', b: 'bishop', n: 'knight', p: 'pawn' };
  const links = new Map(), first = new Map(), parent = new Map(), others = new Map();
  for (const a of document.querySelectorAll('a[data-f]')) {
    const n = Number(a.id);
    links.set(n, a);
    if (!n) continue;
    const up = a.dataset.u === undefined ? n - 1 : Number(a.dataset.u);
    parent.set(n, up);
    if (!others.has(up)) others.set(up, []);
    others.get(up).push(n);
  }
  for (const [up, all] of others) first.set(up, Math.min(...all));
  const edges = svg.querySelectorAll('.names text'), EDGES = 'abcdefgh87654321';
  let at = 0, flipped = false;

  const corner = (square) => {
    const file = square.charCodeAt(0) - 97, rank = Number(square[1]) - 1;
    return flipped ? [(7 - file) * 45, rank * 45] : [file * 45, (7 - rank) * 45];
  };
  const make = (name, attributes) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const rect = (square, fill) => {
    const [x, y] = corner(square);
    return make('rect', { x, y, width: 45, height: 45, fill, 'fill-opacity': .55 });
  };
  const arrow = (from, to, fill) => {
    const [ax, ay] = corner(from), [bx, by] = corner(to);
    const length = Math.hypot(bx - ax, by - ay);
    if (!length) return null;
    const ux = (bx - ax) / length, uy = (by - ay) / length;
    const points = [[12, 3], [length - 15, 3], [length - 15, 9], [length, 0], [length - 15, -9], [length - 15, -3], [12, -3]];
    const d = points.map(([p, q]) => (ax + 22.5 + ux * p - uy * q).toFixed(1) + ' ' + (ay + 22.5 + uy * p + ux * q).toFixed(1));
    return make('path', { d: 'M' + d.join('L') + 'z', fill, 'fill-opacity': .8 });
  };
  const words = (text) => (text || '').split(' ').filter(Boolean);

  const tools = document.createElement('div');
  tools.className = 'tools';
  const now = document.createElement('p');
  now.className = 'now';
  now.setAttribute('aria-live', 'polite');
  const table = document.createElement('table');
  const reader = document.createElement('div');
  reader.className = 'sr';
  reader.append(table);
  stage.append(tools, now, reader);

  // The pieces by the names of their squares.
  const pieces = (placement) => {
    const found = {};
    placement.split('/').forEach((row, index) => {
      let file = 0;
      for (const c of row) {
        if (c >= '1' && c <= '8') file += Number(c);
        else found['abcdefgh'[file++] + (8 - index)] = c;
      }
    });
    return found;
  };
  const spoken = (c) => (c === c.toLowerCase() ? 'black ' : 'white ') + NAMES[c.toLowerCase()];

  function draw() {
    const a = links.get(at);
    const [placement, turn] = a.dataset.f.split(' ');
    const there = pieces(placement);
    const groups = { pieces: [], marks: [], arrows: [] };
    for (const square in there) {
      const [x, y] = corner(square);
      groups.pieces.push(make('use', { href: '#p' + there[square], x, y }));
    }
    const m = a.dataset.m;
    if (m) groups.marks.push(rect(m.slice(0, 2), '#f5d442'), rect(m.slice(2), '#f5d442'));
    for (const w of words(a.dataset.s)) groups.marks.push(rect(w.slice(-2), HUES[w.slice(0, -2)] || '#3a66c4'));
    for (const w of words(a.dataset.a)) {
      const path = arrow(w.slice(-4, -2), w.slice(-2), HUES[w.slice(0, -4)] || '#3a66c4');
      if (path) groups.arrows.push(path);
    }
    edges.forEach((edge, i) => { edge.textContent = EDGES[flipped ? i ^ 7 : i]; });
    for (const name in groups) svg.querySelector('g.' + name).replaceChildren(...groups[name]);
    const list = Object.keys(there).map((square) => spoken(there[square]) + ' ' + square);
    const side = turn === 'w' ? 'White to move' : 'Black to move';
    svg.setAttribute('aria-label', side + '. ' + list.join(', '));
    table.replaceChildren();
    const caption = document.createElement('caption');
    caption.textContent = 'Board, ' + side;
    table.append(caption);
    for (let rank = 8; rank; rank--) {
      const row = table.insertRow();
      for (const file of 'abcdefgh') {
        const piece = there[file + rank];
        row.insertCell().textContent = file + rank + (piece ? ' ' + spoken(piece) : '');
      }
    }
    const said = [at ? a.textContent : 'Start', side];
    if (a.dataset.t) said.push(a.dataset.t);
    if (a.dataset.e) said.push(a.dataset.e);
    now.textContent = said.join(' · ');
    for (const old of document.querySelectorAll('.on')) old.classList.remove('on');
    a.classList.add('on');
    const bar = document.querySelector('.plot a[href="#' + at + '"]');
    if (bar) bar.classList.add('on');
  }

  function go(n, keepAddress) {
    if (!links.has(n)) return;
    at = n;
    draw();
    if (!keepAddress) history.replaceState(null, '', '#' + n);
    const a = links.get(n), box = a.getBoundingClientRect();
    if (matchMedia('(min-width: 50.01rem)').matches && (box.top < 0 || box.bottom > innerHeight)) a.scrollIntoView({ block: 'center' });
  }
  const next = () => first.has(at) && go(first.get(at));
  const back = () => at && go(parent.get(at));
  const start = () => go(0);
  const end = () => {
    let n = at;
    while (first.has(n)) n = first.get(n);
    go(n);
  };
  const aside = (by) => {
    const all = others.get(parent.get(at));
    if (!all) return;
    go(all[(all.indexOf(at) + by + all.length) % all.length]);
  };
  const flip = () => { flipped = !flipped; draw(); };

  for (const [sign, name, act] of [['«', 'Start', start], ['‹', 'Back', back], ['›', 'Next', next], ['»', 'End', end], ['⇅', 'Flip the board', flip]]) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = sign;
    button.setAttribute('aria-label', name);
    button.title = name;
    button.addEventListener('click', act);
    tools.append(button);
  }
  const keys = { ArrowRight: next, ArrowLeft: back, ArrowDown: () => aside(1), ArrowUp: () => aside(-1), Home: start, End: end, f: flip };
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest('input, textarea, select, pre')) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  let wheeled = 0;
  svg.addEventListener('wheel', (event) => {
    if (event.ctrlKey) return;
    event.preventDefault();
    wheeled += event.deltaY;
    if (Math.abs(wheeled) < 30) return;
    (wheeled > 0 ? next : back)();
    wheeled = 0;
  }, { passive: false });
  let touched = null;
  svg.addEventListener('pointerdown', (event) => { touched = event.clientX; });
  svg.addEventListener('pointerup', (event) => {
    if (touched === null) return;
    const by = event.clientX - touched, box = svg.getBoundingClientRect();
    touched = null;
    const forward = Math.abs(by) > 30 ? by < 0 : event.clientX > box.left + box.width / 2;
    (forward ? next : back)();
  });
  addEventListener('hashchange', () => go(Number(location.hash.slice(1)) || 0, true));

  // Remarks in several languages: the browser's first, the others one click away.
  const said = [...document.querySelectorAll('.c[lang]')];
  const known = [...new Set(said.map((c) => c.lang))].sort();
  if (known.length > 1) {
    const wanted = navigator.languages.map((l) => l.slice(0, 2)).find((l) => known.includes(l)) || known[0];
    const buttons = known.map((lang) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = lang;
      button.setAttribute('aria-label', 'Remarks: ' + lang);
      button.addEventListener('click', () => choose(lang));
      tools.append(button);
      return button;
    });
    const choose = (lang) => {
      for (const c of said) c.hidden = c.lang !== lang;
      buttons.forEach((b, i) => b.setAttribute('aria-pressed', String(known[i] === lang)));
    };
    choose(wanted);
  }
  go(Number(location.hash.slice(1)) || 0, true);
})();
