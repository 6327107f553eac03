import type { ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { canRespond } from './error-responses.js'
import { type FlatHeaders, toHeaderObject } from './headers.js'

/** The most of a body that is read before the answer counts as one, so that a torn one can be asked for again. */
export const MAX_BUFFERED_BYTES = 65_536

/**
 * An answer to a plain request: its head, and its body as a whole or as it comes. It is either delivered or discarded.
 * It has no property `status`, which would have every answer classified.
 */
export class UpstreamResponse {
  readonly statusCode: number
  readonly statusMessage: string
  readonly headers: FlatHeaders
  /** What was read of the body. */
  chunks: Buffer[] = []
  size = 0
  /** Whether that is all of it. */
  isComplete = false
  private readonly controller: Dispatcher.DispatchController
  private client: ServerResponse | undefined = undefined
  private isBroken = false

  constructor(
    statusCode: number,
    statusMessage: string,
    headers: FlatHeaders,
    controller: Dispatcher.DispatchController,
  ) {
    this.statusCode = statusCode
    this.statusMessage = statusMessage
    this.headers = headers
    this.controller = controller
  }

  /** Takes a part of the body. */
  onChunk(chunk: Buffer): void {
    const { client } = this
    if (client === undefined) {
      this.size += chunk.length
      this.chunks.push(chunk)
    } else if (!client.write(chunk)) this.controller.pause()
  }

  /** The body is whole. */
  onEnd(): void {
    this.isComplete = true
    this.client?.end()
  }

  /** The body will never be whole: the client must not take what it has for all. */
  onFailure(): void {
    this.isBroken = true
    this.client?.destroy()
  }

  /** Hands the answer to the client. */
  deliver(client: ServerResponse, idleTimeout: number): void {
    const { chunks, controller } = this
    if (this.isBroken || !canRespond(client)) {
      client.destroy()
      this.discard()
      return
    }
    client.writeHead(this.statusCode, this.statusMessage, this.headers)
    // A client that does not read must not hold on to it for ever.
    client.req.socket.setTimeout(idleTimeout)
    if (this.isComplete) {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
      if (body.length > 0) {
        // As a string the body is joined to the head, and uncorked it leaves at once: one write instead of a list of them.
        client.write(body.toString('latin1'), 'latin1')
        client.socket?.uncork()
      }
      client.end()
      return
    }
    this.client = client
    client.on('drain', () => controller.resume()).on('close', () => this.discard())
    client.flushHeaders()
    let flows = true
    for (const chunk of chunks) flows = client.write(chunk)
    this.chunks = []
    if (flows) controller.resume()
  }

  /** Nobody wants it: where something is still to come, the connection is given up. */
  discard(): void {
    if (!this.isComplete && !this.isBroken) this.controller.abort(new Error('the response was discarded'))
    this.isBroken = true
    this.chunks = []
  }
}

/** A response that a policy may take for a failure, wherever it is. */
export class StatusFailure extends Error {
  readonly status: number
  readonly headers: Record<string, string>

  constructor(status: number, headers: Record<string, string>) {
    super(`the response status was ${status}`)
    this.status = status
    this.headers = headers
  }
}

/** An answer that a policy may take for a failure. It is delivered where there is no better one in the end. */
export class RetryableStatusError extends StatusFailure {
  readonly response: UpstreamResponse

  constructor(response: UpstreamResponse) {
    super(response.statusCode, toHeaderObject(response.headers))
    this.response = response
  }
}

/** An answer of 400 and more that is not retried by its status, but may speak of the member. */
export class StatusResult {
  readonly status: number
  readonly headers: Record<string, string>
  readonly response: UpstreamResponse

  constructor(response: UpstreamResponse) {
    this.status = response.statusCode
    this.headers = toHeaderObject(response.headers)
    this.response = response
  }
}
