// The server that the suite wants to see for 2026-07-28, on the official SDK's second line: what its scenarios name, and no
// more. It answers legacy clients too, without sessions. Prints its URL.
//   node modern_server.mjs
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  McpServer, ResourceTemplate, completable, createMcpHandler, createRequestStateCodec, inputRequired, inputResponse,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { serveFetch } from './serve.mjs';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const text = (value) => ({ type: 'text', text: value });
const said = (value) => ({ content: [text(value)] });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const user = (content) => ({ role: 'user', content });
const states = createRequestStateCodec({ key: randomBytes(32) });

const form = (message, name, type = 'string') => inputRequired.elicit(
  { message, requestedSchema: { type: 'object', properties: { [name]: { type } }, required: [name] } });
const sample = (words, maxTokens) => inputRequired.createMessage({ messages: [user(text(words))], maxTokens });
const told = (ctx, key) => inputResponse(ctx.mcpReq.inputResponses, key);
const accepted = (ctx, key) => {
  const answer = told(ctx, key);
  return answer.kind === 'elicit' && answer.action === 'accept' ? answer.content : undefined;
};

// name: [description, (arguments, context) => result, input schema]
const TOOLS = {
  test_simple_text: ['Says one sentence', () => said('This is a simple text response for testing.')],
  test_image_content: ['Shows a picture', () => ({ content: [image] })],
  test_audio_content: ['Plays a sound', () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] })],
  test_embedded_resource: ['Brings a resource', () => ({ content: [{
    type: 'resource',
    resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' },
  }] })],
  test_multiple_content_types: ['Brings several things', () => ({ content: [text('Multiple content types test:'), image, {
    type: 'resource',
    resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' },
  }] })],
  test_error_handling: ['Fails', () => { throw new Error('This tool intentionally returns an error for testing'); }],
  test_tool_with_progress: ['Tells how far it is', async (_, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      }
      await pause(50);
    }
    return said('Done.');
  }],
  test_logging_tool: ['Logs while it works', async (_, { mcpReq }) => {
    for (const words of ['Tool execution started', 'Tool execution completed']) await mcpReq.log('info', words);
    return said('Logged.');
  }],
  test_streaming_elicitation: ['Asks the user', (_, ctx) => (accepted(ctx, 'user_name')
    ? said('Thank you.') : inputRequired({ inputRequests: { user_name: form('What is your name?', 'name') } }))],
  test_missing_capability: ['Needs the model of the client', (_, ctx) => (told(ctx, 'sampled').kind === 'missing'
    ? inputRequired({ inputRequests: { sampled: sample('Say something', 10) } }) : said('Sampled.'))],
  test_input_required_result_elicitation: ['Asks for a name', (_, ctx) => {
    const name = accepted(ctx, 'user_name')?.name;
    if (typeof name === 'string') return said(`Hello, ${name}!`);
    return inputRequired({ inputRequests: { user_name: form('What is your name?', 'name') } });
  }],
  test_input_required_result_sampling: ['Asks a model', (_, ctx) => {
    const answer = told(ctx, 'capital_question');
    if (answer.kind === 'missing') return inputRequired({ inputRequests: { capital_question: sample('What is the capital of France?', 100) } });
    return said(`The model said: ${JSON.stringify(ctx.mcpReq.inputResponses.capital_question.content)}`);
  }],
  test_input_required_result_list_roots: ['Asks for roots', (_, ctx) => {
    const roots = ctx.mcpReq.inputResponses?.client_roots?.roots;
    if (!roots) return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    return said(`Roots: ${roots.map(({ uri }) => uri).join(', ')}`);
  }],
  test_input_required_result_request_state: ['Asks, with a state', async (_, ctx) => {
    if (ctx.mcpReq.requestState()?.step === 1 && accepted(ctx, 'confirm')) return said('state-ok');
    return inputRequired({ inputRequests: { confirm: form('Please confirm', 'ok', 'boolean') }, requestState: await states.mint({ step: 1 }) });
  }],
  test_input_required_result_tampered_state: ['Asks, with a state that must come back whole', async (_, ctx) => {
    if (ctx.mcpReq.requestState()?.step === 1) return said('state-ok');
    return inputRequired({ inputRequests: { confirm: form('Please confirm', 'ok', 'boolean') }, requestState: await states.mint({ step: 1 }) });
  }],
  test_input_required_result_multiple_inputs: ['Asks for three things at once', async (_, ctx) => {
    if (['user_name', 'greeting', 'client_roots'].every((key) => ctx.mcpReq.inputResponses?.[key])) return said('All there.');
    return inputRequired({
      inputRequests: {
        user_name: form('What is your name?', 'name'), greeting: sample('Generate a greeting', 50), client_roots: inputRequired.listRoots(),
      },
      requestState: await states.mint({ step: 1 }),
    });
  }],
  test_input_required_result_multi_round: ['Asks twice', async (_, ctx) => {
    const step = ctx.mcpReq.requestState()?.step;
    if (step === 2 && accepted(ctx, 'step2')) return said('Both steps done.');
    if (step === 1 && accepted(ctx, 'step1')) {
      return inputRequired({ inputRequests: { step2: form('Step 2: What is your favorite color?', 'color') }, requestState: await states.mint({ step: 2 }) });
    }
    return inputRequired({ inputRequests: { step1: form('Step 1: What is your name?', 'name') }, requestState: await states.mint({ step: 1 }) });
  }],
  test_input_required_result_capabilities: ['Asks only what the client can answer', (_, ctx) => {
    const able = ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
    if (ctx.mcpReq.inputResponses) return said('Answered.');
    const inputRequests = {
      ...(able.elicitation ? { user_name: form('What is your name?', 'name') } : {}),
      ...(able.sampling ? { greeting: sample('Generate a greeting', 50) } : {}),
      ...(able.roots ? { client_roots: inputRequired.listRoots() } : {}),
    };
    return Object.keys(inputRequests).length ? inputRequired({ inputRequests }) : said('There is nobody to ask.');
  }],
};

