// The one place where the example meets real time: it waits for a real server.

/** Milliseconds, of which only differences mean something. */
// oxlint-disable-next-line holdfast/clock -- a real server takes real time
export const now = (): number => performance.now()

export function sleep(ms: number): Promise<void> {
  // oxlint-disable-next-line holdfast/clock -- a real server takes real time
  return new Promise((resolve) => setTimeout(resolve, ms))
}
