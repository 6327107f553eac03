import type { ActiveCall, FailingCall } from './observed-call.js'

/** The calls that are running, in the order in which they started: a linked list, because calls end in any order. */
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

  /** The calls that have failed at least once, newest first. */
  *failingCalls(): Iterable<FailingCall> {
    for (const call of this.all()) if (call.draft !== undefined) yield call as FailingCall
  }

  /** All active calls, newest first. */
  *all(): Iterable<ActiveCall> {
    for (let call = this.last; call !== undefined; ) {
      const { prevCall } = call
      yield call
      call = prevCall
    }
  }

  /** Resolves when no call is active. A call that is replaced when its first attempt fails is removed and added in one turn. */
  async whenIdle(): Promise<void> {
    while (this.count > 0)
      await new Promise<void>((resolve) => {
        this.onIdle = resolve
      })
  }
}
