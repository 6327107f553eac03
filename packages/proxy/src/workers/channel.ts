import type { Serializable } from 'node:child_process'
import type { Socket } from 'node:net'

/** The end of a channel between two processes: a child, or the process itself towards its parent. */
export interface ChannelEnd {
  readonly connected: boolean
  send?(
    message: Serializable,
    handle?: Socket,
    options?: object,
    callback?: (error: Error | null) => void,
  ): boolean
}

const ignore = (): void => {}

/** Sends messages in order. Those of one turn of the event loop go in one write, because each write costs a system call on both sides. */
export class Channel<M> {
  private readonly end: ChannelEnd
  private waiting: M[] = []

  constructor(end: ChannelEnd) {
    this.end = end
  }

  send(message: M): void {
    if (this.waiting.push(message) === 1) setImmediate(() => this.flush())
  }

  private flush(): void {
    const messages = this.waiting
    this.waiting = []
    // A process that has exited is handled by its exit event.
    if (this.end.connected) this.end.send?.(messages as unknown as Serializable, undefined, {}, ignore)
  }
}
