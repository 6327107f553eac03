import type { IsSecret } from './keys.js'
import { REDACTED } from './text.js'

/** The bounds of a copy: how deep, how many values and how many characters in all. */
const DEEPEST = 12
const MOST_VALUES = 5000
const MOST_CHARACTERS = 65_536

const CIRCULAR = '[circular]'
const TOO_DEEP = '[too deep]'
const TOO_MUCH = '[too much]'
const UNREADABLE = '[unreadable]'

/** Headers whose values are known wherever they come in a list; those of others have their place in one. */
const HEADER = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)$/i

type Bag = Record<string, unknown>

/** Makes the function that copies values; see `makeRedactor`. */
export function copier(isSecret: IsSecret, text: (text: string) => string): (value: unknown) => unknown {
  return (value) => (typeof value === 'string' ? text(value) : new Copy(isSecret, text).of(value))
}

/** One copy in the making. */
class Copy {
  private values = 0
  private characters = 0
  private readonly above: object[] = []
  private readonly isSecret: IsSecret
  private readonly text: (text: string) => string

  constructor(isSecret: IsSecret, text: (text: string) => string) {
    this.isSecret = isSecret
    this.text = text
  }

  of(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
        return this.string(value)
      case 'object':
        return value === null ? null : this.object(value)
      case 'bigint':
        return `${value}n`
      case 'function':
        return '[function]'
      case 'symbol':
        return '[symbol]'
      case 'boolean':
      case 'number':
      case 'undefined':
        return value
    }
  }

  private string(value: string): string {
    if (this.characters > MOST_CHARACTERS) return TOO_MUCH
    const result = this.text(value)
    this.characters += result.length
    return result
  }

  private object(value: object): unknown {
    const { above } = this
    if (above.includes(value)) return CIRCULAR
    if (above.length >= DEEPEST) return TOO_DEEP
    if (++this.values > MOST_VALUES) return TOO_MUCH
    above.push(value)
    try {
      return this.inside(value)
    } catch {
      return UNREADABLE
    } finally {
      above.pop()
    }
  }

  private inside(value: object): unknown {
    if (Array.isArray(value)) return this.list(value)
    const kind = Object.getPrototypeOf(value) as object | null
    if (kind === Object.prototype || kind === null) return this.fields(value as Bag, {})
    if (value instanceof Date)
      return Number.isNaN(value.getTime()) ? '[invalid date]' : new Date(value.getTime())
    if (value instanceof Error) return this.error(value)
    if (value instanceof Map) return this.pairs(value)
    if (value instanceof Set) return this.list([...value].slice(0, MOST_VALUES + 1))
    if (value instanceof Headers || value instanceof FormData) return this.pairs(value)
    if (value instanceof URLSearchParams) return this.string(`?${value}`).slice(1)
    if (value instanceof RegExp) return this.string(String(value))
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`
    if (value instanceof Promise) return '[promise]'
    if (value instanceof WeakMap || value instanceof WeakSet) return '[unreadable]'
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') return this.of(toJSON.call(value))
    return this.fields(value as Bag, {})
  }

  private fields(value: Bag, result: Bag): Bag {
    for (const key of Object.keys(value)) {
      if (++this.values > MOST_VALUES) {
        result['…'] = TOO_MUCH
        break
      }
      let held: unknown
      try {
        held = value[key]
        // A header as an object of its own, as archives of requests have them.
        if (key === 'value' && typeof value.name === 'string' && this.isSecret(value.name, held))
          held = REDACTED
      } catch {
        held = UNREADABLE
      }
      this.put(result, key, held)
    }
    return result
  }

  private put(result: Bag, key: string, held: unknown): void {
    const copy = this.isSecret(key, held) ? REDACTED : this.of(held)
    // A key may hold a secret itself, and a plain assignment to this one would change the prototype.
    const name = key.length > 20 ? this.text(key) : key
    if (name === '__proto__')
      Object.defineProperty(result, name, {
        value: copy,
        enumerable: true,
        configurable: true,
        writable: true,
      })
    else result[name] = copy
  }

  private pairs(entries: Iterable<readonly [unknown, unknown]>): Bag {
    const result: Bag = {}
    for (const [key, held] of entries) {
      if (++this.values > MOST_VALUES) {
        result['…'] = TOO_MUCH
        break
      }
      this.put(result, typeof key === 'string' ? key : String(this.of(key)), held)
    }
    return result
  }

  private list(value: readonly unknown[]): unknown[] {
    const result: unknown[] = []
    // Entries of an object, and the raw headers of Node.js: what follows a secret name is secret.
    const pair = value.length === 2
    for (let i = 0; i < value.length; i++) {
      if (++this.values > MOST_VALUES) {
        result.push(TOO_MUCH)
        break
      }
      const before = i > 0 ? value[i - 1] : undefined
      const paired = pair || (value.length % 2 === 0 && i % 2 === 1 && typeof value[i] === 'string')
      result.push(this.isNamed(before, value[i], paired) ? REDACTED : this.of(value[i]))
    }
    return result
  }

  /** Whether what stands in a list is secret by what stands before it: its name, where the list is one of pairs. */
  private isNamed(before: unknown, held: unknown, paired: boolean): boolean {
    if (typeof before !== 'string') return false
    return paired ? this.isSecret(before, held) : typeof held === 'string' && HEADER.test(before)
  }

  private error(error: Error): Bag {
    const result: Bag = {}
    this.put(result, 'name', error.name)
    this.put(result, 'message', error.message)
    if (error.cause !== undefined) this.put(result, 'cause', error.cause)
    if (error instanceof AggregateError) this.put(result, 'errors', error.errors)
    return this.fields(error as unknown as Bag, result)
  }
}
