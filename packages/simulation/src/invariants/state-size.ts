import { getEventListeners } from 'node:events'

/** The size of the state that is reachable from an object. */
export interface StateSize {
  /** The number of objects. */
  readonly objects: number
  /** The numbers of elements in arrays, maps and sets, by the class that has them, and of listeners by the class of their target. */
  readonly elements: Map<string, number>
  /** The numbers of objects, by their class. */
  readonly instances: Map<string, number>
}

type Kind = 'opaque' | 'map' | 'set' | 'array' | 'controller' | 'signal' | 'object'

/** What an object is, which follows from its prototype. */
interface ObjectClass {
  readonly kind: Kind
  /** Undefined for plain objects, whose elements count for the object that has them. */
  readonly name: string | undefined
}

function kindOf(value: object): Kind {
  if (value instanceof Map) return 'map'
  if (value instanceof Set) return 'set'
  if (Array.isArray(value)) return 'array'
  if (value instanceof AbortController) return 'controller'
  if (value instanceof AbortSignal) return 'signal'
  // Objects without a state of their own, and those whose content cannot be read.
  const isOpaque =
    value instanceof Promise ||
    value instanceof Date ||
    value instanceof RegExp ||
    value instanceof WeakMap ||
    ArrayBuffer.isView(value)
  return isOpaque ? 'opaque' : 'object'
}

const PLAIN_OBJECT: ObjectClass = { kind: 'object', name: undefined }

/** The classes that were seen, by prototype. */
const classes = new WeakMap<object, ObjectClass>()

function classOf(value: object): ObjectClass {
  const prototype = Object.getPrototypeOf(value) as object | null
  if (prototype === null || prototype === Object.prototype) return PLAIN_OBJECT
  const known = classes.get(prototype)
  if (known !== undefined) return known
  // A bundle adds an underscore to the name of a class that refers to itself, and a number to a name that two files declare.
  const name = value.constructor?.name.replace(/^_|\d+$/g, '')
  const found = { kind: kindOf(value), name: name === 'Object' ? undefined : name }
  classes.set(prototype, found)
  return found
}

/**
 * Counts the objects and the elements of collections that are reachable through properties, maps, sets and arrays, without those
 * that belong to the outside. Variables of closures are not reachable. The result depends on the state alone, so it
 * is the same in each run of a seed, unlike the size of the heap.
 */
export function measureState(root: object, isOutside: (value: object) => boolean): StateSize {
  const seen = new Set<object>()
  const elements = new Map<string, number>()
  const instances = new Map<string, number>()
  // The objects that were found and not visited, with their classes and the names of the classes that have them.
  const values: object[] = []
  const valueClasses: ObjectClass[] = []
  const owners: string[] = []

  const add = (value: unknown, owner: string) => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    const valueClass = classOf(value)
    if (valueClass.kind === 'opaque' || isOutside(value)) return
    seen.add(value)
    values.push(value)
    valueClasses.push(valueClass)
    owners.push(owner)
  }
  const addElements = (owner: string, count: number) => {
    if (count > 0) elements.set(owner, (elements.get(owner) ?? 0) + count)
  }

  add(root, '')
  for (let value = values.pop(); value !== undefined; value = values.pop()) {
    const { kind, name } = valueClasses.pop() as ObjectClass
    const owner = owners.pop() as string
    switch (kind) {
      case 'map':
        addElements(owner, (value as Map<unknown, unknown>).size)
        for (const [key, item] of value as Map<unknown, unknown>) {
          add(key, owner)
          add(item, owner)
        }
        break
      case 'set':
        addElements(owner, (value as Set<unknown>).size)
        for (const item of value as Set<unknown>) add(item, owner)
        break
      case 'array':
        addElements(owner, (value as unknown[]).length)
        for (const item of value as unknown[]) add(item, owner)
        break
      case 'controller':
        add((value as AbortController).signal, owner)
        break
      case 'signal':
        addElements('AbortSignal', getEventListeners(value as AbortSignal, 'abort').length)
        break
      case 'opaque':
        break
      case 'object': {
        const itemOwner = name ?? owner
        if (name !== undefined) instances.set(name, (instances.get(name) ?? 0) + 1)
        for (const key of Object.keys(value)) add((value as Record<string, unknown>)[key], itemOwner)
      }
    }
  }
  return { objects: seen.size, elements, instances }
}
