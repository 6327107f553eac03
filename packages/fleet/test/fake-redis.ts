import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** The password in the url of the server. No message can contain it. */
export const PASSWORD = 'Zq7-password-of-redis'

export const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`

const GREETING = `%3\r\n${bulk('server')}${bulk('redis')}${bulk('version')}${bulk('7.4.0')}${bulk('proto')}:3\r\n`

/** The value of every key. */
export const VALUE = 'the value'

/** The reply of a correct server to a command. */
function replyTo([name = '', ...args]: readonly string[]): string {
  switch (name.toUpperCase()) {
    case 'HELLO':
      return GREETING
    case 'INFO':
      return bulk('redis_version:7.4.0\r\nloading:0\r\n')
    case 'PING':
      return '+PONG\r\n'
    case 'SUBSCRIBE':
      return `>3\r\n${bulk('subscribe')}${bulk(args[0] ?? '')}:1\r\n`
    case 'EVAL':
      return ':1\r\n'
    case 'GET':
      return bulk(VALUE)
    default:
      return '+OK\r\n'
  }
}

/** What the server sends in place of correct replies. */
export interface InvalidReplies {
  /** How many commands of each connection get a correct reply before. */
  readonly correct: number
  /** One part for each command after them. */
  readonly parts: readonly Buffer[]
  /** Whether the connection stays open when no part is left. */
  readonly staysOpen: boolean
}

/** How long the server waits for a command before it ends a connection with invalid replies. */
const IDLE_TIMEOUT_MS = 10

/** A server that speaks the protocol of Redis on loopback, and sends correct replies or given bytes. */
export class FakeRedis {
  invalid: InvalidReplies | undefined
  /** Other replies of a correct server, by the name of the command. */
  readonly replies = new Map<string, string>()
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private readonly lossListeners: (() => void)[] = []

  private constructor(server: Server) {
    this.server = server
    server.on('connection', (socket) => this.accept(socket))
  }

  static async start(): Promise<FakeRedis> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new FakeRedis(server)
  }

  get url(): string {
    return this.urlWith(PASSWORD)
  }

  /** The url with another password; the server accepts every one. */
  urlWith(password: string): string {
    return `redis://ann:${password}@127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Resolves when a client ends a connection, or it breaks. */
  connectionLost(): Promise<void> {
    return new Promise((resolve) => this.lossListeners.push(resolve))
  }

  /** Ends all connections. */
  disconnect(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.disconnect()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private accept(socket: Socket): void {
    const { invalid } = this
    this.sockets.add(socket)
    socket.on('close', () => {
      this.sockets.delete(socket)
      for (const listener of this.lossListeners.splice(0)) listener()
    })
    socket.on('error', () => {})
    if (invalid !== undefined && !invalid.staysOpen)
      socket.setTimeout(IDLE_TIMEOUT_MS, () => socket.destroy())
    let commands = 0
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      for (let found = readCommand(received); found !== undefined; found = readCommand(received)) {
        received = received.slice(found.length)
        const part = invalid === undefined ? -1 : commands++ - invalid.correct
        if (invalid === undefined || part < 0)
          socket.write(this.replies.get(found.words[0] ?? '') ?? replyTo(found.words), 'latin1')
        else sendPart(socket, invalid, part)
      }
    })
  }
}

function sendPart(socket: Socket, { parts, staysOpen }: InvalidReplies, at: number): void {
  const part = parts[at]
  if (part === undefined) {
    if (!staysOpen) socket.destroy()
  } else if (part.length > 0) socket.write(part)
}

/** The first command of a text, and its length; undefined if it is not complete. */
function readCommand(text: string): { words: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text)
  if (head === null) return undefined
  const words: string[] = []
  let at = head[0].length
  for (let left = Number(head[1]); left > 0; left--) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at, at + 20))
    if (size === null) return undefined
    const start = at + size[0].length
    at = start + Number(size[1]) + 2
    if (text.length < at) return undefined
    words.push(text.slice(start, at - 2))
  }
  return { words, length: at }
}
