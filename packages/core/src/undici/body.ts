import { lengthIn } from './headers.js'

interface Readable {
  readonly readableDidRead?: boolean
  readonly destroyed?: boolean
  pipe(): unknown
}

const isReadable = (body: unknown): body is Readable => typeof (body as Readable | null)?.pipe === 'function'

/** The longest body that is kept while it is sent, in bytes. */
const MOST_KEPT = 1_048_576

const sizeOf = (piece: unknown): number =>
  typeof piece === 'string' ? new TextEncoder().encode(piece).byteLength : (piece as Uint8Array).byteLength

/** How long a body is that is to be kept; -1 where it is not. */
function keptOf(headers: unknown): number {
  const length = lengthIn(headers) ?? Number.NaN
  return length <= MOST_KEPT ? length : -1
}

/**
 * Something to iterate that remembers whether anybody began to. Of a known length it is kept as it is read, and once all
 * of it was, it can be read again: a `fetch` makes such a stream of every string, buffer, form and blob.
 */
class Watched {
  private began = false
  private whole = false
  private readonly source: AsyncIterable<unknown>
  private readonly length: number
  private readonly kept: unknown[] = []

  constructor(source: AsyncIterable<unknown>, length: number) {
    this.source = source
    this.length = length
  }

  get canBeRead(): boolean {
    return !this.began || this.whole
  }

  async *[Symbol.asyncIterator](): AsyncGenerator {
    const { kept, length } = this
    if (this.whole) {
      yield* kept
      return
    }
    this.began = true
    let size = 0
    for await (const piece of this.source) {
      size += sizeOf(piece)
      if (size <= length) kept.push(piece)
      yield piece
    }
    this.whole = size === length
  }
}

/** A request's body that tells whether it can be sent again: a stream only while nothing was read of it, or all. */
export class RequestBody {
  /** What is to be sent. */
  readonly content: unknown
  /** Whether it is gone once it was read. */
  readonly oneShot: boolean

  constructor(body: unknown, headers: unknown) {
    const iterated = typeof body === 'object' && body !== null && Symbol.asyncIterator in body
    this.oneShot = iterated || isReadable(body)
    this.content =
      iterated && !isReadable(body) ? new Watched(body as AsyncIterable<unknown>, keptOf(headers)) : body
  }

  canBeSent(): boolean {
    const { content, oneShot } = this
    if (!oneShot) return true
    if (content instanceof Watched) return content.canBeRead
    const { readableDidRead, destroyed } = content as Readable
    return readableDidRead === false && destroyed === false
  }
}
