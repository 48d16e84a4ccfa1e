// A client of a TypeScript SDK and its transport. PACKAGE is client (2.x), sdk (1.x) or an older one of package.json
// (sdk-1.10.2), MODE is legacy, auto or a revision to pin, SITE is a URL or, as JSON, the process to talk to over stdio.
const folderOf = (name) => `${name === 'sdk' ? '@modelcontextprotocol/sdk' : name}/client`;

export async function newTransport(name, site) {
  const isCurrent = name === 'client';
  if (site.startsWith('{')) {
    const { StdioClientTransport } = await import(
      isCurrent ? '@modelcontextprotocol/client/stdio' : `${folderOf(name)}/stdio.js`
    );
    return new StdioClientTransport(JSON.parse(site));
  }
  const { StreamableHTTPClientTransport } = await import(
    isCurrent ? '@modelcontextprotocol/client' : `${folderOf(name)}/streamableHttp.js`
  );
  return new StreamableHTTPClientTransport(new URL(site));
}

export async function newClient(name, mode, options = {}) {
  const info = { name: 'typescript-driver', version: '1.0.0' };
  if (name !== 'client') {
    const { Client } = await import(`${folderOf(name)}/index.js`);
    return new Client(info, options);
  }
  const { Client } = await import('@modelcontextprotocol/client');
  const negotiation = mode === 'legacy' || mode === 'auto' ? mode : { pin: mode };
  return new Client(info, { ...options, versionNegotiation: { mode: negotiation } });
}

// Shows every message to see(message) before the client gets it, which has to be asked for before it connects.
export function watch(transport, see) {
  let deliver;
  Object.defineProperty(transport, 'onmessage', {
    get: () => deliver,
    set(handler) {
      deliver =
        handler &&
        ((message, ...extra) => {
          see(message);
          handler(message, ...extra);
        });
    },
  });
}
