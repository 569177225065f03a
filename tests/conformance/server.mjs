// The server that the suite wants to see, on the official SDK: what its scenarios name, and no more. Prints its URL.
//   node server.mjs
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { setTimeout as pause } from 'node:timers/promises';
import { serveSessions } from './serve.mjs';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const text = (value) => ({ type: 'text', text: value });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const schema = (properties = {}, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const titled = (...pairs) => pairs.map(([value, title]) => ({ const: value, title }));

const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: titled(['value1', 'First Option'], ['value2', 'Second Option']) },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', items: { anyOf: titled(['value1', 'First Choice'], ['value2', 'Second Choice']) } },
};
const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};

async function elicit(extra, message, requestedSchema, words) {
  const answer = await extra.sendRequest({ method: 'elicitation/create', params: { message, requestedSchema } },
    types.ElicitResultSchema);
  return [text(`${words}: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`)];
}

// name: [description, input schema, (arguments, extra) => content]
const TOOLS = {
  test_simple_text: ['Says one sentence', schema(), () => [text('This is a simple text response for testing.')]],
  test_image_content: ['Shows a picture', schema(), () => [image]],
  test_audio_content: ['Plays a sound', schema(), () => [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }]],
  test_embedded_resource: ['Brings a resource', schema(), () => [{
    type: 'resource',
    resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' },
  }]],
  test_multiple_content_types: ['Brings several things', schema(), () => [text('Multiple content types test:'), image, {
    type: 'resource',
    resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' },
  }]],
  test_tool_with_logging: ['Logs while it works', schema(), async (_, extra) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } });
      await pause(50);
    }
    return [text('Logged.')];
  }],
  test_tool_with_progress: ['Tells how far it is', schema(), async (_, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      }
      await pause(50);
    }
    return [text('Done.')];
  }],
  test_error_handling: ['Fails', schema(), () => {
    throw new Error('This tool intentionally returns an error for testing');
  }],
  test_sampling: ['Asks the model of the client', schema({ prompt: { type: 'string' } }), async ({ prompt }, extra) => {
    const answer = await extra.sendRequest({
      method: 'sampling/createMessage',
      params: { messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 },
    }, types.CreateMessageResultSchema);
    return [text(`LLM response: ${answer.content.text}`)];
  }],
  test_elicitation: ['Asks the user', schema({ message: { type: 'string' } }), ({ message }, extra) => elicit(extra, message,
    schema({ username: { type: 'string', description: "User's response" }, email: { type: 'string', description: "User's email address" } }),
    'User response')],
  test_elicitation_sep1034_defaults: ['Asks the user, with defaults', schema(), (_, extra) => elicit(extra,
    'Please review the form', { type: 'object', properties: DEFAULTS, required: [] }, 'Elicitation completed')],
  test_elicitation_sep1330_enums: ['Asks the user to choose', schema(), (_, extra) => elicit(extra,
    'Please choose', { type: 'object', properties: ENUMS, required: [] }, 'Elicitation completed')],
  test_reconnection: ['Closes its stream and goes on', schema(), async (_, extra) => {
    extra.closeSSEStream?.();
    await pause(100);
    return [text('Reconnected.')];
  }],
  json_schema_2020_12_tool: ['Tool with JSON Schema 2020-12 features', {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
    properties: {
      name: { type: 'string' }, address: { $ref: '#/$defs/address' }, contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' }, email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }, () => [text('ok')]],
};

const user = (content) => ({ role: 'user', content });
const PROMPTS = {
  test_simple_prompt: ['A prompt', [], () => [user(text('This is a simple prompt for testing.'))]],
  test_prompt_with_arguments: ['A prompt with arguments', ['arg1', 'arg2'],
    ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))]],
  test_prompt_with_embedded_resource: ['A prompt with a resource', ['resourceUri'], ({ resourceUri }) => [
    user({ type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } }),
    user(text('Please process the embedded resource above.'))]],
  test_prompt_with_image: ['A prompt with a picture', [], () => [user(image), user(text('Please analyze the image above.'))]],
};

const RESOURCES = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched resource content.' },
};

function read(uri) {
  if (RESOURCES[uri]) return { uri, ...RESOURCES[uri] };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (!id) throw new types.McpError(-32002, `Resource not found: ${uri}`, { uri });
  return { uri, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
}

function newServer() {
  const server = new Server({ name: 'conformance-server', version: '1.0.0' }, {
    capabilities: {
      tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, prompts: { listChanged: true },
      logging: {}, completions: {},
    },
  });
  const answer = (request, handler) => server.setRequestHandler(request, handler);
  answer(types.ListToolsRequestSchema, () => ({
    tools: Object.entries(TOOLS).map(([name, [description, inputSchema]]) => ({ name, description, inputSchema })),
  }));
  answer(types.CallToolRequestSchema, async ({ params }, extra) => {
    try {
      return { content: await TOOLS[params.name][2](params.arguments ?? {}, extra) };
    } catch (error) {
      return { isError: true, content: [text(error.message)] };
    }
  });
  answer(types.ListPromptsRequestSchema, () => ({
    prompts: Object.entries(PROMPTS).map(([name, [description, names]]) => ({
      name, description, arguments: names.map((each) => ({ name: each, description: each, required: true })),
    })),
  }));
  answer(types.GetPromptRequestSchema, ({ params }) => {
    if (!PROMPTS[params.name]) throw new types.McpError(-32602, `Unknown prompt: ${params.name}`);
    return { messages: PROMPTS[params.name][2](params.arguments ?? {}) };
  });
  answer(types.ListResourcesRequestSchema, () => ({
    resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri.slice(7), description: uri, mimeType })),
  }));
  answer(types.ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', description: 'By id', mimeType: 'application/json' }],
  }));
  answer(types.ReadResourceRequestSchema, ({ params }) => ({ contents: [read(params.uri)] }));
  answer(types.SubscribeRequestSchema, () => ({}));
  answer(types.UnsubscribeRequestSchema, () => ({}));
  answer(types.SetLevelRequestSchema, () => ({}));
  answer(types.CompleteRequestSchema, ({ params }) => ({
    completion: { values: ['paris', 'park', 'party'].filter((each) => each.startsWith(params.argument.value)), total: 150, hasMore: false },
  }));
  return server;
}

// Events are kept so that a stream that was closed on purpose can be read on.
class Events {
  kept = [];
  async storeEvent(stream, message) {
    this.kept.push({ id: `${stream}_${this.kept.length}`, stream, message });
    return this.kept.at(-1).id;
  }
  async replayEventsAfter(last, { send }) {
    const at = this.kept.findIndex((event) => event.id === last);
    const stream = this.kept[at]?.stream;
    for (const event of this.kept.slice(at + 1)) {
      if (event.stream === stream && Object.keys(event.message).length) await send(event.id, event.message);
    }
    return stream;
  }
}

serveSessions(StreamableHTTPServerTransport, newServer, () => ({ eventStore: new Events(), retryInterval: 500 }));
