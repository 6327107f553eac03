/** The label of all names beyond the limit. */
export const OTHER_LABEL = 'other'

/** Values by name, with a limited number of names, because names may come from outside. */
export class LabelledValues<T> {
  private readonly values = new Map<string, T>()
  private readonly createValue: () => T
  private readonly maxLabels: number

  constructor(make: () => T, room: number) {
    this.createValue = make
    this.maxLabels = room
  }

  /** Returns the value of a name and creates it if necessary. Beyond the limit it returns the value of `other`. */
  get(name: string): T {
    const existing = this.values.get(name)
    if (existing !== undefined) return existing
    const key = this.labelFor(name)
    let value = this.values.get(key)
    if (value === undefined) {
      value = this.createValue()
      this.values.set(key, value)
    }
    return value
  }

  /** Returns the value of a label; undefined where there is none. */
  find(label: string): T | undefined {
    return this.values.get(label)
  }

  /** The label under which the value of a name is or would be: the name, or `other` beyond the limit. */
  labelFor(name: string): string {
    return this.values.has(name) || this.values.size < this.maxLabels ? name : OTHER_LABEL
  }

  /** Deletes the values that are expired. */
  prune(isExpired: (value: T) => boolean): void {
    for (const [name, value] of this.values) if (isExpired(value)) this.values.delete(name)
  }

  [Symbol.iterator](): IterableIterator<[string, T]> {
    return this.values.entries()
  }
}
