import type { Guard } from 'holdfast'
import type { FakeClock } from 'holdfast/testing'

/** Advances a fake clock by the delay of every retry, and returns the list of delays. */
export function skipDelays(guard: Pick<Guard, 'on'>, clock: FakeClock): number[] {
  const delays: number[] = []
  guard.on((event) => {
    if (event.type !== 'retry_scheduled') return
    delays.push(event.delay)
    setImmediate(() => void clock.advance(event.delay))
  })
  return delays
}
