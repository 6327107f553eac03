import type { Holdfast } from '@holdfast/runtime'

/** What the server needs of a runtime: a `Holdfast` of `@holdfast/runtime` is one. */
export type HoldfastLike = Pick<
  Holdfast,
  | 'audit'
  | 'breakers'
  | 'config'
  | 'deadLetters'
  | 'errors'
  | 'events'
  | 'fleet'
  | 'health'
  | 'metrics'
  | 'nodes'
  | 'policies'
  | 'pools'
  | 'run'
  | 'sessions'
  | 'store'
>
