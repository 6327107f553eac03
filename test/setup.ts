import { afterAll, vi } from 'vitest'

/** Test files share their process, so what one of them did to the machine’s timers ends with it. */
afterAll(() => {
  vi.useRealTimers()
})
