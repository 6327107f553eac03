/** @param {import('../measure/proxy.mjs').Mode} mode @param {string} [kind] */
const against = async (mode, kind = 'holdfast') => {
  const { against: measure } = await import('../measure/proxy.mjs')
  return { samples: await measure(mode, kind) }
}

/** @type {import('./index.mjs').Case} */
export const proxy = {
  name: 'proxy',
  title: 'The forward proxy',
  note:
    'Requests for 1 kB on loopback, 64 in flight, through one upstream proxy that responds itself, alternating ' +
    'with proxy-chain; each of the three is a process. Holdfast selects a member, acquires a permit of its ' +
    'breaker and records the result for each request; `holdfast proxy` is the command, with the policies, ' +
    'records and metrics of a runtime.',
  metrics: [
    { key: 'each', title: 'per request', unit: 'nanoseconds' },
    { key: 'ratio', title: '÷ proxy-chain', unit: 'times', spread: true },
    { key: 'cpu', title: 'processor ÷ proxy-chain', unit: 'times', spread: true },
  ],
  rounds: 2,
  subjects: [
    { label: 'absolute form', bounds: { ratio: 0.667 }, measure: () => against('plain') },
    {
      label: 'absolute form, holdfast proxy',
      bounds: { ratio: 0.667 },
      measure: () => against('plain', 'command'),
    },
    { label: 'kept-alive CONNECT', bounds: { ratio: 1 }, measure: () => against('tunnel') },
  ],
}

const WARM = 20_000
const REQUESTS = 200_000
const TUNNELS = 5000

/** @type {import('./index.mjs').Case} */
export const proxyMemory = {
  name: 'proxy-memory',
  title: 'The memory of the forward proxy',
  note:
    'The heap of its process after this number of requests, 64 in flight, divided by that after 20,000 ' +
    'requests; and the memory of the process with idle tunnels.',
  metrics: [
    { key: 'heap', title: 'heap', unit: 'times' },
    { key: 'memory', title: 'memory', unit: 'bytes' },
  ],
  rounds: 1,
  subjects: [
    {
      label: '200,000 requests',
      bounds: { heap: 1.2 },
      async measure() {
        const { Clients, startChild, startUpstream } = await import('../measure/proxy.mjs')
        const child = await startChild('holdfast', await startUpstream())
        const clients = new Clients(child.port, 'plain')
        await clients.open()
        await clients.requests(WARM)
        const before = await child.spent(true)
        await clients.requests(REQUESTS)
        const after = await child.spent(true)
        child.end()
        return { samples: { heap: [after.heap / before.heap], memory: [after.rss] } }
      },
    },
    {
      label: '5,000 idle tunnels',
      bounds: { memory: 400_000_000 },
      async measure() {
        const { Clients, startChild, startUpstream } = await import('../measure/proxy.mjs')
        const child = await startChild('holdfast', await startUpstream())
        const before = await child.spent(true)
        const clients = new Clients(child.port, 'tunnel')
        await clients.open(TUNNELS)
        const { rss, heap } = await child.spent(true)
        child.end()
        return { samples: { memory: [rss], heap: [heap / before.heap] } }
      },
    },
  ],
}
