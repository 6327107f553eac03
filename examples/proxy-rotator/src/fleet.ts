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

/** The behaviour of a proxy. */
export type Kind = 'good' | 'slow' | 'refusing' | 'banned' | 'flapping'

/** The kinds that never succeed. */
const BAD: readonly Kind[] = ['slow', 'refusing', 'banned']

/** The delay of a slow proxy: longer than the timeout of any policy. */
const SLOWNESS = 20_000

/** The keep-alive timeout: longer than the run, so that no connection is closed by accident. */
const MAX_RESULTS = 120_000

/** The number of consecutive failures, and then successes, of a flapping proxy. */
const STREAK = 4

/** The password of all proxies. It must not appear in any record or output. */
export const PASSWORD = 'wide-open-sesame'
const AUTHORIZATION = `Basic ${Buffer.from(`collector:${PASSWORD}`).toString('base64')}`

/** A small HTTP proxy that counts its requests. */
export class Upstream {
  readonly id: string
  readonly kind: Kind
  readonly region: string
  /** The number of requests and tunnels; of connections for a refusing proxy. */
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

  /** Its URL with credentials. */
  get url(): string {
    return `http://collector:${PASSWORD}@127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }

  /** The error status of a request; undefined if the request is forwarded. */
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

/** One in four is bad, distributed over the list. */
const PATTERN: readonly Kind[] = Array.from({ length: 20 }, (_, place) =>
  place === 2
    ? 'slow'
    : place === 6 || place === 13
      ? 'refusing'
      : place === 9 || place === 17
        ? 'banned'
        : 'good',
)

/** All proxies of the example, and the target of the requests. */
export class Fleet {
  /** The members in the file of the first pool. */
  readonly listed: Upstream[] = []
  /** The members in the config file. */
  readonly flapping: Upstream[] = []
  /** The members of the second pool, which never succeed. */
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

  /** The proxies of the first pool that never succeed. */
  get bad(): Upstream[] {
    return this.listed.filter(({ kind }) => BAD.includes(kind))
  }

  /** The number of attempts that reached these proxies. */
  arrivedAt(upstreams: readonly Upstream[]): number {
    return upstreams.reduce((sum, { arrived }) => sum + arrived, 0)
  }

  /** The URL of the target. */
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
