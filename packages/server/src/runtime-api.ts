import type { Holdfast } from '@holdfast/runtime'

/** The part of a runtime that the server uses: a `Holdfast` of `@holdfast/runtime` has it. */
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
