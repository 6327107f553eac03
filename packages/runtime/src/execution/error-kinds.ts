import type { Classification } from 'holdfast'
import { compileMatchers, type ExecutorOptions, reportOnce } from 'holdfast/internal'

/** Replaces the kind of an error by the first kind of the configuration that matches it. */
export function refineByKinds(
  kinds: Readonly<Record<string, readonly string[]>>,
): NonNullable<ExecutorOptions['refine']> {
  const matchers = Object.entries(kinds).map(([kind, names]) => ({
    kind,
    matches: compileMatchers(names, (error, predicate) => reportOnce(`error kind ${kind}`, predicate, error)),
  }))
  return (error, known) => {
    const own = matchers.find(({ matches }) => matches(error, known))
    return own === undefined ? known : { ...known, kind: own.kind as Classification['kind'] }
  }
}
