// Hears of changes with a TypeScript SDK and prints the notifications of each part, as one JSON object.
// node live.mjs PACKAGE MODE SITE URI: the first three as connecting.mjs takes them.
import { newClient, newTransport, watch } from './connecting.mjs';

const [, , name, mode, site, uri] = process.argv;
const LIMIT = 20000;

const heard = [];
let wake = () => {};
const transport = await newTransport(name, site);
watch(transport, (message) => {
  if (message.method && message.id === undefined) {
    heard.push(message);
    wake();
  }
});

// What has been heard, once the last of it is what is waited for; prompts only tell that something is open.
async function upTo(method, what = method) {
  const end = Date.now() + LIMIT;
  while (!heard.some((one) => one.method === `notifications/${method}`)) {
    if (Date.now() > end) throw new Error(`No ${what} within ${LIMIT} ms: ${JSON.stringify(heard)}`);
    await Promise.race([new Promise((done) => (wake = done)), new Promise((done) => setTimeout(done, 200))]);
  }
  return heard
    .splice(0)
    .map((one) => [one.method.replace('notifications/', ''), one.params?.uri ?? null])
    .filter(([each]) => each !== 'subscriptions/acknowledged');
}

const trigger = (change) => client.callTool({ name: `test_trigger_${change}`, arguments: {} });
const client = await newClient(name, mode);
await client.connect(transport);
const seen = {};
if (mode === 'legacy') {
  await client.subscribeResource({ uri });
  // The client opens its stream beside everything else.
  const repeat = setInterval(() => trigger('prompt_change'), 300);
  await upTo('prompts/list_changed');
  clearInterval(repeat);
  await trigger('resource_update');
  await trigger('tool_change');
  seen.subscribed = await upTo('tools/list_changed');
  await client.unsubscribeResource({ uri });
} else {
  const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri, 'no://such'] });
  seen.honoured = subscription.honoredFilter;
  await trigger('prompt_change');
  await trigger('resource_update');
  await trigger('tool_change');
  seen.subscribed = await upTo('tools/list_changed');
  await subscription.close();
}
await trigger('resource_update');
if (mode === 'legacy') {
  await trigger('tool_change');
  seen.after = await upTo('tools/list_changed');
} else {
  const other = await client.listen({ promptsListChanged: true });
  await trigger('prompt_change');
  seen.after = await upTo('prompts/list_changed');
  await other.close();
}
seen.subscribed = seen.subscribed.filter(([each]) => each !== 'prompts/list_changed' || mode !== 'legacy');
seen.after = seen.after.filter(([each]) => each !== 'prompts/list_changed' || mode !== 'legacy');
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify(seen));
