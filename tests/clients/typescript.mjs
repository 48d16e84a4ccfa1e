// Takes the steps of steps.json with a TypeScript SDK and prints what came back, as one JSON object.
// node typescript.mjs PACKAGE MODE SITE STEPS: the first three as connecting.mjs takes them.
import { readFileSync } from 'node:fs';
import { newClient, newTransport, watch } from './connecting.mjs';

const [, , name, mode, site, file] = process.argv;
const steps = JSON.parse(readFileSync(file, 'utf8'));

async function codeOf(promise) {
  try {
    await promise;
  } catch (error) {
    return error.code;
  }
  return null;
}

const client = await newClient(name, mode);
const transport = await newTransport(name, site);
// The clients of 1.x do not tell the revision that was agreed upon.
let agreed;
watch(transport, (message) => {
  agreed ??= message.result?.protocolVersion;
});
await client.connect(transport);

const seen = { calls: [], reads: [], prompts: [], completions: [] };
seen.revision = client.getNegotiatedProtocolVersion?.() ?? agreed;
seen.listed = {
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  resources: (await client.listResources()).resources.map((resource) => resource.uri),
  templates: (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate),
  prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
};
for (const step of steps.calls) {
  const result = await client.callTool({ name: step.name, arguments: step.arguments });
  seen.calls.push({ content: result.content, isError: result.isError ?? false });
}
for (const step of steps.reads) {
  seen.reads.push((await client.readResource({ uri: step.uri })).contents);
}
for (const step of steps.prompts) {
  seen.prompts.push((await client.getPrompt({ name: step.name, arguments: step.arguments })).messages);
}
for (const step of steps.completions) {
  seen.completions.push((await client.complete({ ref: step.ref, argument: step.argument })).completion.values);
}
seen.errors = {
  tool: await codeOf(client.callTool({ name: 'no_such_tool', arguments: {} })),
  resource: await codeOf(client.readResource({ uri: 'test://no-such-resource' })),
  prompt: await codeOf(client.getPrompt({ name: 'no_such_prompt', arguments: {} })),
};
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify(seen));
