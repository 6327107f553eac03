import { REDACTED } from 'holdfast/internal'
import type { IsSecret } from './keys.js'

/** The limits of a copy: depth, number of values and number of characters. */
const MAX_DEPTH = 12
const MAX_VALUES = 5000
const MAX_CHARACTERS = 65_536

const CIRCULAR = '[circular]'
const TOO_DEEP = '[too deep]'
const TOO_MUCH = '[too much]'
const UNREADABLE = '[unreadable]'

/** Headers whose value is redacted anywhere in a list. For other names, the list must consist of pairs. */
const SECRET_HEADER_PATTERN = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)$/i

type PlainObject = Record<string, unknown>

/** Creates the function that copies values; see `makeRedactor`. */
export function createRedactingCopier(
  isSecret: IsSecret,
  redactString: (text: string) => string,
): (value: unknown) => unknown {
  return (value) =>
    typeof value === 'string'
      ? redactString(value)
      : new RedactingCopy(isSecret, redactString).copyValue(value)
}

/** The state of one copy. */
class RedactingCopy {
  private values = 0
  private characters = 0
  private readonly ancestors: object[] = []
  private readonly isSecret: IsSecret
  private readonly redactString: (text: string) => string

  constructor(isSecret: IsSecret, redactString: (text: string) => string) {
    this.isSecret = isSecret
    this.redactString = redactString
  }

  copyValue(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
        return this.copyString(value)
      case 'object':
        return value === null ? null : this.copyObject(value)
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

  private copyString(value: string): string {
    if (this.characters > MAX_CHARACTERS) return TOO_MUCH
    const result = this.redactString(value)
    this.characters += result.length
    return result
  }

  private copyObject(value: object): unknown {
    const { ancestors } = this
    if (ancestors.includes(value)) return CIRCULAR
    if (ancestors.length >= MAX_DEPTH) return TOO_DEEP
    if (++this.values > MAX_VALUES) return TOO_MUCH
    ancestors.push(value)
    try {
      return this.copyContent(value)
    } catch {
      return UNREADABLE
    } finally {
      ancestors.pop()
    }
  }

  private copyContent(value: object): unknown {
    if (Array.isArray(value)) return this.copyArray(value)
    const kind = Object.getPrototypeOf(value) as object | null
    if (kind === Object.prototype || kind === null) return this.copyFields(value as PlainObject, {})
    if (value instanceof Date)
      return Number.isNaN(value.getTime()) ? '[invalid date]' : new Date(value.getTime())
    if (value instanceof Error) return this.copyError(value)
    if (value instanceof Map) return this.copyPairs(value)
    if (value instanceof Set) return this.copyArray([...value].slice(0, MAX_VALUES + 1))
    if (value instanceof Headers || value instanceof FormData) return this.copyPairs(value)
    if (value instanceof URLSearchParams) return this.copyString(`?${value}`).slice(1)
    if (value instanceof RegExp) return this.copyString(String(value))
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`
    if (value instanceof Promise) return '[promise]'
    if (value instanceof WeakMap || value instanceof WeakSet) return '[unreadable]'
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') return this.copyValue(toJSON.call(value))
    return this.copyFields(value as PlainObject, {})
  }

  private copyFields(value: PlainObject, result: PlainObject): PlainObject {
    for (const key of Object.keys(value)) {
      if (++this.values > MAX_VALUES || this.characters > MAX_CHARACTERS) {
        result['…'] = TOO_MUCH
        break
      }
      let fieldValue: unknown
      try {
        fieldValue = value[key]
        // A header as an object with name and value, as in HAR files.
        if (key === 'value' && typeof value.name === 'string' && this.isSecret(value.name, fieldValue))
          fieldValue = REDACTED
      } catch {
        fieldValue = UNREADABLE
      }
      this.copyField(result, key, fieldValue)
    }
    return result
  }

  private copyField(result: PlainObject, key: string, fieldValue: unknown): void {
    // A long key may contain a secret itself. `__proto__` is defined, because an assignment would change the prototype.
    const name = key.length > 20 ? this.redactString(key) : key
    this.characters += name.length
    const copy = this.isSecret(key, fieldValue) ? REDACTED : this.copyValue(fieldValue)
    if (name === '__proto__')
      Object.defineProperty(result, name, {
        value: copy,
        enumerable: true,
        configurable: true,
        writable: true,
      })
    else result[name] = copy
  }

  private copyPairs(entries: Iterable<readonly [unknown, unknown]>): PlainObject {
    const result: PlainObject = {}
    for (const [key, fieldValue] of entries) {
      if (++this.values > MAX_VALUES || this.characters > MAX_CHARACTERS) {
        result['…'] = TOO_MUCH
        break
      }
      this.copyField(result, typeof key === 'string' ? key : String(this.copyValue(key)), fieldValue)
    }
    return result
  }

  private copyArray(value: readonly unknown[]): unknown[] {
    const result: unknown[] = []
    // In entries of an object and in raw headers of Node.js, the value after a secret name is secret.
    const isEntry = value.length === 2
    for (let i = 0; i < value.length; i++) {
      if (++this.values > MAX_VALUES) {
        result.push(TOO_MUCH)
        break
      }
      const before = i > 0 ? value[i - 1] : undefined
      const isPaired = isEntry || (value.length % 2 === 0 && i % 2 === 1 && typeof value[i] === 'string')
      result.push(this.isSecretByName(before, value[i], isPaired) ? REDACTED : this.copyValue(value[i]))
    }
    return result
  }

  /** Whether an item of a list is secret because of the item before it, which is its name if the list consists of pairs. */
  private isSecretByName(before: unknown, fieldValue: unknown, isPaired: boolean): boolean {
    if (typeof before !== 'string') return false
    return isPaired
      ? this.isSecret(before, fieldValue)
      : typeof fieldValue === 'string' && SECRET_HEADER_PATTERN.test(before)
  }

  private copyError(error: Error): PlainObject {
    const result: PlainObject = {}
    this.copyField(result, 'name', error.name)
    this.copyField(result, 'message', error.message)
    if (error.cause !== undefined) this.copyField(result, 'cause', error.cause)
    if (error instanceof AggregateError) this.copyField(result, 'errors', error.errors)
    return this.copyFields(error as unknown as PlainObject, result)
  }
}
