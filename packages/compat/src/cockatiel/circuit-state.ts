/** The state of a circuit breaker. The numbers are also names of properties, as in an enum of TypeScript. */
export const CircuitState = {
  /** Calls run. */
  Closed: 0,
  /** Calls are rejected. */
  Open: 1,
  /** A test call runs, whose result decides whether the circuit closes. */
  HalfOpen: 2,
  /** Calls are rejected until every handle of `isolate` is disposed. */
  Isolated: 3,
  0: 'Closed',
  1: 'Open',
  2: 'HalfOpen',
  3: 'Isolated',
} as const
export type CircuitState = 0 | 1 | 2 | 3

/** The types of the states, under the names that an enum has. */
export declare namespace CircuitState {
  export type Closed = 0
  export type Open = 1
  export type HalfOpen = 2
  export type Isolated = 3
}
