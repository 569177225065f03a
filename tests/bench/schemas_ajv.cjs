// ajv over the inputs of schemas_inputs.cjs: nanoseconds for compile, JSON.parse + validate, and validate alone, as JSON
// lines {"name", "compile", "verdict", "validate"}. The median of some rounds of a tenth of a second.
//   NODE_PATH=…/node_modules node schemas_ajv.cjs inputs.jsonl
const fs = require('fs');
const Ajv2020 = require('ajv/dist/2020').default;
const Ajv7 = require('ajv').default;

// Without the precision ajv refuses 19.99 as a multiple of 0.01.
const options = {strict: false, validateFormats: false, logger: false, allErrors: true, multipleOfPrecision: 6};
const engine = (schema) => (String(schema.$schema).includes('draft-07') ? new Ajv7(options) : new Ajv2020(options));

function nanoseconds(work, rounds = 7) {
  let times = 1;
  const run = () => {
    const begin = process.hrtime.bigint();
    for (let i = 0; i < times; ++i) work();
    return Number(process.hrtime.bigint() - begin);
  };
  while (run() < 1e8) times *= 2;
  const all = Array.from({length: rounds}, () => run() / times).sort((a, b) => a - b);
  return all[rounds >> 1];
}

for (const text of fs.readFileSync(process.argv[2], 'utf8').trim().split('\n')) {
  const {name, schema, instance} = JSON.parse(text);
  const ajv = engine(schema);
  const validate = ajv.compile(schema);
  if (!validate(instance)) throw new Error(`${name}: ${JSON.stringify(validate.errors)}`);
  const bytes = JSON.stringify(instance);
  // A gateway gets bytes: Buffer to string, parse, validate.
  const buffer = Buffer.from(bytes);
  let sink = 0;
  const verdict = nanoseconds(() => { sink += validate(JSON.parse(buffer.toString('utf8'))) ? 1 : 0; });
  const alone = nanoseconds(() => { sink += validate(instance) ? 1 : 0; });
  const compile = nanoseconds(() => { const copy = {...schema}; ajv.compile(copy); ajv.removeSchema(copy); }, 3);
  if (sink === 0) throw new Error(name);
  console.log(JSON.stringify({name, compile, verdict, validate: alone}));
}
