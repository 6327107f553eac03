import type { CommandIo } from '../context/io.js'

/** Runs `work` until it ends or until Ctrl-C, which aborts the signal. Returns whether Ctrl-C ended it. */
export async function runUntilInterrupted(
  io: CommandIo,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<boolean> {
  const controller = new AbortController()
  const off = io.onInterrupt(() => controller.abort())
  try {
    await work(controller.signal)
  } catch (error) {
    if (!controller.signal.aborted) throw error
  } finally {
    off()
  }
  return controller.signal.aborted
}
