// One run of the soak test: starts all processes, samples them, stops the load, and compares what all of them have seen.
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { root } from '../packages.mjs'
import { findFreePort } from '../servers/ports.mjs'
import { PostgresServer } from '../servers/postgres.mjs'
import { findRedis, RedisServer } from '../servers/redis.mjs'
import { startServer } from '../servers/supervise.mjs'
import { proxyConfig, serverConfig } from './configs.mjs'
import { prepareFolder } from './folder.mjs'
import { checkCounters, checkDeadLetters } from './ledger.mjs'
import { FLEET, REFERENCE } from './names.mjs'
import { countDescriptors, processorWait, residentMemory } from './process-files.mjs'

const SAMPLE_MS = 5000
const STORE_SAMPLE_MS = 30_000
const SERVICES = 4
const UPSTREAM_PROXIES = 4
/** How long the remaining dead letters may take after the load has ended: longer than a lease of 5 minutes. */
const DRAIN_TIMEOUT_MS = 360_000

const here = join(root, 'scripts/soak')

/** @typedef {import('../servers/supervise.mjs').SupervisedProcess} Started */
/** @typedef {{ process: Started, control?: string }} Part */

/** Requests an action of a process. @param {string} url @param {number} [timeoutMs] */
async function control(url, timeoutMs = 60_000) {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
  const value = /** @type {any} */ (await response.json())
  if (!response.ok) throw new Error(`${url}: ${value.problem}`)
  return value
}

/** All processes of a run. */
export class SoakRun {
  /** @type {Map<string, Part>} */
  parts = new Map()
  /** @type {RedisServer | undefined} */
  redis
  /** @type {PostgresServer | undefined} */
  postgres
  #isEnding = false
  /** @type {string[]} */
  ended = []

  /** @param {{ folder: string, seed: number, rate: number }} options */
  constructor({ folder, seed, rate }) {
    this.folder = folder
    this.seed = seed
    this.rate = rate
    this.samples = prepareFolder(folder)
    this.ledger = join(folder, 'ledger.txt')
    this.sqlite = join(folder, 'server.db')
    writeFileSync(this.ledger, '')
  }

  /** @param {string} name @param {{ args: readonly string[], env?: NodeJS.ProcessEnv, isReady?: (output: string) => boolean, cwd?: string, controlPort?: number }} options */
  async #start(name, { args, env = {}, isReady = (output) => output.includes('ready'), cwd, controlPort }) {
    const started = await startServer({
      name,
      command: process.execPath,
      args,
      ...(cwd !== undefined && { cwd }),
      env: {
        ...env,
        NODE_OPTIONS: `--import ${pathToFileURL(join(here, 'sampler.mjs')).href}`,
        SOAK_NAME: name,
        SOAK_SAMPLES: this.samples,
        SOAK_INTERVAL_MS: String(SAMPLE_MS),
        SOAK_LEDGER: this.ledger,
        ...(controlPort !== undefined && { SOAK_CONTROL_PORT: String(controlPort) }),
      },
      isReady,
    })
    started.exited.then(
      ({ code, signal }) => {
        if (!this.#isEnding)
          this.ended.push(
            `${name} ended with ${signal ?? `exit code ${code}`}:\n${started.output.slice(-2000)}`,
          )
      },
      () => {},
    )
    this.parts.set(name, {
      process: started,
      ...(controlPort !== undefined && { control: `http://127.0.0.1:${controlPort}` }),
    })
    return started
  }

