import type { RetryEvent } from '@holdfast/runtime'
import type { KnownTokens } from '../access/tokens.js'

/** Which events a reader wants. */
export interface EventChoice {
  readonly types: readonly string[] | undefined
  readonly operations: readonly string[] | undefined
  /** The same for readers who want the same. */
  readonly key: string
}

export function choose(types?: readonly string[], operations?: readonly string[]): EventChoice {
  const sorted = (words?: readonly string[]) => words && [...new Set(words)].toSorted()
  const key = JSON.stringify([sorted(types), sorted(operations)])
  return { types, operations, key }
}

export const accepts = ({ types, operations }: EventChoice, event: RetryEvent): boolean =>
  (types === undefined || types.includes(event.eventType)) &&
  (operations === undefined || (event.operation != null && operations.includes(event.operation)))

/** One who reads the stream. What it has not taken yet waits, up to a limit; beyond it, it is cut off. */
export class Reader {
  readonly stream: ReadableStream<Uint8Array>
  readonly choice: EventChoice
  ended = false
  /** Whether it is kept from what is new, because it is still told what it missed. */
  held = false
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private waiting: (() => void) | undefined
  private readonly limit: number
  private readonly allowed: (known: KnownTokens) => boolean
  private readonly left: () => void

  constructor(
    choice: EventChoice,
    limit: number,
    allowed: (known: KnownTokens) => boolean,
    left: () => void,
  ) {
    this.choice = choice
    this.limit = limit
    this.allowed = allowed
    this.left = left
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller
        },
        pull: () => this.taken(),
        cancel: () => this.leave(),
      },
      { highWaterMark: limit, size: (chunk) => chunk.byteLength },
    )
  }

  /** Sends bytes. A reader who has not taken as many as may wait is cut off: it comes back with Last-Event-ID. */
  write(chunk: Uint8Array): void {
    if (this.ended) return
    this.controller?.enqueue(chunk)
    if (!this.held && (this.controller?.desiredSize ?? 0) <= 0) this.end()
  }

  /** Resolves when there is room for more. */
  drained(): Promise<void> {
    if (this.ended || (this.controller?.desiredSize ?? 0) > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.waiting = resolve
    })
  }

  /** Ends it where its token is good no more. */
  recheck(known: KnownTokens): void {
    if (!this.allowed(known)) this.end()
  }

  end(): void {
    if (this.ended) return
    this.leave()
    try {
      this.controller?.close()
    } catch {
      // It was closed from the other side.
    }
  }

  private leave(): void {
    this.ended = true
    this.taken()
    this.left()
  }

  private taken(): void {
    const { waiting } = this
    this.waiting = undefined
    waiting?.()
  }
}
