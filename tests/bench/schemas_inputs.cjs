// Inputs of the schema benchmark, one a line: {"name", "schema", "instance"}; written after the shape of tools that people
// use (files, issues, searches, orders), one with 200 members, and one instance of a megabyte.
//   node schemas_inputs.cjs > inputs.jsonl
const string = (more) => ({type: 'string', ...more});
const integer = (more) => ({type: 'integer', ...more});
const object = (properties, required, more) =>
  ({type: 'object', properties, ...(required ? {required} : {}), additionalProperties: false, ...more});
const list = (items, more) => ({type: 'array', items, ...more});
const draft7 = {$schema: 'http://json-schema.org/draft-07/schema#'};

const said = (text) => ({description: text});
const path = string(said('Where the file is, absolute or below the first allowed folder'));

const wide = {};
const wideInstance = {};
for (let i = 0; i < 200; ++i) {
  const name = `field_${i}`;
  wide[name] = [string({maxLength: 100}), integer({minimum: 0, maximum: 100000}), {type: 'boolean'},
    {enum: ['low', 'middle', 'high']}, list(string(), {maxItems: 5})][i % 5];
  wideInstance[name] = [`value ${i}`, i, i % 2 === 0, 'middle', ['a', 'b']][i % 5];
}

const line = object({sku: string({pattern: '^[A-Z]{3}-[0-9]{4}$'}), amount: integer({minimum: 1}), price: {type: 'number', multipleOf: 0.01},
  note: {anyOf: [string({maxLength: 200}), {type: 'null'}]}}, ['sku', 'amount', 'price']);
const orderLine = (i) => ({sku: `ABC-${String(1000 + (i % 9000))}`, amount: 1 + (i % 7), price: 19.99, note: i % 3 === 0 ? null : `line ${i} of the order`});

const inputs = [
  ['read_text_file', {...draft7, ...object({path, tail: {type: 'number', ...said('Only the last lines')}, head: {type: 'number', ...said('Only the first lines')}}, ['path'])},
    {path: '/srv/data/reports/2026/summary.txt', head: 40}],
  ['write_file', {...draft7, ...object({path, content: string()}, ['path', 'content'])},
    {path: '/srv/data/notes.md', content: 'A line of text.\n'.repeat(20)}],
  ['edit_file', {...draft7, ...object({path, edits: list(object({oldText: string(said('To look for; must match exactly')), newText: string(said('To put in its place'))}, ['oldText', 'newText'])),
    dryRun: {type: 'boolean', default: false, ...said('Show the difference only')}}, ['path', 'edits'])},
    {path: '/srv/data/app.ts', edits: [{oldText: 'const a = 1;', newText: 'const a = 2;'}, {oldText: 'let b', newText: 'const b'}], dryRun: true}],
  ['search_files', {...draft7, ...object({path, pattern: string(), excludePatterns: list(string(), {default: []})}, ['path', 'pattern'])},
    {path: '/srv/data', pattern: '*.ts', excludePatterns: ['node_modules', 'dist', '.git']}],
  ['get_sum', {...draft7, ...object({a: {type: 'number'}, b: {type: 'number'}}, ['a', 'b'])}, {a: 17, b: 25.5}],
  ['annotated_message', {...draft7, ...object({messageType: {type: 'string', enum: ['error', 'success', 'debug']}, includeImage: {type: 'boolean', default: false}}, ['messageType'])},
    {messageType: 'success', includeImage: false}],
  ['create_issue', object({owner: string(), repo: string(), title: string({minLength: 1, maxLength: 256}), body: string(), assignees: list(string()),
    milestone: integer(), labels: list(string())}, ['owner', 'repo', 'title'], {additionalProperties: undefined}),
    {owner: 'acme', repo: 'shop', title: 'The cart forgets its lines', body: 'Steps: add two lines, reload the page, look.', labels: ['bug', 'cart'], assignees: ['dana']}],
  ['create_review', object({owner: string(), repo: string(), number: integer({minimum: 1}), event: {enum: ['APPROVE', 'REQUEST_CHANGES', 'COMMENT']}, body: string(),
    comments: list({anyOf: [object({path: string(), position: integer(), body: string()}, ['path', 'position', 'body']),
      object({path: string(), line: integer(), side: {enum: ['LEFT', 'RIGHT']}, body: string()}, ['path', 'line', 'body'])]})}, ['owner', 'repo', 'number', 'event']),
    {owner: 'acme', repo: 'shop', number: 412, event: 'COMMENT', body: 'Two things.', comments: [{path: 'src/cart.ts', position: 12, body: 'Why twice?'},
      {path: 'src/cart.ts', line: 40, side: 'RIGHT', body: 'This can be null.'}]}],
  ['create_order', object({customer: {$ref: '#/$defs/person'}, ship_to: {$ref: '#/$defs/address'}, lines: list({$ref: '#/$defs/line'}, {minItems: 1, maxItems: 100}),
    currency: {enum: ['EUR', 'USD', 'CHF']}}, ['customer', 'lines', 'currency'],
    {$defs: {person: object({id: string({pattern: '^c_[0-9]+$'}), email: string({format: 'email'})}, ['id']),
      address: object({street: string(), city: string(), zip: string({minLength: 4, maxLength: 10}), country: string({pattern: '^[A-Z]{2}$'})}, ['street', 'city', 'country']), line}}),
    {customer: {id: 'c_1042', email: 'kim@example.org'}, ship_to: {street: 'Main St 1', city: 'Bern', zip: '3011', country: 'CH'}, lines: [orderLine(1), orderLine(3), orderLine(5)], currency: 'CHF'}],
  ['wide_200', object(wide, Object.keys(wide).slice(0, 50)), wideInstance],
  ['order_of_1_MB', object({lines: list(line)}, ['lines']), {lines: Array.from({length: 13000}, (_, i) => orderLine(i))}],
];

for (const [name, schema, instance] of inputs) console.log(JSON.stringify({name, schema, instance}));
