import { parseContentLength } from './headers.js'

interface NodeReadable {
  readonly readableDidRead?: boolean
  readonly destroyed?: boolean
  pipe(): unknown
}

const isNodeReadable = (body: unknown): body is NodeReadable =>
  typeof (body as NodeReadable | null)?.pipe === 'function'

/** The largest body that is buffered while it is sent. */
const MAX_BUFFERED_BYTES = 1_048_576

const byteLengthOf = (chunk: unknown): number =>
  typeof chunk === 'string' ? new TextEncoder().encode(chunk).byteLength : (chunk as Uint8Array).byteLength

/** The length of a body that is buffered; -1 if it is too long or its length is unknown. */
function bufferedLength(headers: unknown): number {
  const length = parseContentLength(headers) ?? Number.NaN
  return length <= MAX_BUFFERED_BYTES ? length : -1
}

/**
 * An async iterable that records whether it was read. A body of known length is buffered while it is read, and can be read
 * again once it is complete: `fetch` converts every string, buffer, form and blob to such a stream.
 */
class TrackedBody {
  private hasStarted = false
  private isComplete = false
  private readonly source: AsyncIterable<unknown>
  private readonly length: number
  private readonly chunks: unknown[] = []

  constructor(source: AsyncIterable<unknown>, length: number) {
    this.source = source
    this.length = length
  }

  get canBeRead(): boolean {
    return !this.hasStarted || this.isComplete
  }

  async *[Symbol.asyncIterator](): AsyncGenerator {
    const { chunks, length } = this
    if (this.isComplete) {
      yield* chunks
      return
    }
    this.hasStarted = true
    let size = 0
    for await (const chunk of this.source) {
      size += byteLengthOf(chunk)
      if (size <= length) chunks.push(chunk)
      yield chunk
    }
    this.isComplete = size === length
  }
}

/** The body of a request. A stream can be sent again if nothing of it was read, or if it was buffered completely. */
export class RequestBody {
  /** The body for the dispatcher. */
  readonly content: unknown
  /** Whether the body can be read only once. */
  readonly isOneShot: boolean

  constructor(body: unknown, headers: unknown) {
    const isAsyncIterable = typeof body === 'object' && body !== null && Symbol.asyncIterator in body
    this.isOneShot = isAsyncIterable || isNodeReadable(body)
    this.content =
      isAsyncIterable && !isNodeReadable(body)
        ? new TrackedBody(body as AsyncIterable<unknown>, bufferedLength(headers))
        : body
  }

  canSend(): boolean {
    const { content, isOneShot } = this
    if (!isOneShot) return true
    if (content instanceof TrackedBody) return content.canBeRead
    const { readableDidRead, destroyed } = content as NodeReadable
    return readableDidRead === false && destroyed === false
  }
}
