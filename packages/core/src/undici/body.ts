interface Readable {
  readonly readableDidRead?: boolean
  readonly destroyed?: boolean
  pipe(): unknown
}

const isReadable = (body: unknown): body is Readable => typeof (body as Readable | null)?.pipe === 'function'

/** Something to iterate that remembers whether anybody began to. */
class Watched {
  began = false
  private readonly source: AsyncIterable<unknown>

  constructor(source: AsyncIterable<unknown>) {
    this.source = source
  }

  async *[Symbol.asyncIterator](): AsyncGenerator {
    this.began = true
    yield* this.source
  }
}

/** A request's body that tells whether it can be sent again: a stream only while nothing was read of it. */
export class RequestBody {
  /** What is to be sent. */
  readonly content: unknown
  /** Whether it is gone once it was read. */
  readonly oneShot: boolean

  constructor(body: unknown) {
    const iterated = typeof body === 'object' && body !== null && Symbol.asyncIterator in body
    this.oneShot = iterated || isReadable(body)
    this.content = iterated && !isReadable(body) ? new Watched(body as AsyncIterable<unknown>) : body
  }

  canBeSent(): boolean {
    const { content, oneShot } = this
    if (!oneShot) return true
    if (content instanceof Watched) return !content.began
    const { readableDidRead, destroyed } = content as Readable
    return readableDidRead === false && destroyed === false
  }
}