  async start() {
    const program = await findRedis(root)
    if (typeof program === 'string') throw new Error(`the soak test requires Redis: ${program}`)
    this.redis = await RedisServer.start(program)
    this.postgres = await PostgresServer.start()
    /** @type {number[]} */
    const ports = []
    for (let i = 0; i < SERVICES + UPSTREAM_PROXIES + 8; i++) ports.push(await findFreePort())
    const servicePorts = ports.splice(0, SERVICES)
    const proxyPorts = ports.splice(0, UPSTREAM_PROXIES)
    const nextPort = () => /** @type {number} */ (ports.pop())

    await this.#start(REFERENCE, { args: [join(here, 'reference.mjs')] })
    await this.#start('upstreams', {
      args: [join(here, 'upstreams.mjs')],
      controlPort: nextPort(),
      env: {
        SOAK_SEED: String(this.seed),
        SOAK_SERVICE_PORTS: servicePorts.join(','),
        SOAK_PROXY_PORTS: proxyPorts.join(','),
      },
    })
    const command = join(root, 'packages/server/dist/cli/main.js')
    const serverFolder = join(this.folder, 'server')
    mkdirSync(serverFolder)
    const store = `sqlite:${this.sqlite}`
    writeFileSync(
      join(serverFolder, 'holdfast.yaml'),
      serverConfig({ store, handlers: join(here, 'orders.mjs'), proxyPorts }),
    )
    const serverPort = nextPort()
    await this.#start('server', {
      args: [command, 'serve', '--port', String(serverPort)],
      cwd: serverFolder,
      isReady: (output) => output.includes('Ctrl-C'),
    })
    const proxyFolder = join(this.folder, 'proxy')
    mkdirSync(proxyFolder)
    const proxyPort = nextPort()
    writeFileSync(join(proxyFolder, 'holdfast.yaml'), proxyConfig({ port: proxyPort, proxyPorts }))
    await this.#start('proxy', {
      args: [command, 'proxy'],
      cwd: proxyFolder,
      isReady: (output) => output.includes('Ctrl-C'),
    })
    this.serverUrl = `http://127.0.0.1:${serverPort}`
    this.proxyUrl = `http://127.0.0.1:${proxyPort}`

    const startNode = (
      /** @type {string} */ name,
      /** @type {object} */ node,
      /** @type {number} */ rate,
    ) => {
      const folder = join(this.folder, name)
      mkdirSync(folder)
      return this.#start(name, {
        args: [join(here, 'node.mjs')],
        controlPort: nextPort(),
        env: {
          SOAK_SEED: String(this.seed + 1000 + this.parts.size),
          SOAK_RATE: String(rate),
          SOAK_FOLDER: folder,
          SOAK_NODE: JSON.stringify({ id: name, servicePorts, ...node }),
        },
      })
    }
    await startNode('worker', { store }, this.rate / 3)
    for (const name of FLEET)
      await startNode(name, { store: this.postgres.url, shared: this.redis.url }, this.rate)
    await this.#start('clients', {
      args: [join(here, 'clients.mjs')],
      controlPort: nextPort(),
      env: {
        SOAK_SEED: String(this.seed + 2000),
        SOAK_RATE: String(this.rate),
        SOAK_SERVER_URL: this.serverUrl,
        SOAK_PROXY_PORT: String(proxyPort),
        SOAK_SERVICE_PORTS: servicePorts.join(','),
        SOAK_MEMBER: `127.0.0.1:${proxyPorts[0]}`,
      },
    })
  }

  /** @param {Record<string, unknown>} sample */
  #write(sample) {
    appendFileSync(this.samples, `${JSON.stringify({ at: Date.now(), ...sample })}\n`)
  }

  async #sampleProcesses() {
    for (const [name, { process: started }] of this.parts)
      if (started.pid !== undefined)
        this.#write({ name, ...(await countDescriptors(started.pid)), ...(await processorWait(started.pid)) })
    const pid = this.redis?.pid
    if (pid !== undefined)
      this.#write({ name: 'redis', ...(await residentMemory(pid)), ...(await countDescriptors(pid)) })
  }

  async #sampleStores() {
    const bytes = ['', '-wal'].reduce(
      (sum, suffix) => sum + (statSync(this.sqlite + suffix, { throwIfNoEntry: false })?.size ?? 0),
      0,
    )
    this.#write({ name: 'sqlite', store: bytes })
    const rows = await this.postgres?.admin('SELECT pg_database_size(current_database()) AS bytes')
    this.#write({ name: 'postgres', store: Number(rows?.[0]?.['bytes']) })
  }

  /** Samples until the time is over. @param {{ endsAt: number, isStopped: () => boolean, onMinute: (minute: number) => void }} options */
  async sample({ endsAt, isStopped, onMinute }) {
    const startedAt = Date.now()
    let storesAt = 0
    let minute = 0
    while (Date.now() < endsAt && !isStopped() && this.ended.length === 0) {
      const tickAt = Date.now()
      await this.#sampleProcesses()
      if (tickAt >= storesAt) {
        storesAt = tickAt + STORE_SAMPLE_MS
        await this.#sampleStores()
      }
      if (Math.floor((tickAt - startedAt) / 60_000) > minute) onMinute(++minute)
      await sleep(Math.max(0, Math.min(tickAt + SAMPLE_MS, endsAt) - Date.now()))
    }
  }

  /** @param {string} name @param {string} path @param {number} [timeoutMs] */
  ask(name, path, timeoutMs) {
    return control(`${this.parts.get(name)?.control}${path}`, timeoutMs)
  }

  /** Replays dead letters until none is waiting. @param {string} name */
  async #drain(name) {
    const deadline = Date.now() + DRAIN_TIMEOUT_MS
    for (;;) {
      const { byStatus } = await this.ask(name, '/replay', DRAIN_TIMEOUT_MS)
      const { pending = 0, failed = 0, replaying = 0 } = byStatus
      if (pending + failed + replaying === 0 || Date.now() > deadline) return
      await sleep(500)
    }
  }

  /** Stops the load and compares what all processes have seen. */
  async check() {
    /** @type {string[]} */
    const problems = [...this.ended]
    if (this.ended.length > 0) return { problems, totals: {} }
    const workers = ['worker', ...FLEET]
    await Promise.all([...workers, 'clients'].map((name) => this.ask(name, '/pause', 120_000)))
    await this.ask('upstreams', '/healthy')
    await Promise.all(['worker', FLEET[0] ?? ''].map((name) => this.#drain(name)))
    await sleep(2000) // The ledger is written once per second.
    const nodes = await Promise.all(workers.map((name) => this.ask(name, '/counts')))
    const clients = await this.ask('clients', '/counts')
    const entries = (
      await Promise.all(['worker', FLEET[0] ?? ''].map((name) => this.ask(name, '/entries')))
    ).flat()
    const ledger = checkDeadLetters(readFileSync(this.ledger, 'utf8').split('\n'), entries)
    problems.push(...ledger.problems)
    nodes.forEach((node, i) => {
      const name = /** @type {string} */ (workers[i])
      const { handled, replayed, replayFailed } = node.counts
      problems.push(
        ...checkCounters(name, node.calls, node.counters, {
          'shop.orders': { succeeded: replayed, failed: replayFailed, handled },
        }),
      )
      const failedOrders = node.calls['shop.orders']?.failed ?? 0
      if (failedOrders !== node.counts.enqueued + node.counts.notStored)
        problems.push(
          `${name}: ${failedOrders} failed orders, but ${node.counts.enqueued} dead letters and ${node.counts.notStored} reports that one was not stored`,
        )
      if (node.fleet !== undefined && (!node.fleet.up || node.fleet.nodes !== FLEET.length))
        problems.push(`${name}: the fleet is ${JSON.stringify(node.fleet)}`)
    })
    problems.push(...(await this.#checkServer(clients)))
    return {
      problems,
      totals: {
        calls: nodes
          .flatMap(({ calls }) => Object.values(calls))
          .reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0),
        failedCalls: nodes
          .flatMap(({ calls }) => Object.values(calls))
          .reduce((sum, { failed }) => sum + failed, 0),
        retries: nodes
          .flatMap(({ counters }) => Object.values(counters))
          .reduce((sum, { retries }) => sum + retries, 0),
        breakersOpened: nodes
          .flatMap(({ breakers }) => Object.values(breakers))
          .reduce((sum, { open }) => sum + open, 0),
        reloads: nodes.reduce((sum, { counts }) => sum + counts.reloads, 0),
        deadLetters: ledger.added,
        completedDeadLetters: ledger.completed,
        unrecordedReplays: nodes.reduce((sum, { counts }) => sum + counts.handled - counts.replayed, 0),
        ...clients.counts,
      },
      details: { nodes: Object.fromEntries(nodes.map((node, i) => [workers[i], node])), clients },
    }
  }

  /** Compares the counters of the server and of the proxy with those of their clients. @param {any} clients */
  async #checkServer({ counts, problems: seen }) {
    /** @type {string[]} */
    const problems = []
    const text = await (await fetch(`${this.serverUrl}/metrics`)).text()
    const calls = [...text.matchAll(/^holdfast_calls_total\{[^}]*operation="request"[^}]*\} (\d+)/gm)].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    )
    // The server may have counted a request whose client got no response.
    if (calls < counts.requestResponses || calls > counts.requests)
      problems.push(
        `server: counted ${calls} calls of request, expected ${counts.requestResponses} to ${counts.requests}`,
      )
    const status = /** @type {any} */ (
      await (await fetch(`${this.proxyUrl}/`, { headers: { accept: 'application/json' } })).json()
    )
    if (status.requests !== counts.proxyRequests)
      problems.push(`proxy: counted ${status.requests} requests, expected ${counts.proxyRequests}`)
    if (status.tunnels !== counts.tunnels)
      problems.push(`proxy: counted ${status.tunnels} tunnels, expected ${counts.tunnels}`)
    const errors =
      counts.proxyErrors +
      counts.requestErrors +
      counts.restErrors +
      counts.serverErrors +
      counts.readerErrors
    if (errors > 0) problems.push(`${errors} unexpected errors of clients: ${seen.join('; ')}`)
    return problems
  }

  async stop() {
    this.#isEnding = true
    await Promise.all([...this.parts.values()].map(({ process: started }) => started.end('SIGKILL')))
    await Promise.all([this.redis?.kill(), this.postgres?.remove()])
  }
}

/** The packages must be built. */
export function assertBuilt() {
  if (!existsSync(join(root, 'packages/server/dist/cli/main.js')))
    throw new Error('the packages are not built: run npm run build')
}

/** The commit of the sources, for the report. */
export const commitOf = () =>
  spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).stdout.trim()
