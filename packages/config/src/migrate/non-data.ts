/**
 * Describes what in a value is not data: circular references, which aliases can create, and values that cannot be written.
 */
export function findNonData(value: unknown): string | undefined {
  const ancestors = new Set<unknown>()
  const checked = new Set<unknown>()
  const visit = (value: unknown): string | undefined => {
    if (typeof value === 'function' || typeof value === 'symbol') return `contains a ${typeof value}`
    if (typeof value !== 'object' || value === null || checked.has(value)) return undefined
    if (ancestors.has(value)) return 'contains a circular alias'
    ancestors.add(value)
    for (const inner of Object.values(value)) {
      const problem = visit(inner)
      if (problem !== undefined) return problem
    }
    ancestors.delete(value)
    checked.add(value)
    return undefined
  }
  return visit(value)
}
