import { signal } from '@preact/signals'
import { clock } from './browser.js'

/** The time in epoch milliseconds, a second at a time: countdowns and `12 s ago` follow it. */
export const now = signal(clock.wall())

const updateNow = (): void => {
  now.value = clock.wall()
  clock.setTimer(updateNow, 1000 - (now.peek() % 1000))
}
updateNow()
