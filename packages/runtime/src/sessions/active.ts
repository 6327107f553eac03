import type { ActiveCall } from '../execution/recording-observer.js'
import { RuntimeCall } from '../execution/runtime-call.js'

/** The calls that run now, in the order they began. Adding and removing costs a few links. */
export class ActiveCalls {
  private first: ActiveCall | undefined = undefined
  private last: ActiveCall | undefined = undefined
  count = 0
  private onIdle: (() => void) | undefined = undefined

  add(call: ActiveCall): void {
    call.prevCall = this.last
    if (this.last === undefined) this.first = call
    else this.last.nextCall = call
    this.last = call
    this.count++
  }

  remove(call: ActiveCall): void {
    const { prevCall, nextCall } = call
    if (prevCall === undefined) this.first = nextCall
    else prevCall.nextCall = nextCall
    if (nextCall === undefined) this.last = prevCall
    else nextCall.prevCall = prevCall
    call.prevCall = undefined
    call.nextCall = undefined
    if (--this.count === 0) this.onIdle?.()
  }

  /** Those that have failed at least once, newest first. */
  *failingCalls(): Iterable<RuntimeCall> {
    for (const call of this.all()) if (call.draft !== undefined && call instanceof RuntimeCall) yield call
  }

  /** All of them, newest first. */
  *all(): Iterable<ActiveCall> {
    for (let call = this.last; call !== undefined; ) {
      const { prevCall } = call
      yield call
      call = prevCall
    }
  }

  /** Resolves when none is left. */
  whenIdle(): Promise<void> {
    if (this.count === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.onIdle = resolve
    })
  }
}
