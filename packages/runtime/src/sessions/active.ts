import { RuntimeCall } from '../calls/call.js'
import type { Active } from '../calls/recorder.js'

/** The calls that run now, in the order they began. Adding and removing costs a few links. */
export class ActiveCalls {
  private first: Active | undefined = undefined
  private last: Active | undefined = undefined
  count = 0
  private idle: (() => void) | undefined = undefined

  add(call: Active): void {
    call.earlier = this.last
    if (this.last === undefined) this.first = call
    else this.last.later = call
    this.last = call
    this.count++
  }

  remove(call: Active): void {
    const { earlier, later } = call
    if (earlier === undefined) this.first = later
    else earlier.later = later
    if (later === undefined) this.last = earlier
    else later.earlier = earlier
    call.earlier = undefined
    call.later = undefined
    if (--this.count === 0) this.idle?.()
  }

  /** Those that have failed at least once, newest first. */
  *failing(): Iterable<RuntimeCall> {
    for (const call of this.all()) if (call.draft !== undefined && call instanceof RuntimeCall) yield call
  }

  /** All of them, newest first. */
  *all(): Iterable<Active> {
    for (let call = this.last; call !== undefined; ) {
      const { earlier } = call
      yield call
      call = earlier
    }
  }

  /** Resolves when none is left. */
  drained(): Promise<void> {
    if (this.count === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.idle = resolve
    })
  }
}
