/** Settings as a file holds them. */
export type Mapping = Record<string, unknown>

export const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What in a value is no data: what holds itself, as aliases may make it, and what cannot be written down. */
export function findNonData(value: unknown): string | undefined {
  const ancestors = new Set<unknown>()
  const checked = new Set<unknown>()
  const visit = (value: unknown): string | undefined => {
    if (typeof value === 'function' || typeof value === 'symbol') return `holds a ${typeof value}`
    if (typeof value !== 'object' || value === null || checked.has(value)) return undefined
    if (ancestors.has(value)) return 'holds itself: aliases lead in a circle'
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
