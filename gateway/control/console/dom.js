// Elements from data. Text of others only ever gets in as text nodes; nothing here parses markup.
export function make(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key in element && key !== "list" && key !== "form") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of children.flat(9)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export const get = (id) => document.getElementById(id);

// `\u{202E}` is how the gateway shows a character that does not show itself.
const kHidden = /\\u\{[0-9A-F]{1,6}\}/g;

// A word of letters that look alike in two alphabets: `pаypal` with a Cyrillic а.
const kWord = /[\p{L}\p{M}]+/gu;
const kLatin = /\p{Script=Latin}/u;
const kLooksLatin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;

function split(text, pattern, title, isOne, rest) {
  const out = [];
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    if (!isOne(found[0])) continue;
    out.push(rest(text.slice(at, found.index)), make("mark", { title }, found[0]));
    at = found.index + found[0].length;
  }
  out.push(rest(text.slice(at)));
  return out;
}

export function marked(text) {
  const mixed = (part) => (/[^\x00-\x7f]/.test(part)
    ? split(part, kWord, "letters of two alphabets in one word", (word) => kLatin.test(word) && kLooksLatin.test(word), (one) => one) : part);
  return split(String(text), kHidden, "a hidden character, made visible", () => true, mixed);
}

const kMostText = 600;

// A long text shows its beginning, says how long it is, and opens on demand.
export function folded(text, most = kMostText) {
  const whole = String(text);
  if (whole.length <= most + 80) return marked(whole);
  const rest = make("span", {});
  const button = make("button", { type: "button", className: "fold", on: { click: () => {
    rest.replaceChildren(...add(make("span"), marked(whole.slice(most))).childNodes);
    button.remove();
  } } }, "… show all " + whole.length.toLocaleString("en") + " characters");
  return [marked(whole.slice(0, most)), rest, button];
}

const kMostLines = 120;

export function codeBlock(lines, label) {
  const block = make("div", { className: "code", role: "group", "aria-label": label });
  const show = (from, to) => {
    for (const line of lines.slice(from, to)) {
      const text = String(line);
      const indent = text.match(/^ */)[0].length;
      const row = make("div", {}, folded(text.slice(indent)));
      row.style.setProperty("margin-left", indent + "ch");
      block.append(row);
    }
  };
  show(0, kMostLines);
  if (lines.length > kMostLines) {
    const button = make("button", { type: "button", className: "fold", on: { click: () => {
      button.remove();
      show(kMostLines, lines.length);
    } } }, "… show all " + lines.length.toLocaleString("en") + " lines");
    block.append(button);
  }
  return block;
}

export function rows(pairs) {
  const list = make("dl");
  for (const [label, value] of pairs) {
    if (value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length)) continue;
    const values = Array.isArray(value) ? value : [value];
    list.append(make("dt", {}, label), make("dd", {}, values.map((one) => make("div", {}, one instanceof Node ? one : folded(one)))));
  }
  return list;
}

// On a phone each row becomes a card, where each cell says what it is.
export function table(label, heads, body) {
  for (const row of body) {
    [...row.children].forEach((one, index) => { one.dataset.label = typeof heads[index] === "string" ? heads[index] : "Take"; });
  }
  return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": label },
    make("table", {}, make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, body)));
}

export const cell = (value, className) => make("td", { className }, value === "" || value === undefined ? "" : make("div", {}, value instanceof Node || Array.isArray(value) ? value : folded(value, 200)));

export function span(milliseconds) {
  const seconds = Math.abs(milliseconds) / 1000;
  if (seconds < 60) return Math.round(seconds) + " s";
  if (seconds < 5400) return Math.round(seconds / 60) + " min";
  if (seconds < 172800) return Math.round(seconds / 3600) + " h";
  return Math.round(seconds / 86400) + " days";
}

export function when(utc) {
  const time = Date.parse(utc);
  if (Number.isNaN(time)) return utc || "";
  const left = time - Date.now();
  return make("time", { dateTime: utc, title: utc }, left > 0 ? "in " + span(left) : left > -5000 ? "just now" : span(left) + " ago");
}
