import * as grpc from '@grpc/grpc-js'

/** A scripted response: a status code, a status with trailers, a text, or `'hang'` for none. */
type Reply = number | { code: number; trailers: Record<string, string> } | string

export interface GrpcTestServer {
  readonly address: string
  /** The metadata of the calls that were received. */
  readonly received: grpc.Metadata[]
  /** Sets the responses to the following calls; the last one is repeated. */
  script(replies: readonly Reply[]): void
  /** Resolves when a further call has been received. */
  nextCall(): Promise<void>
  /** Resolves when a call has been cancelled. */
  nextCancel(): Promise<void>
  close(): void
}

const bytes = (value: Buffer): Buffer => value
const method = (path: string, requestStream: boolean, responseStream: boolean) => ({
  path,
  requestStream,
  responseStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
})

/** A service whose messages are bytes, so that it needs no proto file. */
export const ORDERS = {
  get: method('/shop.Orders/Get', false, false),
  list: method('/shop.Orders/List', false, true),
  send: method('/shop.Orders/Send', true, false),
}

/** Starts a gRPC server on a free port. */
export async function startGrpcServer(): Promise<GrpcTestServer> {
  const received: grpc.Metadata[] = []
  const waiting: { call: (() => void)[]; cancel: (() => void)[] } = { call: [], cancel: [] }
  let replies: readonly Reply[] = []
  let count = 0

  const respond = (
    call: { metadata: grpc.Metadata; on(event: 'cancelled', listener: () => void): unknown },
    onError: (error: grpc.StatusObject) => void,
    onText: (text: string) => void,
  ): void => {
    received.push(call.metadata)
    call.on('cancelled', () => waiting.cancel.splice(0).forEach((resolve) => resolve()))
    const reply = replies[Math.min(count++, replies.length - 1)] ?? 'order'
    if (typeof reply === 'string') {
      if (reply !== 'hang') onText(reply)
    } else {
      const { code, trailers } = typeof reply === 'number' ? { code: reply, trailers: {} } : reply
      const metadata = new grpc.Metadata()
      for (const [name, value] of Object.entries(trailers)) metadata.set(name, value)
      onError({ code, details: `status ${code}`, metadata })
    }
    waiting.call.splice(0).forEach((resolve) => resolve())
  }

  const server = new grpc.Server()
  server.addService(ORDERS, {
    get: (call: grpc.ServerUnaryCall<Buffer, Buffer>, callback: grpc.sendUnaryData<Buffer>) =>
      respond(call, callback, (text) => callback(null, Buffer.from(`${text} ${call.request}`))),
    list: (call: grpc.ServerWritableStream<Buffer, Buffer>) =>
      respond(
        call,
        (error) => call.emit('error', error),
        (text) => {
          for (const part of text.split(' ')) call.write(Buffer.from(part))
          call.end()
        },
      ),
    send: (call: grpc.ServerReadableStream<Buffer, Buffer>, callback: grpc.sendUnaryData<Buffer>) => {
      const parts: string[] = []
      call.on('data', (part: Buffer) => parts.push(part.toString()))
      call.on('end', () => respond(call, callback, (text) => callback(null, Buffer.from(`${text} ${parts}`))))
    },
  })
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  )
  return {
    address: `127.0.0.1:${port}`,
    received,
    script(next) {
      replies = next
      count = 0
      received.length = 0
    },
    nextCall: () => new Promise((resolve) => waiting.call.push(resolve)),
    nextCancel: () => new Promise((resolve) => waiting.cancel.push(resolve)),
    close: () => server.forceShutdown(),
  }
}
