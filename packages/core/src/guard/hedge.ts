import { bindContext } from '../async-context.js'
import type { Classification } from '../classify/index.js'
import { isHoldfastError } from '../errors.js'
import { Flight } from './attempt.js'
import type { Call } from './call.js'
import type { Leg } from './journal.js'
import { CALLED_OFF } from './verdict.js'

/** What a call that another was quicker than is aborted with. */
const QUICKER = new DOMException('Another call of the hedge was quicker', 'AbortError')

type Part = Leg & { readonly flight: Flight }

/**
 * Makes one attempt of several calls: another joins after each `delay` without an answer, and at once after a failure,
 * while there are any left and the budget has a retry for it. The first to succeed wins; the others are aborted and never
 * heard of again. When the last has failed, so has the attempt, with the last one's error.
 */
export function hedged<T>(call: Call<T>): Promise<unknown> {
  const { guard, number } = call
  const { hedge, clock, budget, pool } = guard.settings
  const live = new Set<Part>()
  let left = hedge?.max ?? 0
  let timer: unknown
  let over = false
  return new Promise((resolve, reject) => {
    const finish = (reason: unknown, known: Classification) => {
      over = true
      clock.clearTimer(timer)
      for (const part of live) {
        call.credit(part, true, reason, known, undefined)
        part.flight.abort(reason)
      }
    }
    // What the attempt comes to is what this part of it came to.
    const become = (part: Part) => {
      live.delete(part)
      call.startedAt = part.startedAt
      call.pick = part.pick
      call.elsewhere = part.elsewhere
      call.flight = part.flight
    }
    const join = () => {
      clock.clearTimer(timer)
      if (over || left === 0) return
      if (!start() && live.size > 0 && hedge?.delay) wait()
    }
    const wait = () => {
      timer = clock.setTimer(bindContext(join), hedge?.delay ?? 0)
    }
    /** Sends another call, where breaker, pool and budget have nothing against it. */
    const start = (): boolean => {
      // The budget comes last: nothing is taken of it for a call that is not made.
      if (!call.unhindered || pool?.hasOther([]) === false || budget?.withdraw() === false) return false
      const pick = pool && call.choose()
      if (pool !== undefined && pick === undefined) return false
      left--
      launch(pick)
      return true
    }
    const launch = (pick: Part['pick']) => {
      const flight = new Flight(number, pick?.member)
      const part: Part = { number, startedAt: clock.now(), flight, pick, elsewhere: undefined }
      live.add(part)
      if (left > 0) wait()
      call.part(flight).then(
        (value) => {
          if (over) return
          become(part)
          finish(QUICKER, CALLED_OFF)
          resolve(value)
        },
        (error) => {
          if (over) return
          live.delete(part)
          const known = guard.classify(error, true)
          const elsewhere = call.credit(part, true, error, known, undefined)
          if (call.wantsAgain(error, known, elsewhere) && !call.asksForTime(known)) join()
          else left = 0
          if (live.size > 0)
            call.record(part, known.kind === 'timeout' ? 'timeout' : 'failure', true, error, known)
          else {
            become(part)
            finish(error, known)
            reject(error)
          }
        },
      )
    }
    // One that is cut off is written down as the oldest part of it that is still under way.
    call.unite = () => {
      const [oldest] = live
      if (oldest !== undefined && !over) become(oldest)
    }
    // A deadline speaks against those it ends; the caller's abort does not.
    call.onCut = (reason) => {
      if (over) return
      finish(reason, isHoldfastError(reason) ? guard.classify(reason, true) : CALLED_OFF)
      reject(reason)
    }
    const { pick } = call
    call.pick = undefined
    call.flight = undefined
    launch(pick)
  })
}
