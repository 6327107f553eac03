// An object, because the sources contain no enums. Its type is that of an enum: `keyof` has the names, not the numbers.
declare enum State {
  /** Calls run. */
  Closed = 0,
  /** Calls are rejected. */
  Open = 1,
  /** A test call runs, whose result decides whether the circuit closes. */
  HalfOpen = 2,
  /** Calls are rejected until every handle of `isolate` is disposed. */
  Isolated = 3,
}

/** The state of a circuit breaker. The numbers are also names of properties, as in an enum of TypeScript. */
export const CircuitState = {
  Closed: 0,
  Open: 1,
  HalfOpen: 2,
  Isolated: 3,
  0: 'Closed',
  1: 'Open',
  2: 'HalfOpen',
  3: 'Isolated',
} as unknown as typeof State
export type CircuitState = State

/** The types of the states, under the names that an enum has. */
export declare namespace CircuitState {
  export type Closed = State.Closed
  export type Open = State.Open
  export type HalfOpen = State.HalfOpen
  export type Isolated = State.Isolated
}
