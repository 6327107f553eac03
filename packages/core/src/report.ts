const reported = new WeakSet<object>()

/**
 * Reports once on stderr that a user's function threw. Its error cannot be thrown, because the guarded call has a result of
 * its own that must not be lost.
 */
export function reportOnce(description: string, source: object, error: unknown): void {
  if (reported.has(source)) return
  reported.add(source)
  console.error(`holdfast: ${description} threw; the call continues (reported once)`, error)
}
