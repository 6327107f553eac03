/** Lets the event loop run once. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Resolves when a condition holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await turn()
}
