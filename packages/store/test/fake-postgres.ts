import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

const PROTOCOL_3 = 196_608
const SSL_REQUEST = 80_877_103

/** A message of a server. */
export const message = (type: string, body: Buffer | string = ''): Buffer => {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
  const head = Buffer.from(`${type}\0\0\0\0`, 'latin1')
  head.writeUInt32BE(bytes.length + 4, 1)
  return Buffer.concat([head, bytes])
}

const int16 = (value: number) => Buffer.from([(value >> 8) & 255, value & 255])
const int32 = (value: number) => Buffer.concat([int16(value >> 16), int16(value & 65_535)])

export const AUTHENTICATED = message('R', int32(0))
export const READY = message('Z', 'I')

/** The columns of a result. All values are texts. */
export const columns = (...names: string[]): Buffer =>
  message(
    'T',
    Buffer.concat([
      int16(names.length),
      ...names.flatMap((name) => [
        Buffer.from(`${name}\0`),
        int32(0),
        int16(0),
        int32(25),
        int16(-1),
        int32(-1),
        int16(0),
      ]),
    ]),
  )

export const row = (...values: (string | null)[]): Buffer =>
  message(
    'D',
    Buffer.concat([
      int16(values.length),
      ...values.flatMap((value) =>
        value === null ? [int32(-1)] : [int32(Buffer.byteLength(value)), Buffer.from(value)],
      ),
    ]),
  )

/** The reply to a statement without parameters. */
export const COMPLETED = Buffer.concat([message('C', 'BEGIN\0'), READY])

/** The reply to a statement with parameters that returns one row. */
export const ONE_ROW = Buffer.concat([
  message('1'),
  message('2'),
  columns('n'),
  row('1'),
  message('C', 'SELECT 1\0'),
  READY,
])

/** A server that speaks the protocol of PostgreSQL on loopback, and answers with given bytes or with one row. */
export class FakePostgres {
  /** What the server sends: the first part after the startup message, each other after a statement. Undefined: valid replies. */
  replies: readonly Buffer[] | undefined
  /** After how many milliseconds without a statement the server ends a connection with given replies. 0: never. */
  idleTimeoutMs = 0
  private readonly server: Server
  private readonly sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.server = server
    server.on('connection', (socket) => this.accept(socket))
  }

  static async start(): Promise<FakePostgres> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new FakePostgres(server)
  }

  get url(): string {
    return `postgres://ann:secret@127.0.0.1:${(this.server.address() as AddressInfo).port}/app`
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
    const { replies } = this
    this.sockets.add(socket)
    socket.on('close', () => this.sockets.delete(socket))
    socket.on('error', () => {})
    if (replies === undefined) answerStatements(socket)
    else sendReplies(socket, replies, this.idleTimeoutMs)
  }
}

/** Sends one part after each piece that arrives, and ends the connection when there is no further part. */
function sendReplies(socket: Socket, replies: readonly Buffer[], idleTimeoutMs: number): void {
  let sent = 0
  socket.setTimeout(idleTimeoutMs, () => socket.destroy())
  socket.on('data', () => {
    const reply = replies[sent++]
    if (reply === undefined) socket.destroy()
    else if (reply.length > 0) socket.write(reply)
  })
}

function answerStatements(socket: Socket): void {
  let received = Buffer.alloc(0)
  let isStarted = false
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    for (;;) {
      const head = isStarted ? 1 : 0
      if (received.length < head + 4) return
      const end = head + received.readUInt32BE(head)
      if (received.length < end) return
      const type = isStarted ? String.fromCharCode(received.readUInt8(0)) : ''
      const code = isStarted ? 0 : received.readUInt32BE(4)
      received = received.subarray(end)
      if (code === SSL_REQUEST) socket.write('N')
      else if (code === PROTOCOL_3) {
        isStarted = true
        socket.write(Buffer.concat([AUTHENTICATED, READY]))
      } else if (type === 'Q') socket.write(COMPLETED)
      else if (type === 'S') socket.write(ONE_ROW)
      else if (type === 'X') socket.end()
    }
  })
}
