import { parseContentLength } from './headers.js'

interface NodeReadable {
  readonly readableDidRead?: boolean
  readonly destroyed?: boolean
  pipe(): unknown
}

const isNodeReadable = (body: unknown): body is NodeReadable =>
  typeof (body as NodeReadable | null)?.pipe === 'function'

/** The longest body that is kept while it is sent, in bytes. */
const MAX_BUFFERED_BYTES = 1_048_576

const sizeOf = (piece: unknown): number =>
  typeof piece === 'string' ? new TextEncoder().encode(piece).byteLength : (piece as Uint8Array).byteLength

/** How long a body is that is to be kept; -1 where it is not. */
function bufferedLength(headers: unknown): number {
  const length = parseContentLength(headers) ?? Number.NaN
  return length <= MAX_BUFFERED_BYTES ? length : -1
}

/**
 * Something to iterate that remembers whether anybody began to. Of a known length it is kept as it is read, and once all
 * of it was, it can be read again: a `fetch` makes such a stream of every string, buffer, form and blob.
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
    for await (const piece of this.source) {
      size += sizeOf(piece)
      if (size <= length) chunks.push(piece)
      yield piece
    }
    this.isComplete = size === length
  }
}

/** A request's body that tells whether it can be sent again: a stream only while nothing was read of it, or all. */
export class RequestBody {
  /** What is to be sent. */
  readonly content: unknown
  /** Whether it is gone once it was read. */
  readonly isOneShot: boolean

  constructor(body: unknown, headers: unknown) {
    const iterated = typeof body === 'object' && body !== null && Symbol.asyncIterator in body
    this.isOneShot = iterated || isNodeReadable(body)
    this.content =
      iterated && !isNodeReadable(body)
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
