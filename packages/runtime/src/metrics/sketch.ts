import { DDSketch } from '@datadog/sketches-js'

/** The maximum relative error of quantiles. */
const RELATIVE_ACCURACY = 0.01

/**
 * The used part of a quantile sketch. The library's types are not part of our published types, because they need a package
 * that users do not have.
 */
export interface Sketch {
  readonly count: number
  /** The number of values that count as 0. */
  readonly zeroCount: number
  readonly store: { readonly bins: readonly number[]; readonly offset: number }
  readonly mapping: { value(key: number): number }
  accept(value: number, weight?: number): void
  merge(other: Sketch): void
  getValueAtQuantile(quantile: number): number
}

/** Creates an empty sketch. */
export const createSketch = (): Sketch =>
  new DDSketch({ relativeAccuracy: RELATIVE_ACCURACY }) as unknown as Sketch
