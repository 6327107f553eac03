/** Where everything is counted that comes after the last name there is room for. */
const OTHER_LABEL = 'other'

/** Things by name, and no more names than there is room for: names may come from outside. */
export class LabelledValues<T> {
  private readonly values = new Map<string, T>()
  private readonly createValue: () => T
  private readonly maxLabels: number

  constructor(make: () => T, room: number) {
    this.createValue = make
    this.maxLabels = room
  }

  /** What is under a name, made where it is new; what is under `other` where there is no room for it. */
  get(name: string): T {
    const existing = this.values.get(name)
    if (existing !== undefined) return existing
    const key = this.values.size < this.maxLabels ? name : OTHER_LABEL
    let value = this.values.get(key)
    if (value === undefined) {
      value = this.createValue()
      this.values.set(key, value)
    }
    return value
  }

  /** Makes room by letting go of some. */
  prune(isExpired: (thing: T) => boolean): void {
    for (const [name, value] of this.values) if (isExpired(value)) this.values.delete(name)
  }

  [Symbol.iterator](): Iterator<[string, T]> {
    return this.values.entries()
  }
}
