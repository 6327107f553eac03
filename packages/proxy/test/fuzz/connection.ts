import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { splitByHash } from '../../../../test/fuzz/random.js'
import { turn } from '../helpers/until.js'
import { membersOf, type StrictRequest } from './strict-http.js'

/** Sends bytes in pieces, closes the sending side, and resolves with all bytes that came back when the connection is closed. */
export async function exchange(port: number, bytes: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  const received: Buffer[] = []
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  socket.on('error', () => {}).on('end', () => socket.end())
  for (const piece of splitByHash(bytes)) {
    socket.write(piece)
    await turn()
  }
  socket.end()
  await closed
  return Buffer.concat(received).toString('latin1')
}

/** A resolver that knows no name, because mutated names must not reach that of the system: without a network it takes minutes. */
export const rejectNames = async (): Promise<never> => {
  throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
}

/** The statuses of the responses in the bytes that a client received, without interim ones. The bodies contain no such text. */
export const statusesIn = (received: string): number[] =>
  [...received.matchAll(/HTTP\/1\.[01] (\d{3}) /g)]
    .map(([, status]) => Number(status))
    .filter((status) => status >= 200)

/** A request as it arrived at a target, complete. */
interface Arrived {
  readonly method: string
  readonly url: string
  readonly fields: readonly (readonly [string, string])[]
  readonly body: Buffer
}

/** The path of a request in absolute form, as the proxy forwards it, without a fragment; undefined for other forms. */
function pathOf(target: string): string | undefined {
  const match = /^https?:\/\/[^/?#]+([^#]*)/is.exec(target)
  if (match === null) return undefined
  const path = (match[1] as string).replace(
    /[\x80-\xff]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return path.startsWith('/') ? path : `/${path}`
}

/** Fields that a proxy sets again or removes. */
const OWN_FIELDS = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'])

/** Fields for the proxy itself, such as the credentials of its users, which must not reach a target. */
const FIELDS_FOR_THE_PROXY = new Set([
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'x-holdfast-policy',
])

/** Whether a field is for the proxy, or for its connection because `Connection` lists it. */
const isForTheProxy = ({ fields }: StrictRequest, name: string): boolean =>
  FIELDS_FOR_THE_PROXY.has(name) || membersOf(fields, 'connection').includes(name)

const isSame = (request: StrictRequest, arrived: Arrived): boolean =>
  request.method === arrived.method &&
  pathOf(request.target) === arrived.url &&
  request.body.equals(arrived.body) &&
  arrived.fields.every(
    ([name, value]) =>
      OWN_FIELDS.has(name) ||
      (!isForTheProxy(request, name) && request.fields.some(([own, is]) => own === name && is === value)),
  )

const describe = ({ method, url, fields, body }: Arrived): string =>
  JSON.stringify({ method, url, fields, body: body.toString('latin1').slice(0, 200) })

/** The number of the case in a URL; 0 if a mutation removed it. */
export const idIn = (url: string): number => Number(/\d{8}/.exec(url)?.[0] ?? 0)

/** The requests of a case that have not arrived yet. */
interface Expected {
  readonly left: StrictRequest[]
  /** Whether bytes of the case can reach the target without being parsed by the proxy. */
  readonly isTunnel: boolean
}

/** How many cases are remembered, for requests that arrive after the client has closed its connection. */
const MAX_REMEMBERED = 10

/** A server that compares the requests that arrive with those that the strict parser found. */
export class CountingTarget {
  readonly port: number
  /** How many requests arrived. */
  arrivals = 0
  /** How many of them have the number of each case. */
  readonly arrivalsById = new Map<number, number>()
  private readonly server
  private readonly expected = new Map<number, Expected>()
  private violation: string | undefined = undefined

  private constructor(server: ReturnType<typeof createServer>) {
    this.server = server
    this.port = (server.address() as AddressInfo).port
  }

  static async start(): Promise<CountingTarget> {
    const server = createServer((req, res) => {
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
      req.on('end', () => {
        if (req.complete) target.onRequest(req, Buffer.concat(chunks))
        res.end('ok')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const target = new CountingTarget(server)
    return target
  }

  /** Registers a case. */
  expect(id: number, requests: readonly StrictRequest[]): void {
    this.expected.set(id, {
      left: requests.slice(),
      isTunnel: requests.some(({ switchesProtocol }) => switchesProtocol),
    })
    if (this.expected.size > MAX_REMEMBERED) this.expected.delete(this.expected.keys().next().value as number)
  }

  private onRequest({ method = '', url = '', rawHeaders }: IncomingMessage, body: Buffer): void {
    this.arrivals++
    const fields = Array.from(
      { length: rawHeaders.length / 2 },
      (_, i) => [(rawHeaders[2 * i] as string).toLowerCase(), rawHeaders[2 * i + 1] as string] as const,
    )
    const arrived = { method, url, fields, body }
    const id = idIn(url)
    this.arrivalsById.set(id, (this.arrivalsById.get(id) ?? 0) + 1)
    // A mutated request may have lost its number. It can belong to an earlier case, whose client has closed the connection.
    const own = this.expected.get(id)
    const candidates = own === undefined ? [...this.expected.values()] : [own]
    if (candidates.some(({ isTunnel }) => isTunnel)) return
    for (const { left } of candidates) {
      // Requests with safe methods run at the same time, so the one with the most fields in common is the one that arrived.
      const [best] = left
        .filter((request) => isSame(request, arrived))
        .toSorted((one, other) => one.fields.length - other.fields.length)
      if (best === undefined) continue
      left.splice(left.indexOf(best), 1)
      return
    }
    this.violation ??= `a request arrived that RFC 9112 does not find in the bytes: ${describe(arrived)}`
  }

  /** Throws if a request arrived that was not expected. */
  verify(): void {
    const { violation } = this
    this.violation = undefined
    if (violation !== undefined) throw new Error(violation)
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}