let handler;
const CHANGES = {
  test_trigger_tool_change: () => handler.notify.toolsChanged(),
  test_trigger_prompt_change: () => handler.notify.promptsChanged(),
};

const PROMPTS = {
  test_simple_prompt: ['A prompt', {}, () => [user(text('This is a simple prompt for testing.'))]],
  test_prompt_with_arguments: ['A prompt with arguments', {
    arg1: completable(z.string(), (value) => ['paris', 'park', 'party'].filter((each) => each.startsWith(value))), arg2: z.string(),
  }, ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))]],
  test_prompt_with_embedded_resource: ['A prompt with a resource', { resourceUri: z.string() }, ({ resourceUri }) => [
    user({ type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } }),
    user(text('Please process the embedded resource above.'))]],
  test_prompt_with_image: ['A prompt with a picture', {}, () => [user(image), user(text('Please analyze the image above.'))]],
};

const RESOURCES = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched resource content.' },
};

function newServer() {
  const server = new McpServer({ name: 'conformance-server', version: '2.0.0' }, {
    capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {}, completions: {} },
    requestState: { verify: states.verify },
  });
  for (const [name, [description, run]] of Object.entries(TOOLS)) {
    server.registerTool(name, { description, inputSchema: z.object({}) }, run);
  }
  for (const [name, change] of Object.entries(CHANGES)) {
    server.registerTool(name, { description: 'Changes something', inputSchema: z.object({}) }, () => {
      change();
      return said('Changed.');
    });
  }
  for (const [name, [description, shape, make]] of Object.entries(PROMPTS)) {
    server.registerPrompt(name, { description, argsSchema: z.object(shape) }, (given) => ({ messages: make(given) }));
  }
  server.registerPrompt('test_input_required_result_prompt', { description: 'A prompt that asks', argsSchema: z.object({}) }, (_, ctx) => {
    const context = accepted(ctx, 'user_context')?.context;
    if (context === undefined) return inputRequired({ inputRequests: { user_context: form('What context should the prompt use?', 'context') } });
    return { messages: [user(text(`In the context of ${context}`))] };
  });
  for (const [uri, content] of Object.entries(RESOURCES)) {
    server.registerResource(uri.slice(7), uri, { description: uri, mimeType: content.mimeType }, () => ({ contents: [{ uri, ...content }] }));
  }
  server.registerResource('template', new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'By id', mimeType: 'application/json' }, (uri, { id }) => ({ contents: [{
      uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    }] }));
  return server;
}

handler = createMcpHandler(newServer);
serveFetch(handler);
