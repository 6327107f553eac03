import type { ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { canRespond } from './error-responses.js'
import { type FlatHeaders, toHeaderObject } from './headers.js'

/** Node.js accepts these characters in the reason phrase of a response, and does not send them. The phrase is optional. */
const INVALID_REASON = /[^\t\x20-\x7e\x80-\xff]/

/** How much of a body is buffered before the response is delivered, so that an incomplete one can be requested again. */
export const MAX_BUFFERED_BYTES = 65_536

/**
 * The response to a plain request, with a complete or a streamed body. It is either delivered or discarded. It has no
 * property `status`, because the pool would classify every response with one.
 */
export class UpstreamResponse {
  readonly statusCode: number
  readonly statusMessage: string
  readonly headers: FlatHeaders
  /** The buffered part of the body. */
  chunks: Buffer[] = []
  size = 0
  /** Whether the body is complete. */
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
    this.statusMessage = INVALID_REASON.test(statusMessage) ? '' : statusMessage
    this.headers = headers
    this.controller = controller
  }

  /** Buffers a chunk of the body, or writes it to the client. */
  onChunk(chunk: Buffer): void {
    const { client } = this
    if (client === undefined) {
      this.size += chunk.length
      this.chunks.push(chunk)
    } else if (!client.write(chunk)) this.controller.pause()
  }

  /** Marks the body as complete. */
  onEnd(): void {
    this.isComplete = true
    this.client?.end()
  }

  /** Marks the body as incomplete and aborts the response, so that the client does not consider it complete. */
  onFailure(): void {
    this.isBroken = true
    this.client?.destroy()
  }

  /** Sends the response to the client. */
  deliver(client: ServerResponse): void {
    const { chunks, controller } = this
    if (this.isBroken || !canRespond(client)) {
      client.destroy()
      this.discard()
      return
    }
    client.writeHead(this.statusCode, this.statusMessage, this.headers)
    if (this.isComplete) {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
      if (body.length > 0) {
        // Node concatenates a string body with the head, and uncorking sends both at once: one write instead of several.
        client.write(body.toString('latin1'), 'latin1')
        client.socket?.uncork()
      }
      client.end()
      return
    }
    this.client = client
    client.on('drain', () => controller.resume()).on('close', () => this.discard())
    client.flushHeaders()
    let canContinue = true
    for (const chunk of chunks) canContinue = client.write(chunk)
    this.chunks = []
    if (canContinue) controller.resume()
  }

  /** Discards the response. The connection is aborted if the body is not complete. */
  discard(): void {
    if (!this.isComplete && !this.isBroken) this.controller.abort(new Error('the response was discarded'))
    this.isBroken = true
    this.chunks = []
  }
}

/** A response status that a policy can treat as a failure, in any process. */
export class StatusFailure extends Error {
  readonly status: number
  readonly headers: Record<string, string>

  constructor(status: number, headers: Record<string, string>) {
    super(`the response status was ${status}`)
    this.status = status
    this.headers = headers
  }
}

/** A response that a policy can treat as a failure. It is delivered if no attempt succeeds. */
export class RetryableStatusError extends StatusFailure {
  readonly response: UpstreamResponse

  constructor(response: UpstreamResponse) {
    super(response.statusCode, toHeaderObject(response.headers))
    this.response = response
  }
}

/** A response from 400 that is not retried because of its status, but can be a fault of the member. */
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
