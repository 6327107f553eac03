import { getEventListeners } from 'node:events'

/** The size of the state that is reachable from an object. */
export interface StateSize {
  /** The number of objects. */
  readonly objects: number
  /** The numbers of elements in arrays, maps and sets, by the class that has them, and of listeners by the class of their target. */
  readonly elements: Map<string, number>
}

/** Objects without a state of their own, and those whose content cannot be read. */
const isOpaque = (value: object): boolean =>
  value instanceof Promise ||
  value instanceof Date ||
  value instanceof RegExp ||
  value instanceof WeakMap ||
  ArrayBuffer.isView(value)

/**
 * Counts the objects and the elements of collections that are reachable through properties, maps, sets and arrays, without those
 * that belong to the outside. Variables of closures are not reachable. The result depends on the state alone, so it
 * is the same in each run of a seed, unlike the size of the heap.
 */
export function measureState(root: object, isOutside: (value: object) => boolean): StateSize {
  const seen = new Set<object>()
  const elements = new Map<string, number>()
  const pending: { readonly value: object; readonly owner: string }[] = []
  let objects = 0

  const add = (value: unknown, owner: string) => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    if (isOpaque(value) || isOutside(value)) return
    seen.add(value)
    objects++
    pending.push({ value, owner })
  }
  const addElements = (owner: string, count: number) => {
    if (count > 0) elements.set(owner, (elements.get(owner) ?? 0) + count)
  }

  add(root, '')
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, owner } = next
    if (value instanceof Map) {
      addElements(owner, value.size)
      for (const [key, item] of value) {
        add(key, owner)
        add(item, owner)
      }
    } else if (value instanceof Set || Array.isArray(value)) {
      addElements(owner, value instanceof Set ? value.size : value.length)
      for (const item of value) add(item, owner)
    } else if (value instanceof AbortController) add(value.signal, owner)
    else if (value instanceof AbortSignal)
      addElements('AbortSignal', getEventListeners(value, 'abort').length)
    else {
      const className = value.constructor?.name
      const name = className === undefined || className === 'Object' ? owner : className
      for (const key of Object.keys(value)) add((value as Record<string, unknown>)[key], name)
    }
  }
  return { objects, elements }
}
