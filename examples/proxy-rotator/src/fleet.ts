import { once } from 'node:events'
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { systemClock } from 'holdfast/internal'

/** What a proxy is like. */
export type Kind = 'good' | 'slow' | 'refusing' | 'banned' | 'flapping'

/** Those that never do any good. */
const BAD: readonly Kind[] = ['slow', 'refusing', 'banned']

/** How long a slow one takes: longer than any policy waits. */
const SLOWNESS = 20_000

/** How long connections are kept: longer than the run, so that a proxy fails only where it is meant to. */
const MAX_RESULTS = 120_000

/** How often in a row a flapping one fails, and then does not. */
const STREAK = 4

/** What every proxy asks for. It must turn up nowhere else. */
export const PASSWORD = 'wide-open-sesame'
const AUTHORIZATION = `Basic ${Buffer.from(`collector:${PASSWORD}`).toString('base64')}`

/** A small HTTP proxy on a port of its own, which counts what arrives at it. */
export class Upstream {
  readonly id: string
  readonly kind: Kind
  readonly region: string
  /** Requests and tunnels; for one that refuses, connections. */
  arrived = 0
  private readonly server: Server

  constructor(id: string, kind: Kind, region: string, agent: Agent) {
    this.id = id
    this.kind = kind
    this.region = region
    this.server = createServer({ keepAliveTimeout: MAX_RESULTS }, (req, res) => this.answer(req, res, agent))
    this.server.on('connect', (req: IncomingMessage, socket: Duplex) => this.tunnel(req, socket))
    if (kind === 'refusing')
      this.server.on('connection', (socket: Socket) => {
        this.arrived++
        socket.resetAndDestroy()
      })
  }

  async listen(): Promise<this> {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    return this
  }

  /** Its address with credentials, as lists of proxies have it. */
  get url(): string {
    return `http://collector:${PASSWORD}@127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }

  /** What it says instead of doing its work; undefined where it does it. */
  private refusal(req: IncomingMessage): number | undefined {
    this.arrived++
    if (req.headers['proxy-authorization'] !== AUTHORIZATION) return 407
    if (this.kind === 'banned') return 403
    const failing = Math.floor((this.arrived - 1) / STREAK) % 2 === 0
    return this.kind === 'flapping' && failing ? 503 : undefined
  }

  private answer(req: IncomingMessage, res: ServerResponse, agent: Agent): void {
    const refusal = this.refusal(req)
    if (refusal !== undefined) {
      res.writeHead(refusal).end()
      return
    }
    const { 'proxy-authorization': _, ...headers } = req.headers
    const forward = (): void => {
      const onward = request(req.url ?? '', { method: req.method, headers, agent }, (answer) => {
        res.writeHead(answer.statusCode ?? 502, { ...answer.headers, 'x-via': this.id })
        answer.pipe(res)
      })
      onward.on('error', () => res.destroy())
      req.pipe(onward)
    }
    if (this.kind === 'slow') this.later(res, forward)
    else forward()
  }

  private tunnel(req: IncomingMessage, socket: Duplex): void {
    const refusal = this.refusal(req)
    socket.on('error', () => {})
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal} Refused\r\ncontent-length: 0\r\n\r\n`)
      return
    }
    const [host = '', port = ''] = (req.url ?? '').split(':')
    const join = (): void => {
      const target = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
        target.pipe(socket).pipe(target)
      })
      target.on('error', () => socket.destroy())
      socket.on('close', () => target.destroy())
    }
    if (this.kind === 'slow') this.later(socket, join)
    else join()
  }

  private later(client: Duplex | ServerResponse, act: () => void): void {
    const timer = systemClock.setTimer(act, SLOWNESS)
    client.on('close', () => systemClock.clearTimer(timer))
  }
}

const REGIONS = ['eu', 'us', 'ap']

/** One in four is bad, and they are spread over the list. */
const PATTERN: readonly Kind[] = Array.from({ length: 20 }, (_, place) =>
  place === 2
    ? 'slow'
    : place === 6 || place === 13
      ? 'refusing'
      : place === 9 || place === 17
        ? 'banned'
        : 'good',
)

/** All proxies of the example, on real sockets, and the place they go to. */
export class Fleet {
  /** What the file of the first pool lists. */
  readonly listed: Upstream[] = []
  /** What the configuration itself names. */
  readonly flapping: Upstream[] = []
  /** What the second pool has: nobody in it ever answers. */
  readonly spare: Upstream[] = []
  private readonly agent = new Agent({ keepAlive: true })
  private readonly target = createServer({ keepAliveTimeout: MAX_RESULTS }, (req, res) =>
    res.end(`you asked for ${req.url}`),
  )

  static async start(size: number): Promise<Fleet> {
    const fleet = new Fleet()
    const { listed, flapping, spare, agent, target } = fleet
    const region = (i: number) => REGIONS[i % REGIONS.length] ?? 'eu'
    for (let i = 0; i < size; i++) {
      const kind = PATTERN[i % PATTERN.length] ?? 'good'
      listed.push(new Upstream(`${kind}-${String(i + 1).padStart(3, '0')}`, kind, region(i), agent))
    }
    for (let i = 0; i < 3; i++) flapping.push(new Upstream(`flapping-${i + 1}`, 'flapping', region(i), agent))
    for (let i = 0; i < 4; i++) spare.push(new Upstream(`spare-${i + 1}`, 'refusing', region(i), agent))
    target.listen(0, '127.0.0.1')
    await Promise.all([once(target, 'listening'), ...fleet.all.map((upstream) => upstream.listen())])
    return fleet
  }

  get all(): Upstream[] {
    return [...this.listed, ...this.flapping, ...this.spare]
  }

  /** Those of the first pool that never do any good. */
  get bad(): Upstream[] {
    return this.listed.filter(({ kind }) => BAD.includes(kind))
  }

  /** What has arrived at some of them. */
  arrivedAt(upstreams: readonly Upstream[]): number {
    return upstreams.reduce((sum, { arrived }) => sum + arrived, 0)
  }

  /** Where the requests are going. */
  get targetUrl(): string {
    return `http://127.0.0.1:${(this.target.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.agent.destroy()
    this.target.closeAllConnections()
    this.target.close()
    await Promise.all(this.all.map((upstream) => upstream.close()))
  }
}
