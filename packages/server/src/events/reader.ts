import type { RetryEvent } from '@holdfast/runtime'
import type { KnownTokens } from '../auth/tokens.js'

/** Which events a reader wants. */
export interface EventSelection {
  readonly types: readonly string[] | undefined
  readonly operations: readonly string[] | undefined
  /** The same for readers who want the same. */
  readonly key: string
}

export function createSelection(types?: readonly string[], operations?: readonly string[]): EventSelection {
  const sorted = (words?: readonly string[]) => words && [...new Set(words)].toSorted()
  const key = JSON.stringify([sorted(types), sorted(operations)])
  return { types, operations, key }
}

export const isSelected = ({ types, operations }: EventSelection, event: RetryEvent): boolean =>
  (types === undefined || types.includes(event.eventType)) &&
  (operations === undefined || (event.operation != null && operations.includes(event.operation)))

/** One who reads the stream. What it has not taken yet waits, up to a limit; beyond it, it is cut off. */
export class FeedReader {
  readonly stream: ReadableStream<Uint8Array>
  readonly choice: EventSelection
  isEnded = false
  /** Whether it is kept from what is new, because it is still told what it missed. */
  isCatchingUp = false
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private onDrained: (() => void) | undefined
  private readonly limit: number
  private readonly isAllowed: (known: KnownTokens) => boolean
  private readonly onLeft: () => void

  constructor(
    choice: EventSelection,
    limit: number,
    allowed: (known: KnownTokens) => boolean,
    left: () => void,
  ) {
    this.choice = choice
    this.limit = limit
    this.isAllowed = allowed
    this.onLeft = left
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller
        },
        pull: () => this.onTaken(),
        cancel: () => this.leave(),
      },
      { highWaterMark: limit, size: (chunk) => chunk.byteLength },
    )
  }

  /** Sends bytes. A reader who has not taken as many as may wait is cut off: it comes back with Last-Event-ID. */
  write(chunk: Uint8Array): void {
    if (this.isEnded) return
    this.controller?.enqueue(chunk)
    if (!this.isCatchingUp && (this.controller?.desiredSize ?? 0) <= 0) this.end()
  }

  /** Resolves when there is room for more. */
  drained(): Promise<void> {
    if (this.isEnded || (this.controller?.desiredSize ?? 0) > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.onDrained = resolve
    })
  }

  /** Ends it where its token is good no more. */
  checkToken(known: KnownTokens): void {
    if (!this.isAllowed(known)) this.end()
  }

  end(): void {
    if (this.isEnded) return
    this.leave()
    try {
      this.controller?.close()
    } catch {
      // It was closed from the other side.
    }
  }

  private leave(): void {
    this.isEnded = true
    this.onTaken()
    this.onLeft()
  }

  private onTaken(): void {
    const { onDrained } = this
    this.onDrained = undefined
    onDrained?.()
  }
}
