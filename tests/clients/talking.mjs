// Does what talking.json says with a TypeScript SDK and prints what was said, as one JSON object.
// node talking.mjs PACKAGE MODE SITE OTHER STEPS: the first three as connecting.mjs takes them; a call to the OTHER site
// is cancelled.
import { readFileSync } from 'node:fs';
import { newClient, newTransport } from './connecting.mjs';

const [, , name, mode, site, other, file] = process.argv;
const steps = JSON.parse(readFileSync(file, 'utf8'));
const isCurrent = name === 'client';
const types = isCurrent ? {} : await import('@modelcontextprotocol/sdk/types.js');
const seen = { texts: [], logged: [], reported: [] };

const answers = {
  'elicitation/create': ({ params }) => {
    const names = Object.keys(params.requestedSchema.properties);
    return { action: 'accept', content: Object.fromEntries(names.map((each) => [each, steps.answers[each]])) };
  },
  'sampling/createMessage': () => ({
    role: 'assistant',
    content: { type: 'text', text: steps.sampled },
    model: 'm',
    stopReason: 'endTurn',
  }),
  'roots/list': () => ({ roots: [steps.root] }),
};
const schemas = {
  'elicitation/create': types.ElicitRequestSchema,
  'sampling/createMessage': types.CreateMessageRequestSchema,
  'roots/list': types.ListRootsRequestSchema,
};

async function connected(address) {
  const client = await newClient(name, mode, { capabilities: { elicitation: {}, sampling: {}, roots: {} } });
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(isCurrent ? method : schemas[method], async (request) => answer(request));
  }
  const method = 'notifications/message';
  client.setNotificationHandler(isCurrent ? method : types.LoggingMessageNotificationSchema, ({ params }) => {
    seen.logged.push(params.data);
  });
  await client.connect(await newTransport(name, address));
  return client;
}

async function textOf(client, tool, given, options) {
  const params = { name: tool, arguments: given };
  if (mode !== 'legacy') params._meta = { 'io.modelcontextprotocol/logLevel': 'info' };
  const result = await (isCurrent ? client.callTool(params, options) : client.callTool(params, undefined, options));
  return result.content[0].text;
}

const client = await connected(site);
for (const step of steps.calls) seen.texts.push(await textOf(client, step.name, step.arguments));
const onprogress = ({ progress }) => seen.reported.push(progress);
await textOf(client, 'test_tool_with_progress', {}, { onprogress });

const second = await connected(other);
const outcome = () => textOf(second, 'outcome', { label: 'cancelled' });
const untilItIs = async (wanted) => {
  const end = Date.now() + 30000;
  let found;
  do {
    found = await outcome();
  } while (found !== wanted && Date.now() < end);
  return found;
};
const controller = new AbortController();
const call = textOf(second, 'aslow', { label: 'cancelled', seconds: 60 }, { signal: controller.signal });
const failed = call.then(
  () => false,
  () => true,
);
await untilItIs('running');
controller.abort('changed my mind');
seen.gaveUp = await failed;
seen.cancelled = await untilItIs('cancelled');
for (const each of [client, second]) {
  await each.transport.terminateSession?.();
  await each.close();
}
console.log(JSON.stringify(seen));
