// The paper's drawing: what looks on the left, what is looked at on the right, and a line for each weight.

const STEP = 25, GAP = 230, NUMBER = 42, MOST_NUMBERS = 4, TOP = 34;

// Draws into `host`; `tell` is called with the word that the pointer or the keyboard is at, or null.
// Returns a function that shows one word's lines and weights, {side: "row" or "column", index}, or null: all lines.
function drawLines(host, stack, matrices, colours, tell) {
  const sides = { row: stack.rows, column: stack.columns };
  const numbers = NUMBER * Math.min(matrices.length, MOST_NUMBERS);
  const left = numbers + widest(stack.rows, 14) + 24;
  const edges = { row: left, column: left + GAP };
  const width = left + GAP + widest(stack.columns, 14) + 24 + numbers;
  const height = TOP + STEP * Math.max(stack.rows.length, stack.columns.length) + 4;
  const lines = element("g"), weights = element("g"), words = { row: [], column: [] };
  const drawing = element("svg", { width, height, role: "group" }, weights, lines);
  for (const [side, tokens] of Object.entries(sides)) {
    drawing.append(columnTitle(side, edges[side], stack));
    tokens.forEach((each, index) => {
      const word = wordLabel(side, index, each, edges[side], { left, width, numbers });
      for (const event of ["pointerenter", "focus"]) word.addEventListener(event, () => tell({ side, index }, event));
      for (const event of ["pointerleave", "blur"]) word.addEventListener(event, () => tell(null, event));
      word.addEventListener("click", () => tell({ side, index }, "click"));
      word.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          tell({ side, index }, "click");
        }
      });
      words[side].push(word);
      drawing.append(word);
    });
  }
  host.replaceChildren(drawing);

  return (chosen) => {
    for (const side of ["row", "column"])
      words[side].forEach((word, i) => word.classList.toggle("chosen", isChosen(chosen, side, i)));
    lines.replaceChildren(...linesOf(chosen, matrices, colours, edges));
    weights.replaceChildren(...(chosen ? weightsOf(chosen, matrices, colours, edges, sides, left) : []));
  };
}

function isChosen(chosen, side, index) {
  return chosen !== null && chosen.side === side && chosen.indices.includes(index);
}

const middle = (index) => TOP + STEP * (index + 0.5);

function columnTitle(side, edge, stack) {
  const text = side === "row" ? `${stack.rowsTitle} …` : `… looks at ${stack.columnsTitle}`;
  const anchor = side === "row" ? "end" : "start";
  return element("text", { x: edge + (side === "row" ? -10 : 10), y: 12, class: "title", "text-anchor": anchor }, text);
}

function wordLabel(side, index, each, edge, { left, width, numbers }) {
  const row = side === "row";
  const ground = { y: middle(index) - STEP / 2 + 1, height: STEP - 2, rx: 4, class: "ground" };
  Object.assign(ground, row ? { x: numbers, width: left - numbers - 2 } : { x: edge + 2, width: width - edge - numbers - 2 });
  const text = token(each, { x: edge + (row ? -10 : 10), y: middle(index), "text-anchor": row ? "end" : "start" });
  const label = `${spoken(each)}, token ${index + 1}, ${row ? "looks at" : "is looked at"}`;
  const attributes = { class: "word", tabindex: 0, role: "button", "aria-label": label };
  return element("g", { ...attributes, "data-side": side, "data-index": index }, element("rect", ground), text);
}

function linesOf(chosen, matrices, colours, edges) {
  const made = [];
  const apart = Math.min(3, (STEP - 10) / matrices.length); // lines between the same words lie side by side
  matrices.forEach(({ head, weights }, place) =>
    weights.forEach((row, i) =>
      row.forEach((weight, j) => {
        if (weight < LEAST || !(chosen === null || isChosen(chosen, "row", i) || isChosen(chosen, "column", j))) return;
        const shift = apart * (place - (matrices.length - 1) / 2);
        const ends = { x1: edges.row, y1: middle(i) + shift, x2: edges.column, y2: middle(j) + shift };
        const look = { stroke: colours[head], "stroke-width": thickness(weight), "stroke-opacity": lineOpacity(weight) };
        made.push(element("line", { class: "line", ...ends, ...look, "data-row": i, "data-column": j, "data-head": head }));
      }),
    ),
  );
  return made;
}

// At the other end of a word's lines: stripes behind each token, a head each, and beside it the largest weights.
function weightsOf(chosen, matrices, colours, edges, sides, left) {
  const other = chosen.side === "row" ? "column" : "row";
  const outward = other === "column" ? 1 : -1;
  const label = widest(sides[other], 14) + 20;
  const made = [];
  sides[other].forEach((_, index) => {
    const found = matrices.map(({ head, weights }) => ({ head, weight: largest(chosen, weights, index) }));
    found.forEach(({ head, weight }, i) => {
      const x = edges[other] + outward * (2 + (label * (i + (outward < 0 ? 1 : 0))) / found.length);
      const box = { x, y: middle(index) - STEP / 2 + 1, width: label / found.length, height: STEP - 2 };
      made.push(element("rect", { class: "stripe", ...box, fill: colours[head], "fill-opacity": 0.75 * weight }));
    });
    const told = found.filter(({ weight }) => weight >= LEAST).sort((a, b) => b.weight - a.weight).slice(0, MOST_NUMBERS);
    told.sort((a, b) => a.head - b.head);
    told.forEach(({ head, weight }, i) => {
      const place = { x: edges[other] + outward * (label + 8 + NUMBER * i), y: middle(index) };
      const look = { class: "number", "text-anchor": outward > 0 ? "start" : "end", style: `fill:${readable(colours[head])}` };
      const which = { "data-index": index, "data-head": head };
      made.push(element("text", { ...place, ...look, ...which }, shown(weight)));
    });
  });
  return made;
}

const readable = (colour) => `color-mix(in oklab, ${colour} 70%, var(--ink))`;

// Of a word of several tokens, the token with the most.
function largest(chosen, weights, index) {
  return Math.max(...chosen.indices.map((own) => (chosen.side === "row" ? weights[own][index] : weights[index][own])));
}
