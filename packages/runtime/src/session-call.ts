import type { CallOptions } from './api-types.js'

/** The key of the mark in call options: a symbol, so that wrappers of `hf.run` copy it and callers cannot set it. */
const SESSION = Symbol('session')

/** Marks the options of a call that resolves to its value and its session. */
export const withSession = (options: CallOptions<unknown> | undefined): CallOptions<unknown> | undefined =>
  options !== undefined && Object(options) !== options
    ? options // rejected as invalid
    : Object.assign({}, options, { [SESSION]: true })

/** Whether a call resolves to its value and its session. */
export const hasSession = (options: CallOptions<unknown> | undefined): boolean =>
  (options as { [SESSION]?: boolean } | undefined)?.[SESSION] === true
