// Random schemas, instances and what ajv says of them, as JSON lines for differential_test.cpp:
//   npm install ajv && node pairs.cjs 100000 7 > pairs.jsonl && SALLYPORT_SCHEMA_PAIRS=pairs.jsonl unit_validate
const Ajv2020 = require('ajv/dist/2020').default;
const Ajv2019 = require('ajv/dist/2019').default;
const Ajv7 = require('ajv').default;

const wanted = Number(process.argv[2] || 10000);
let state = Number(process.argv[3] || 1);
function random() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  let t = state;
  t ^= t >>> 15;
  t = Math.imul(t, 2246822519);
  t ^= t >>> 13;
  return (t >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const chance = (p) => random() < p;

const names = ['a', 'b', 'c', 'foo', 'bar', 'x-1', 'x-2'];
const texts = ['', 'a', 'ab', 'abc', 'foo', 'bar', '\u{1F600}', '\u00E9', 'aaaa', 'x-1', '12', 'A b'];
const patterns = ['^a', 'b$', '^[a-z]+$', '\\d+', '^.{2}$', '^\\p{L}+$', '^x-', 'a|b', '[^a]', '^(a|b)*$', '\\s', '\\w\\W'];
// Numbers that doubles hold exactly: ajv computes with doubles.
const numbers = [0, 1, -1, 2, 3, 1.5, 10, 0.5, 0.25, 100, 1e3, 2.5, -2.5];
const types = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object'];

function value(depth) {
  switch (below(depth > 0 ? 8 : 6)) {
    case 0: return null;
    case 1: return chance(0.5);
    case 2: case 3: return pick(numbers);
    case 4: case 5: return pick(texts);
    case 6: return Array.from({length: below(4)}, () => value(depth - 1));
    default: {
      const object = {};
      for (let i = below(5); i > 0; --i) object[pick(names)] = value(depth - 1);
      return object;
    }
  }
}

let dialect;
const definitions = () => (dialect === 7 ? 'definitions' : '$defs');
const unique = (list) => [...new Map(list.map((item) => [JSON.stringify(item), item])).values()];

function small() {
  if (chance(0.2)) return chance(0.5);
  return chance(0.4) ? {} : {type: pick(types)};
}

const keywords = [
  (o) => { o.type = chance(0.6) ? pick(types) : unique([pick(types), pick(types)]); },
  (o) => { o.type = pick(types); },
  (o) => { o.enum = unique([value(1), value(1), value(2)]); },
  (o) => { o.const = value(2); },
  (o) => { o.multipleOf = pick([1, 2, 5, 0.5, 3]); },
  (o) => { o.minimum = pick(numbers); },
  (o) => { o.maximum = pick(numbers); },
  (o) => { o.exclusiveMinimum = pick(numbers); },
  (o) => { o.exclusiveMaximum = pick(numbers); },
  (o) => { o.minLength = below(4); },
  (o) => { o.maxLength = below(4); },
  (o) => { o.pattern = pick(patterns); },
  (o) => { o.minItems = below(3); },
  (o) => { o.maxItems = below(4); },
  (o) => { o.uniqueItems = chance(0.8); },
  (o, sub) => {
    o.contains = sub();
    if (dialect !== 7 && chance(0.3)) o.minContains = below(3);
    if (dialect !== 7 && chance(0.3)) o.maxContains = below(3);
  },
  (o, sub, list) => {
    if (dialect === 2020) {
      o.prefixItems = list();
    } else {
      o.items = list();
      if (chance(0.5)) o.additionalItems = sub();
    }
  },
  (o, sub) => { o.items = o.items || sub(); },
  (o, sub) => { o.properties = Object.fromEntries(Array.from({length: 1 + below(3)}, () => [pick(names), sub()])); },
  (o, sub) => { o.properties = Object.fromEntries(Array.from({length: 1 + below(3)}, () => [pick(names), sub()])); },
  (o) => { o.required = unique([pick(names), pick(names)]); },
  (o, sub) => { o.additionalProperties = sub(); },
  (o, sub) => { o.patternProperties = {[pick(patterns)]: sub()}; },
  (o, sub) => { o.propertyNames = sub(); },
  (o) => { o.minProperties = below(3); },
  (o) => { o.maxProperties = below(4); },
  (o, sub) => {
    if (dialect === 7) o.dependencies = {[pick(names)]: chance(0.5) ? [pick(names)] : sub()};
    else if (chance(0.5)) o.dependentRequired = {[pick(names)]: [pick(names)]};
    else o.dependentSchemas = {[pick(names)]: sub()};
  },
  (o, sub, list) => { o.allOf = list(); },
  (o, sub, list) => { o.anyOf = list(); },
  (o, sub, list) => { o.oneOf = list(); },
  (o, sub) => { o.not = sub(); },
  (o, sub) => {
    o.if = sub();
    if (chance(0.7)) o.then = sub();
    if (chance(0.7)) o.else = sub();
  },
  (o, sub) => { if (dialect !== 7) o.unevaluatedProperties = sub(); },
  (o, sub) => { if (dialect !== 7) o.unevaluatedItems = sub(); },
  (o) => { o.$ref = `#/${definitions()}/${pick(['p', 'q', 'r'])}`; },
];

function schema(depth, root) {
  if (depth <= 0 || (!root && chance(0.12))) return small();
  const object = {};
  const sub = () => schema(depth - 1);
  const list = () => Array.from({length: 1 + below(3)}, sub);
  for (let i = 1 + below(4); i > 0; --i) pick(keywords)(object, sub, list);
  // draft-07 ignores what stands beside a reference, and ajv does not.
  if (dialect === 7 && object.$ref) return root ? {allOf: [{$ref: object.$ref}]} : {$ref: object.$ref};
  return object;
}

const options = {strict: false, validateFormats: false, logger: false, validateSchema: false};
const engines = {2020: () => new Ajv2020(options), 2019: () => new Ajv2019(options), 7: () => new Ajv7(options)};
const uris = {
  2020: 'https://json-schema.org/draft/2020-12/schema',
  2019: 'https://json-schema.org/draft/2019-09/schema',
  7: 'http://json-schema.org/draft-07/schema#',
};

for (let made = 0; made < wanted;) {
  dialect = pick([2020, 2020, 2019, 7]);
  const text = schema(4, true);
  text[definitions()] = {p: schema(2), q: schema(2), r: schema(2)};
  text.$schema = uris[dialect];
  let validate = null;
  try {
    validate = engines[dialect]().compile(text);
  } catch (error) {
    validate = null;
  }
  const cases = [];
  for (let i = 0; i < 8 && made < wanted; ++i, ++made) {
    const instance = value(3);
    let verdict = null;
    try {
      if (validate !== null) verdict = validate(instance);
    } catch (error) {
      verdict = null;  // its stack ran over
    }
    cases.push([instance, verdict]);
  }
  console.log(JSON.stringify({schema: text, cases}));
}
