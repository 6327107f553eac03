import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** How many read the event stream, and how many events there are in a second. */
const READERS = 500
const EVENTS = 50

/** How long each side is measured, and how often. */
const SPAN = 1500
const ROUNDS = 5

/** Reads the stream from another process, so many at a time, when it is told to. */
const READER = `
  const http = require('node:http')
  let open = []
  process.on('message', async ({ url, readers }) => {
    for (const request of open) request.destroy()
    open = []
    await Promise.all(Array.from({ length: readers }, () => new Promise((resolve) => {
      const request = http.get(url, { agent: false }, (answer) => { answer.resume(); resolve() })
      request.on('error', () => {})
      open.push(request)
    })))
    process.send('ready')
  })`

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** @param {object} config */
async function opened(config) {
  const { Holdfast } = await import('@holdfast/runtime')
  const { serve } = await import('@holdfast/server')
  const hf = await Holdfast.open({ config: { version: '1.1.0', ...config }, env: {}, watch: false })
  return { hf, server: await serve(hf, { port: 0, dashboard: false }) }
}

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

/**
 * Measures how many times as long calls take with readers as without, in a process that is always busy, so that the time for
 * readers is not available for calls. Processor time is measured, because the machine may be busy with other processes.
 */
async function withReaders() {
  const { hf, server } = await opened(QUICK)
  const child = spawn(process.execPath, ['-e', READER], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const read = async (/** @type {number} */ readers) => {
    child.send({ url: `${server.url}/api/v1/events`, readers })
    await once(child, 'message')
  }
  const fail = () => hf.run('quick', () => Promise.reject(new Error('down'))).catch(() => {})
  const events = setInterval(() => void fail(), (1000 * 3) / EVENTS)
  const share = async () => {
    const start = performance.now()
    const before = process.cpuUsage()
    await new Promise((resolve) => setTimeout(resolve, SPAN))
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000 / (performance.now() - start)
  }
  await read(READERS)
  await share()
  const ratio = []
  for (let i = 0; i < ROUNDS; i++) {
    await read(0)
    const without = await share()
    await read(READERS)
    ratio.push(1 / (1 - Math.max(0, (await share()) - without)))
  }
  clearInterval(events)
  child.kill()
  await server.close()
  await hf.close()
  return { samples: { ratio } }
}

/** How long the slowest of the questions takes over a day with a million attempts. */
async function questions() {
  const { hf, server } = await opened(QUICK)
  for (let done = 0; done < 1_000_000; done += 3 * 500) {
    await Promise.all(
      Array.from({ length: 500 }, () =>
        hf.run('quick', () => Promise.reject(new Error('down'))).catch(() => {}),
      ),
    )
    await turn()
  }
  const ask = async (/** @type {string} */ path) => {
    const start = performance.now()
    const answer = await fetch(`${server.url}/api/v1${path}`)
    await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`)
    return performance.now() - start
  }
  const day = new Date(Date.now() - 86_400_000).toISOString()
  const paths = [
    '/metrics/retries',
    '/metrics/retries/timeseries?hours=24',
    '/metrics/retries/by-proxy?hours=24',
    `/metrics/window?from=${day}`,
    '/sessions?limit=100',
    '/sessions?limit=100&success=false&operation=quick',
    '/errors?severity=ERROR&limit=100',
  ]
  const slowest = []
  for (let i = 0; i < 10; i++) {
    const took = []
    for (const path of paths) took.push(await ask(path))
    if (i > 0) slowest.push(Math.max(...took))
  }
  await server.close()
  await hf.close()
  return { samples: { slowest } }
}

/** How long a page of a thousand takes, of a hundred thousand breakers. */
async function pages() {
  const members = Array.from({ length: 100_000 }, (_, i) => ({
    id: `m${i}`,
    url: `http://10.${i >> 16}.${(i >> 8) & 255}.${i & 255}:80`,
  }))
  const { hf, server } = await opened({ pools: { big: { members } } })
  const page = []
  let [seen, cursor] = [0, '']
  do {
    const start = performance.now()
    const answer = await fetch(`${server.url}/api/v1/circuit-breakers?limit=1000${cursor}`)
    const body = /** @type {{ circuit_breakers: object[], cursor?: string }} */ (await answer.json())
    page.push(performance.now() - start)
    seen += body.circuit_breakers.length
    cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
  } while (cursor !== '')
  await server.close()
  await hf.close()
  return { samples: { page }, checks: { 'each breaker once': seen === 100_000 } }
}

/** @type {import('./index.mjs').Case[]} */
export const server = [
  {
    name: 'server-readers',
    title: 'Calls while 500 clients read the event stream',
    note: `Processor time with ${EVENTS} events per second, compared with the same load without readers.`,
    metrics: [{ key: 'ratio', title: '× without', unit: 'times', spread: true }],
    rounds: 1,
    subjects: [{ label: 'holdfast', bounds: { ratio: 1.05 }, measure: withReaders }],
  },
  {
    name: 'server-questions',
    title: 'Queries over a day with a million attempts',
    note: 'The slowest of seven queries over HTTP: metrics, sessions and errors, with the memory store.',
    metrics: [{ key: 'slowest', title: 'slowest', unit: 'milliseconds', spread: true }],
    rounds: 1,
    subjects: [{ label: 'holdfast', bounds: { slowest: 100 }, measure: questions }],
  },
  {
    name: 'server-pages',
    title: 'Pages of 100,000 breakers',
    note: 'A page of 1,000 breakers, over HTTP.',
    metrics: [{ key: 'page', title: 'per page', unit: 'milliseconds', spread: true }],
    rounds: 1,
    subjects: [{ label: 'holdfast', measure: pages }],
  },
  {
    name: 'telemetry',
    title: 'A call that succeeds, with telemetry',
    note:
      'Against the same call of a runtime without telemetry. Where OpenTelemetry is not installed, calls use the ' +
      'same functions as without telemetry; a test checks that.',
    metrics: [
      { key: 'perCall', title: 'per call', unit: 'nanoseconds' },
      { key: 'ratio', title: '× without', unit: 'times', spread: true },
    ],
    rounds: 3,
    subjects: [
      {
        label: 'Prometheus, read every second',
        bounds: { ratio: 1.2 },
        measure: async () => (await import('../measure/telemetry.mjs')).prometheus(),
      },
      {
        label: 'OpenTelemetry installed, without an SDK',
        measure: async () => (await import('../measure/telemetry.mjs')).openTelemetryAlone(),
      },
    ],
  },
]
