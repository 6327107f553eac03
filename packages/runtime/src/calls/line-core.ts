import type { Classification } from 'holdfast'
import { compileMatchers, GuardCore, type GuardSettings, report } from 'holdfast/engine'

/** Sorts errors into the kinds of the user's own before all others. */
export class LineCore extends GuardCore {
  private readonly kinds: readonly (readonly [string, (error: unknown, known: Classification) => boolean])[]

  /** `watched` where something is decided by when a call begins that the settings do not tell of. */
  constructor(settings: GuardSettings, kinds: Readonly<Record<string, readonly string[]>>, watched: boolean) {
    super(settings)
    this.timeless &&= !watched
    this.kinds = Object.entries(kinds).map(
      ([kind, names]) =>
        [
          kind,
          compileMatchers(names, (error, predicate) => report(`error kind ${kind}`, predicate, error)),
        ] as const,
    )
  }

  override classify(result: unknown, threw: boolean): Classification {
    const known = super.classify(result, threw)
    const own = threw ? this.kinds.find(([, match]) => match(result, known)) : undefined
    return own === undefined ? known : { ...known, kind: own[0] as Classification['kind'] }
  }
}
