import { fork } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { LENGTH } from './proxy-upstream.mjs'

const CHILD = join(import.meta.dirname, 'proxy-child.mjs')
const IN_FLIGHT = 64
/** How many requests warm up a proxy: by count, since a busy machine makes few in any time. Then how long a turn is, and how many there are. */
const WARM_UP = 10_000
const TURN = 400
const TURNS = 8

const HEADERS = 'Host: 127.0.0.1:9\r\nUser-Agent: bench\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n\r\n'
const PLAIN = `GET http://127.0.0.1:9/some/path?x=1 HTTP/1.1\r\n${HEADERS}`
const INNER = `GET /some/path?x=1 HTTP/1.1\r\n${HEADERS}`
const CONNECT = 'CONNECT 127.0.0.1:9 HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n'

/** @typedef {'plain' | 'tunnel'} Mode */

/** The url of an upstream proxy in a process of its own. */
export const startUpstream = async () => `http://127.0.0.1:${(await startChild('upstream', '')).port}`

/** @param {string} kind @param {string} upstream */
export async function startChild(kind, upstream) {
  const child = fork(CHILD, [kind, upstream], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const told = () => new Promise((resolve) => child.once('message', resolve))
  const { port } = /** @type {{ port: number }} */ (await told())
  return {
    port,
    /** Returns bytes of memory, after a garbage collection if `clean` is true, and microseconds of processor time. @returns {Promise<{ rss: number, heap: number, cpu: number }>} */
    spent(clean = false) {
      const answer = told()
      child.send(clean ? 'clean' : 'as it is')
      return /** @type {Promise<{ rss: number, heap: number, cpu: number }>} */ (answer)
    },
    end: () => child.kill(),
  }
}

/** Connections that ask again as soon as they are answered, in turns. */
export class Clients {
  /** @param {number} port @param {Mode} mode */
  constructor(port, mode) {
    this.port = port
    this.mode = mode
    this.done = 0
    this.more = () => false
    this.pending = 0
    this.quiet = () => {}
    /** @type {import('node:net').Socket[]} */
    this.sockets = []
  }

  /** Opens them; through tunnels, once those stand. */
  async open(count = IN_FLIGHT) {
    for (let i = 0; i < count; i += 100)
      await Promise.all(Array.from({ length: Math.min(100, count - i) }, () => this.add()))
  }

  add() {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, '127.0.0.1')
      socket.setNoDelay(true)
      socket.on('error', reject)
      let open = false
      let head = ''
      let left = -1
      socket.on('connect', () => (this.mode === 'plain' ? resolve((open = true)) : socket.write(CONNECT)))
      socket.on('data', (data) => {
        if (!open) return resolve((open = true))
        if (left < 0) {
          head += data.toString('latin1')
          const end = head.indexOf('\r\n\r\n')
          if (end < 0) return
          if (!head.startsWith('HTTP/1.1 200')) return reject(new Error(head.slice(0, 100)))
          left = LENGTH - (head.length - end - 4)
          head = ''
        } else left -= data.length
        if (left === 0) {
          left = -1
          this.answered(socket)
        }
      })
      this.sockets.push(socket)
    })
  }

  /** @param {import('node:net').Socket} socket */
  answered(socket) {
    this.done++
    if (this.more()) this.ask(socket)
    else if (--this.pending === 0) this.quiet()
  }

  /** @param {import('node:net').Socket} socket */
  ask(socket) {
    socket.write(this.mode === 'plain' ? PLAIN : INNER)
  }

  /** Microseconds per request over a turn. */
  async turn(ms = TURN) {
    const start = performance.now()
    const before = this.done
    await this.run(() => performance.now() < start + ms)
    return ((performance.now() - start) * 1000) / (this.done - before)
  }

  /** Makes so many requests. @param {number} count */
  requests(count) {
    const enough = this.done + count
    return this.run(() => this.done < enough)
  }

  /** @param {() => boolean} more whether to go on */
  run(more) {
    this.more = more
    this.pending = this.sockets.length
    return new Promise((resolve) => {
      this.quiet = () => resolve(undefined)
      for (const socket of this.sockets) this.ask(socket)
    })
  }

  close() {
    for (const socket of this.sockets) socket.destroy()
  }
}

/**
 * Compares the time per request of this proxy with that of the other proxy. Both are measured alternately with the same
 * upstream: the time that a client observes, and the processor time of the proxy.
 *
 * @param {Mode} mode @param {string} kind the configuration of this proxy
 * @returns {Promise<{ ratio: number[], each: number[], cpu: number[] }>} `ratio` to the time of the other proxy, `each` in nanoseconds, `cpu` as a ratio
 */
export async function against(mode, kind) {
  const upstream = await startUpstream()
  const own = await startSide(kind, upstream, mode)
  const rival = await startSide('proxy-chain', upstream, mode)
  const ratio = []
  const each = []
  const cpu = []
  for (let i = 0; i < TURNS; i++) {
    const ours = await own.turn()
    const theirs = await rival.turn()
    ratio.push(ours.took / theirs.took)
    each.push(ours.took * 1000)
    cpu.push(ours.cpu / theirs.cpu)
  }
  own.end()
  rival.end()
  return { ratio, each, cpu }
}

/** @param {string} kind @param {string} upstream @param {Mode} mode */
async function startSide(kind, upstream, mode) {
  const child = await startChild(kind, upstream)
  const clients = new Clients(child.port, mode)
  await clients.open()
  await clients.requests(WARM_UP)
  return {
    end: child.end,
    async turn() {
      const before = await child.spent()
      const done = clients.done
      const took = await clients.turn()
      const after = await child.spent()
      return { took, cpu: (after.cpu - before.cpu) / (clients.done - done) }
    },
  }
}
