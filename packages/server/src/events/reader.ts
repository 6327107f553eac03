import type { RetryEvent } from '@holdfast/runtime'
import type { KnownCredentials } from '../auth/sign-ins.js'

/** The events that a reader receives. */
export interface EventSelection {
  readonly types: readonly string[] | undefined
  readonly operations: readonly string[] | undefined
  /** Equal for readers that receive the same events. */
  readonly key: string
}

export function createSelection(types?: readonly string[], operations?: readonly string[]): EventSelection {
  const sorted = (values?: readonly string[]) => values && [...new Set(values)].toSorted()
  const key = JSON.stringify([sorted(types), sorted(operations)])
  return { types, operations, key }
}

export const isSelected = ({ types, operations }: EventSelection, event: RetryEvent): boolean =>
  (types === undefined || types.includes(event.eventType)) &&
  (operations === undefined || (event.operation != null && operations.includes(event.operation)))

/** A reader of the event stream. Unread bytes are buffered up to a limit; a reader that exceeds it is disconnected. */
export class FeedReader {
  readonly stream: ReadableStream<Uint8Array>
  readonly selection: EventSelection
  isEnded = false
  /** Whether new events are withheld, because the reader still receives the ones it missed. */
  isCatchingUp = false
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private onDrained: (() => void) | undefined
  private readonly limit: number
  private readonly isAllowed: (known: KnownCredentials) => boolean
  private readonly onEnd: () => void

  constructor(
    selection: EventSelection,
    limit: number,
    isAllowed: (known: KnownCredentials) => boolean,
    onEnd: () => void,
  ) {
    this.selection = selection
    this.limit = limit
    this.isAllowed = isAllowed
    this.onEnd = onEnd
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller
        },
        pull: () => this.resolveDrained(),
        cancel: () => this.markEnded(),
      },
      { highWaterMark: limit, size: (chunk) => chunk.byteLength },
    )
  }

  /** Sends bytes. A reader whose buffer is full is disconnected; it can reconnect with Last-Event-ID. */
  write(chunk: Uint8Array): void {
    if (this.isEnded) return
    this.controller?.enqueue(chunk)
    if (!this.isCatchingUp && (this.controller?.desiredSize ?? 0) <= 0) this.end()
  }

  /** Resolves when the buffer has room. */
  drained(): Promise<void> {
    if (this.isEnded || (this.controller?.desiredSize ?? 0) > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.onDrained = resolve
    })
  }

  /** Ends the reader if its token or sign-in is no longer valid. */
  checkCredentials(known: KnownCredentials): void {
    if (!this.isAllowed(known)) this.end()
  }

  end(): void {
    if (this.isEnded) return
    this.markEnded()
    try {
      this.controller?.close()
    } catch {
      // The client has closed the stream already.
    }
  }

  private markEnded(): void {
    this.isEnded = true
    this.resolveDrained()
    this.onEnd()
  }

  private resolveDrained(): void {
    const { onDrained } = this
    this.onDrained = undefined
    onDrained?.()
  }
}
