import type { CommandIo } from '../context/io.js'

/** Waits, or less where the signal is aborted. */
export function waitOrAbort({ clock }: CommandIo, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      clock.clearTimer(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.setTimer(end, ms)
    signal?.addEventListener('abort', end)
  })
}

/** Works until Ctrl-C, which aborts the signal. Tells whether that is how it ended. */
export async function runUntilInterrupted(
  io: CommandIo,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<boolean> {
  const stop = new AbortController()
  const off = io.onInterrupt(() => stop.abort())
  try {
    await work(stop.signal)
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    off()
  }
  return stop.signal.aborted
}
