// What is chosen, and the page that shows it.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const chosen = { stack: data.view.stack, layer: data.view.layer, heads: new Set(data.view.heads) };
// The word whose lines stay, and the one that the pointer or the keyboard is at.
let kept = data.view.rows && { side: "row", indices: data.view.rows };
let passing = null;
let showWord = () => {};

function start() {
  byId("run").textContent = data.run;
  byId("sentence").textContent = data.sentence;
  byId("target").textContent = data.target;
  byId("target-title").textContent = data.given ? "target, given" : "the model's translation";
  const { weights } = data.stacks[chosen.stack];
  for (const [name, { title }] of Object.entries(data.stacks))
    byId("stacks").append(choice("radio", "stack", name, title, name === chosen.stack, () => change("stack", name)));
  weights.forEach((_, layer) =>
    byId("layers").append(choice("radio", "layer", layer, layer + 1, layer === chosen.layer, () => change("layer", layer))),
  );
  weights[0].forEach((_, head) => {
    const made = choice("checkbox", "head", head, head + 1, chosen.heads.has(head), (on) => toggle(head, on));
    made.classList.add("head");
    made.style.setProperty("--colour", data.colours[head]);
    byId("heads").append(made);
  });
  byId("heads").append(button("all", () => setHeads(() => true)), button("none", () => setHeads(() => false)));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => event.key === "Escape" && keep(null));
  drawKeys();
  draw();
}

function choice(type, name, value, text, checked, act) {
  const input = html("input", { type, name, value });
  input.checked = checked;
  input.addEventListener("change", () => act(input.checked));
  return html("label", { class: "choice" }, input, html("span", {}, String(text)));
}

function button(text, act) {
  const made = html("button", { type: "button" }, text);
  made.addEventListener("click", act);
  return made;
}

function change(what, value) {
  chosen[what] = value;
  if (what === "stack") kept = null;
  draw();
}

function toggle(head, on) {
  if (on) chosen.heads.add(head);
  else chosen.heads.delete(head);
  draw();
}

function setHeads(wanted) {
  document.querySelectorAll("#heads input").forEach((input, head) => {
    input.checked = wanted(head);
    if (input.checked) chosen.heads.add(head);
    else chosen.heads.delete(head);
  });
  draw();
}

function keep(word) {
  kept = word;
  passing = null;
  tellWord();
}

function draw() {
  const stack = data.stacks[chosen.stack];
  const matrices = [...chosen.heads].sort((a, b) => a - b).map((head) => ({ head, weights: stack.weights[chosen.layer][head] }));
  byId("lines-title").textContent = `${stack.title}, layer ${chosen.layer + 1} of ${stack.weights.length}`;
  showWord = drawLines(byId("lines"), stack, matrices, data.colours, (word, event) => {
    const found = word && { side: word.side, indices: [word.index] };
    if (event === "click") keep(JSON.stringify(found) === JSON.stringify(kept) ? null : found);
    else {
      passing = found;
      tellWord();
    }
  });
  byId("maps").replaceChildren(...matrices.map((each) => drawHeatMap(stack, each, data.colours[each.head], tellCell)));
  passing = null;
  tellWord();
}

function tellWord() {
  const word = passing ?? kept;
  showWord(word);
  byId("said").textContent = word ? said(word) : "Point at a word, or tab to it, for its own lines; a click keeps them.";
}

function said(word) {
  const stack = data.stacks[chosen.stack];
  const [own, others] = word.side === "row" ? [stack.rows, stack.columns] : [stack.columns, stack.rows];
  const found = [];
  for (const head of [...chosen.heads].sort((a, b) => a - b))
    others.forEach((other, index) => {
      const weight = largest(word, stack.weights[chosen.layer][head], index);
      if (weight >= 0.1) found.push({ head, weight, text: spoken(other) });
    });
  found.sort((a, b) => b.weight - a.weight);
  const list = found.slice(0, 6).map(({ head, weight, text }) => `${text} ${shown(weight)} (head ${head + 1})`);
  const name = word.indices.map((index) => own[index][0]).join("");
  return `“${name}” ${word.side === "row" ? "looks at" : "is looked at by"} ${list.join(", ") || "nothing with 0.1 or more"}`;
}

function tellCell(cell) {
  const tip = byId("tip");
  tip.hidden = cell === null;
  if (cell === null) return;
  tip.replaceChildren(html("b", {}, shown(cell.weight)), html("span", { dir: "ltr" }, `${spoken(cell.from)} → ${spoken(cell.to)}`));
  const box = cell.drawing.getBoundingClientRect();
  const x = Math.min(box.left + cell.corner.x + 6, document.documentElement.clientWidth - tip.offsetWidth - 8);
  tip.style.left = `${x + window.scrollX}px`;
  tip.style.top = `${box.top + cell.corner.y + 6 + window.scrollY}px`;
}

function drawKeys() {
  const weights = [0.05, 0.2, 0.5, 1];
  const look = (weight) => ({ "stroke-width": thickness(weight), "stroke-opacity": lineOpacity(weight) });
  const line = (weight) => element("line", { class: "line", x1: 3, x2: 27, y1: 6, y2: 6, stroke: "currentColor", ...look(weight) });
  const cell = (weight) => element("rect", { width: 14, height: 14, y: -1, fill: "currentColor", "fill-opacity": cellOpacity(weight) });
  for (const [id, made, width] of [["lines-key", line, 30], ["maps-key", cell, 14]])
    byId(id).append(
      "weight",
      ...weights.map((weight) => html("span", {}, element("svg", { width, height: 12 }, made(weight)), String(weight))),
      html("span", {}, `below ${LEAST}: not drawn`),
    );
  byId("lines-key").append(html("span", {}, "·  goes on with a word"));
}

start();
