const reported = new WeakSet<object>()

/**
 * Says once that a function of the user's threw where its error cannot be thrown on: the guarded call has a result of
 * its own that must not be lost.
 */
export function reportOnce(description: string, source: object, error: unknown): void {
  if (reported.has(source)) return
  reported.add(source)
  console.error(`holdfast: ${description} threw; the call goes on without it (said once)`, error)
}
