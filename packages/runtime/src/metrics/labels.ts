/** Where everything is counted that comes after the last name there is room for. */
const OTHER = 'other'

/** Things by name, and no more names than there is room for: names may come from outside. */
export class Labels<T> {
  private readonly things = new Map<string, T>()
  private readonly make: () => T
  private readonly room: number

  constructor(make: () => T, room: number) {
    this.make = make
    this.room = room
  }

  /** What is under a name, made where it is new; what is under `other` where there is no room for it. */
  get(name: string): T {
    const known = this.things.get(name)
    if (known !== undefined) return known
    const key = this.things.size < this.room ? name : OTHER
    let thing = this.things.get(key)
    if (thing === undefined) {
      thing = this.make()
      this.things.set(key, thing)
    }
    return thing
  }

  /** Makes room by letting go of some. */
  prune(gone: (thing: T) => boolean): void {
    for (const [name, thing] of this.things) if (gone(thing)) this.things.delete(name)
  }

  [Symbol.iterator](): Iterator<[string, T]> {
    return this.things.entries()
  }
}
