import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Server as ChainServer } from 'proxy-chain'
import { onTestFinished } from 'vitest'
import { closeWithTest } from './target.js'

/** A proxy to go through. */
export interface Upstream {
  /** With credentials, where it asks for some. */
  readonly url: string
  readonly port: number
  /** What it was asked, as often as it was. */
  readonly asked: string[]
}

/** A well-known proxy server, as a real upstream. */
export async function startChain(credentials?: { username: string; password: string }): Promise<Upstream> {
  const asked: string[] = []
  const server = new ChainServer({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ username, password, hostname, port, isHttp }) => {
      asked.push(`${isHttp ? 'http' : 'connect'} ${hostname}:${port}`)
      return {
        requestAuthentication:
          credentials !== undefined &&
          (username !== credentials.username || password !== credentials.password),
      }
    },
  })
  await server.listen()
  onTestFinished(async () => {
    await server.close(true)
  })
  const user = credentials === undefined ? '' : `${credentials.username}:${credentials.password}@`
  return { url: `http://${user}127.0.0.1:${server.port}`, port: server.port, asked }
}

/** A SOCKS5 proxy, written by hand: no authentication or a name and a password, CONNECT alone. */
export async function startSocks(credentials?: { username: string; password: string }): Promise<Upstream> {
  const asked: string[] = []
  const server = createServer((client) => {
    client.on('error', () => {})
    void serveSocks(client, credentials, asked).catch(() => client.destroy())
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const user = credentials === undefined ? '' : `${credentials.username}:${credentials.password}@`
  return { url: `socks5://${user}127.0.0.1:${port}`, port, asked }
}

async function serveSocks(
  client: Socket,
  credentials: { username: string; password: string } | undefined,
  asked: string[],
): Promise<void> {
  const reader = new Reader(client)
  const [, methods = 0] = await reader.take(2)
  await reader.take(methods)
  client.write(Buffer.from([5, credentials === undefined ? 0 : 2]))
  if (credentials !== undefined) {
    const [, length = 0] = await reader.take(2)
    const username = (await reader.take(length)).toString()
    const [size = 0] = await reader.take(1)
    const password = (await reader.take(size)).toString()
    const right = username === credentials.username && password === credentials.password
    client.write(Buffer.from([1, right ? 0 : 1]))
    if (!right) {
      client.end()
      return
    }
  }
  const [, , , kind] = await reader.take(4)
  const host =
    kind === 1
      ? [...(await reader.take(4))].join('.')
      : kind === 3
        ? (await reader.take((await reader.take(1))[0] ?? 0)).toString()
        : (await reader.take(16)).toString('hex').replace(/(.{4})(?!$)/g, '$1:')
  const port = (await reader.take(2)).readUInt16BE()
  asked.push(`${host}:${port}`)
  const target = connect(port, host)
  const reply = (code: number): void => void client.write(Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]))
  target.once('connect', () => {
    reply(0)
    reader.release()
    target.pipe(client).pipe(target)
  })
  target.on('error', () => {
    reply(5)
    client.end()
  })
  client.on('close', () => target.destroy())
}

/** Takes exactly so many bytes off a socket. */
class Reader {
  private read = Buffer.alloc(0)
  private waiting: (() => void) | undefined
  private readonly socket: Socket
  private readonly onData = (chunk: Buffer): void => {
    this.read = Buffer.concat([this.read, chunk])
    this.waiting?.()
  }

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', this.onData)
  }

  async take(count: number): Promise<Buffer> {
    while (this.read.length < count)
      await new Promise<void>((resolve) => {
        this.waiting = resolve
      })
    const taken = this.read.subarray(0, count)
    this.read = this.read.subarray(count)
    return taken
  }

  release(): void {
    this.socket.off('data', this.onData)
    if (this.read.length > 0) this.socket.unshift(this.read)
  }
}

/** What a bad proxy does once it has been asked for something. */
export type Fault =
  | 'stall'
  | 'reset'
  | 'close'
  | 'garbage'
  | 'truncate'
  | 'lie'
  | 'trickle'
  | { readonly status: number; readonly headers?: string }

const ok = (length: number): string => `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`

/** A proxy that never does what it should. It notes the first line of all that it is asked. */
export async function startFaulty(fault: Fault): Promise<Upstream> {
  const asked: string[] = []
  const server = createServer((client) => {
    client.on('error', () => {})
    client.once('data', (data) => {
      asked.push(data.toString().split('\r\n')[0] ?? '')
      misbehave(client, fault)
    })
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, asked }
}

function misbehave(client: Socket, fault: Fault): void {
  if (typeof fault === 'object')
    client.end(`HTTP/1.1 ${fault.status} Refused\r\n${fault.headers ?? ''}Content-Length: 2\r\n\r\nno`)
  else if (fault === 'reset') client.resetAndDestroy()
  else if (fault === 'close') client.end()
  else if (fault === 'garbage') client.end('\u0000\u0001 this is not HTTP at all\r\n\r\n')
  else if (fault === 'truncate') client.end(`${ok(1000)}only this`)
  else if (fault === 'lie') client.end(`${ok(4)}good and then much more than it said`)
  else if (fault === 'trickle') client.write('HTTP/1.1 200')
}

/** A port that nothing listens on, and that the system gives to no other socket. */
export { findFreePort as closedPort } from '../../../../scripts/servers/ports.mjs'
