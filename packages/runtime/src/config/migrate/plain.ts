/** Settings as a file holds them. */
export type Mapping = Record<string, unknown>

export const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What in a value is no data: what holds itself, as aliases may make it, and what cannot be written down. */
export function strangeIn(value: unknown): string | undefined {
  const above = new Set<unknown>()
  const sound = new Set<unknown>()
  const look = (held: unknown): string | undefined => {
    if (typeof held === 'function' || typeof held === 'symbol') return `holds a ${typeof held}`
    if (typeof held !== 'object' || held === null || sound.has(held)) return undefined
    if (above.has(held)) return 'holds itself: aliases lead in a circle'
    above.add(held)
    for (const inner of Object.values(held)) {
      const strange = look(inner)
      if (strange !== undefined) return strange
    }
    above.delete(held)
    sound.add(held)
    return undefined
  }
  return look(value)
}
