import type { Holdfast } from '../holdfast/holdfast.js'

/** The part of a runtime that metrics are read from. */
export type MetricsSource = Pick<
  Holdfast,
  'breakers' | 'config' | 'deadLetters' | 'events' | 'fleet' | 'metrics' | 'policies' | 'pools'
> &
  Partial<Pick<Holdfast, 'budgets'>>
