import type { CallOptions, Holdfast } from '@holdfast/runtime'
import { type Attempt, type Clock, type Guard, guard, HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { GuardDefinition, HoldfastModuleOptions } from './options.js'

type AnyGuard = Guard<Attempt, unknown>

const isGuard = (definition: GuardDefinition): definition is AnyGuard =>
  typeof (definition as AnyGuard).run === 'function'

/** The guards of an application by name, and the operations of its runtime. */
export class GuardRegistry {
  readonly runtime: Holdfast | undefined
  /** The runtime if the module has opened it. */
  readonly ownRuntime: Holdfast | undefined
  readonly clock: Clock
  private readonly definitions = new Map<string, GuardDefinition>()
  private readonly guards = new Map<string, AnyGuard>()

  constructor(runtime: Holdfast | undefined, { guards = {}, clock, open }: HoldfastModuleOptions) {
    this.runtime = runtime
    this.ownRuntime = open === undefined ? undefined : runtime
    this.clock = clock ?? (typeof open === 'object' ? open.clock : undefined) ?? systemClock
    for (const [name, definition] of Object.entries(guards)) this.define(name, definition)
  }

  /** Adds a guard. @throws INVALID_OPTIONS if its options are invalid or another guard has the name */
  define(name: string, definition: GuardDefinition): AnyGuard {
    const existing = this.guards.get(name)
    if (existing !== undefined) {
      // Nest creates the providers of a module again when several modules import it with equal options.
      if (this.definitions.get(name) === definition) return existing
      throw new HoldfastError('INVALID_OPTIONS', `the guard ${JSON.stringify(name)} is defined twice`)
    }
    const created = isGuard(definition) ? definition : this.create(name, definition)
    this.definitions.set(name, definition)
    this.guards.set(name, created)
    return created
  }

  private create(name: string, options: Exclude<GuardDefinition, AnyGuard>): AnyGuard {
    return this.runtime === undefined
      ? guard({ name, clock: this.clock, ...options })
      : this.runtime.guardFor(options.name ?? name, options as object)
  }

  /** The guard of this name, else the guard of an operation. @throws INVALID_OPTIONS if there is neither a guard nor a runtime */
  get(name: string): AnyGuard {
    return this.guards.get(name) ?? this.runtimeFor(name).guard(name)
  }

  /** Runs a call under the guard of this name, else under an operation of the runtime. */
  run<T>(
    name: string,
    fn: (attempt: Attempt) => T | PromiseLike<T>,
    options: CallOptions | undefined,
  ): Promise<unknown> {
    const named = this.guards.get(name)
    return named === undefined
      ? this.runtimeFor(name).run(name, fn, options)
      : named.run(fn, options as object | undefined)
  }

  /** The guards that were defined. */
  defined(): IterableIterator<[name: string, guard: AnyGuard]> {
    return this.guards.entries()
  }

  private runtimeFor(name: string): Holdfast {
    if (this.runtime !== undefined) return this.runtime
    const known = [...this.guards.keys()].map((each) => JSON.stringify(each)).join(', ') || 'none'
    throw new HoldfastError(
      'INVALID_OPTIONS',
      `there is no guard ${JSON.stringify(name)} (defined: ${known}) and no runtime; add it to HoldfastModule`,
    )
  }
}
