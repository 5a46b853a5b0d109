// Elements, text and the look of a weight, which lines and heat maps share.

const LEAST = 0.01; // weights below are not drawn
const PLACES = 3; // as many as the data has
const NARROW = 12; // of the tokens of a heat map, in pixels

function element(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function html(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A token: a dot before what goes on with a word; special tokens are quiet.
function token([text, kind], attributes) {
  const made = element("text", attributes);
  if (kind === "part") made.append(element("tspan", { class: "mark" }, "·"));
  if (kind === "special") made.classList.add("special");
  made.append(text);
  return made;
}

const spoken = ([text, kind]) => (kind === "part" ? "·" + text : text);

const ruler = document.createElement("canvas").getContext("2d");

function widest(tokens, size) {
  ruler.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(Math.max(0, ...tokens.map((each) => ruler.measureText(spoken(each)).width)));
}

const shown = (weight) => weight.toFixed(PLACES);
const thickness = (weight) => 0.8 + 3.7 * weight;
const lineOpacity = (weight) => 0.05 + 0.9 * weight;
const cellOpacity = (weight) => Math.sqrt(weight);
