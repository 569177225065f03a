// JSON as the tokens that came, so that what is compared and sent back is what was shown: no number is ever parsed.

// {kind: "object", members: [[name, node]]}, {kind: "array", items: [node]}, or {kind: "scalar", raw}. null: no JSON.
export function parse(text) {
  let at = 0;
  const space = () => { while (/\s/.test(text[at] || "")) at += 1; };
  const string = () => {
    const from = at;
    at += 1;
    while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    at += 1;
    return text.slice(from, at);
  };
  const value = (depth) => {
    space();
    if (depth > 200) throw new Error("too deep");
    if (text[at] === "{") {
      const members = [];
      at += 1;
      for (space(); text[at] !== "}"; space()) {
        if (text[at] !== '"') throw new Error("no name");
        const name = string();
        space();
        at += 1;
        members.push([name, value(depth + 1)]);
        space();
        if (text[at] === ",") at += 1;
        space();
      }
      at += 1;
      return { kind: "object", members };
    }
    if (text[at] === "[") {
      const items = [];
      at += 1;
      for (space(); text[at] !== "]"; space()) {
        if (at >= text.length) throw new Error("no end");
        items.push(value(depth + 1));
        space();
        if (text[at] === ",") at += 1;
      }
      at += 1;
      return { kind: "array", items };
    }
    const from = at;
    if (text[at] === '"') string();
    else while (at < text.length && !/[\s,\]}]/.test(text[at])) at += 1;
    if (at === from) throw new Error("no value");
    return { kind: "scalar", raw: text.slice(from, at) };
  };
  try {
    return value(0);
  } catch {
    return null;
  }
}

// A name's literal as people read it.
export const bare = (literal) => literal.slice(1, -1);

// [path, raw] of every leaf, in order. No two leaves of a document have one path, whatever its names are: a name that
// is no plain word stands in quotes, an index in brackets.
export function leaves(node, path = "") {
  if (node.kind === "scalar") return [[path, node.raw]];
  const step = (literal) => (/^"[A-Za-z_][A-Za-z0-9_-]*"$/.test(literal) ? (path ? "." : "") + bare(literal) : "[" + literal + "]");
  const inside = node.kind === "object" ? node.members.map(([name, item]) => [step(name), item]) : node.items.map((item, index) => ["[" + index + "]", item]);
  if (!inside.length) return [[path, node.kind === "object" ? "{}" : "[]"]];
  return inside.flatMap(([name, item]) => leaves(item, path + name));
}

// The condition that is fulfilled by what is shown and by nothing wider, as JSON text; null: there is none (lists of more
// than plain values, hidden characters). Of a list: as many, each one of those that are shown.
export function exactly(node) {
  if (node.kind === "scalar") return node.raw.includes("\\u{") ? null : node.raw;
  if (node.kind === "array") {
    const items = node.items.map((item) => (item.kind === "scalar" ? exactly(item) : null));
    if (!items.length || items.includes(null)) return null;
    return '{"items":[' + [...new Set(items)].join(",") + '],"minItems":' + items.length + ',"maxItems":' + items.length + "}";
  }
  const members = node.members.map(([name, item]) => [name, exactly(item)]);
  if (members.some(([name, text]) => text === null || name.includes("\\u{") || name.endsWith('?"'))) return null;
  return '{"members":{' + members.map(([name, text]) => name + ":" + text).join(",") + "}}";
}
