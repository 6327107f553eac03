import { DDSketch } from '@datadog/sketches-js'

/** Quantiles are within a hundredth of the truth. */
const RELATIVE_ACCURACY = 0.01

/**
 * A sketch of many numbers that tells their quantiles, as far as it is used here. The library's own types are not published with
 * ours: they need those of a package that users do not have.
 */
export interface Sketch {
  readonly count: number
  /** Numbers that count as 0. */
  readonly zeroCount: number
  readonly store: { readonly bins: readonly number[]; readonly offset: number }
  readonly mapping: { value(key: number): number }
  accept(value: number, weight?: number): void
  merge(other: Sketch): void
  getValueAtQuantile(quantile: number): number
}

/** A sketch of nothing. */
export const createSketch = (): Sketch =>
  new DDSketch({ relativeAccuracy: RELATIVE_ACCURACY }) as unknown as Sketch
