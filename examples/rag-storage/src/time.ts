// Real time: the example waits for a real server.

/** Monotonic time in milliseconds. */
// oxlint-disable-next-line holdfast/clock -- a real server takes real time
export const now = (): number => performance.now()

export function sleep(ms: number): Promise<void> {
  // oxlint-disable-next-line holdfast/clock -- a real server takes real time
  return new Promise((resolve) => setTimeout(resolve, ms))
}
