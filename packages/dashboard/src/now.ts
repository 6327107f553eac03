import { signal } from '@preact/signals'
import { clock } from './page.js'

/** The time in epoch milliseconds, a second at a time: countdowns and `12 s ago` follow it. */
export const now = signal(clock.wall())

const tick = (): void => {
  now.value = clock.wall()
  clock.setTimer(tick, 1000 - (now.peek() % 1000))
}
tick()
