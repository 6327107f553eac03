import { afterAll, vi } from 'vitest'

/** Test files share their process, so what one of them did to the machine’s timers ends with it. */
afterAll(() => {
  vi.useRealTimers()
})

/** A worker whose vitest was killed ends, and the servers that it started end with it. */
if (process.listenerCount('disconnect') === 0)
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
