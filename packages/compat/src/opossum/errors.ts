const OUR_ERROR = Symbol.for('holdfast.compat.opossum.error')

/** Creates an error of the circuit itself, with the codes of opossum. */
export function createCircuitError(message: string, code: string): Error {
  return Object.assign(new Error(message), { code, [OUR_ERROR]: true })
}

/** Whether the circuit created an error; false for the errors of the action. */
export const isCircuitError = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && OUR_ERROR in error
