const reported = new WeakSet<object>()

/**
 * Says once that a function of the user's threw where its error cannot be thrown on: the guarded call has a result of
 * its own that must not be lost.
 */
export function report(what: string, culprit: object, error: unknown): void {
  if (reported.has(culprit)) return
  reported.add(culprit)
  console.error(`holdfast: ${what} threw; the call goes on without it (said once)`, error)
}
