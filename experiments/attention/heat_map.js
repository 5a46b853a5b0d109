// One head as a table of weights: a row for what looks, a column for what is looked at.

function drawHeatMap(stack, { head, weights }, colour, tell) {
  const [rows, columns] = [stack.rows, stack.columns];
  const size = Math.max(rows.length, columns.length) <= 16 ? 22 : Math.max(rows.length, columns.length) <= 30 ? 16 : 13;
  const left = widest(rows, NARROW) + 10, top = widest(columns, NARROW) + 10;
  const [width, height] = [columns.length * size, rows.length * size];
  const label = `head ${head + 1}: ${rows.length} by ${columns.length} weights; the arrow keys move`;
  const drawing = element("svg", { class: "map", width: left + width + 2, height: top + height + 2, tabindex: 0, role: "img" });
  drawing.setAttribute("aria-label", label);
  const names = { rows: rows.map((each, i) => rowName(each, left - 7, top + size * (i + 0.5))) };
  names.columns = columns.map((each, j) => columnName(each, left + size * (j + 0.5), top - 7));
  drawing.append(...names.rows, ...names.columns);
  weights.forEach((row, i) =>
    row.forEach((weight, j) => {
      if (weight < LEAST) return;
      const place = { x: left + size * j + 0.5, y: top + size * i + 0.5, width: size - 1, height: size - 1 };
      drawing.append(element("rect", { class: "cell", ...place, fill: colour, "fill-opacity": cellOpacity(weight) }));
    }),
  );
  drawing.append(element("rect", { class: "frame", x: left, y: top, width, height }));
  const cursor = element("rect", { class: "cursor", width: size, height: size, visibility: "hidden" });
  drawing.append(cursor);
  let at = null;

  function move(to) {
    if (to !== null && (to.row < 0 || to.row >= rows.length || to.column < 0 || to.column >= columns.length)) to = null;
    at = to;
    cursor.setAttribute("visibility", at ? "visible" : "hidden");
    names.rows.forEach((name, i) => name.classList.toggle("picked", at?.row === i));
    names.columns.forEach((name, j) => name.classList.toggle("picked", at?.column === j));
    if (at) {
      cursor.setAttribute("x", left + size * at.column);
      cursor.setAttribute("y", top + size * at.row);
    }
    const corner = at && { x: left + size * (at.column + 1), y: top + size * (at.row + 1) };
    tell(at && { from: rows[at.row], to: columns[at.column], weight: weights[at.row][at.column], drawing, corner });
  }

  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const to = { row: Math.floor((event.clientY - box.top - top) / size), column: Math.floor((event.clientX - box.left - left) / size) };
    if (at?.row !== to.row || at?.column !== to.column) move(to);
  });
  drawing.addEventListener("pointerleave", () => move(null));
  drawing.addEventListener("focus", () => drawing.matches(":focus-visible") && move({ row: 0, column: 0 }));
  drawing.addEventListener("blur", () => move(null));
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const from = at ?? { row: 0, column: 0 };
    const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
    move({ row: within(from.row + step[0], rows.length), column: within(from.column + step[1], columns.length) });
  });
  const caption = html("figcaption", { style: `--colour:${readable(colour)}` }, `head ${head + 1}`);
  return html("figure", { "data-head": head }, caption, drawing);
}

const rowName = (each, x, y) => token(each, { class: "small", x, y, "text-anchor": "end" });
const columnName = (each, x, y) => token(each, { class: "small", transform: `translate(${x} ${y}) rotate(-90)` });
