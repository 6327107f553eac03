import { HoldfastError, type HoldfastErrorCode, isHoldfastError } from 'holdfast'
import type { TableName } from './host.js'
import type { TableOptions } from './tables.js'

/** The input of the thread. */
export interface ThreadInput {
  readonly file: string
  readonly options: TableOptions
}

/** A call of a method of the tables. */
export interface ThreadRequest {
  readonly id: number
  readonly table: TableName
  readonly method: string
  readonly args: readonly unknown[]
}

/** The result of a call. */
export type ThreadResponse = {
  readonly id: number
  /** Whether rows were found that cannot be read. */
  readonly hasUnreadableRows: boolean
} & ({ readonly result: unknown } | { readonly error: EncodedError })

/** The fields of an error that an error has after it was sent to another thread. */
const ERROR_FIELDS = [
  'code',
  'errno',
  'syscall',
  'path',
  'dest',
  'errcode',
  'rawCode',
  'status',
  'retryAfter',
  'details',
  'problems',
] as const

interface EncodedError {
  readonly isHoldfastError: boolean
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly cause?: EncodedError
}

/** How many causes of an error are sent. */
const MAX_CAUSES = 4

/** An error as plain data, because sending an error removes its class and most fields. */
export function encodeError(error: unknown, maxCauses = MAX_CAUSES): EncodedError {
  const object = Object(error) as Error & Record<string, unknown>
  return {
    isHoldfastError: isHoldfastError(error),
    name: error instanceof Error ? error.name : 'Error',
    message: error instanceof Error ? error.message : String(error),
    stack: error instanceof Error ? error.stack : undefined,
    fields: Object.fromEntries(
      ERROR_FIELDS.filter((field) => object[field] !== undefined).map((field) => [field, object[field]]),
    ),
    ...(object.cause === undefined || maxCauses === 0
      ? {}
      : { cause: encodeError(object.cause, maxCauses - 1) }),
  }
}

export function decodeError(encoded: EncodedError): Error {
  const { name, message, stack, fields } = encoded
  const options = encoded.cause === undefined ? {} : { cause: decodeError(encoded.cause) }
  const error = encoded.isHoldfastError
    ? new HoldfastError(fields.code as HoldfastErrorCode, message, options)
    : new Error(message, options)
  // The name of an error is not among its own fields, unless it was set.
  if (error.name !== name)
    Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  return Object.assign(error, fields, stack === undefined ? {} : { stack })
}
