import { HoldfastError, type HoldfastErrorCode, isHoldfastError } from 'holdfast'
import { ProxyConnectionError } from '../errors.js'
import type { ProxyCounts } from '../server/context.js'
import type { ProxyCall, ProxySettings } from '../server/options.js'
import type { ProxyStatus } from '../server/status-page.js'
import { StatusFailure } from '../server/upstream-response.js'
import { PrivateTargetError } from '../targets/target-policy.js'

/** The settings of a worker: plain data. Guards and the pool stay in the primary. */
export type WorkerSettings = Omit<ProxySettings, 'pool' | 'policies' | 'guard' | 'resolve' | 'clock'>

/** A proxy of the pool, with its credentials. */
export interface SerializedMember {
  readonly id: string
  readonly url: string
  readonly connectTimeout: number
  /** Its TLS options, serialized because they may hold buffers. Undefined if there are none. */
  readonly tls: string | undefined
}

/** The outcome of an attempt, as far as the guard needs it. */
export type WireOutcome =
  | {
      readonly ok: true
      readonly mustNotRepeat: boolean
      readonly status?: number
      readonly headers?: Record<string, string>
    }
  | { readonly ok: false; readonly mustNotRepeat: boolean; readonly error: WireError }

/** From a worker to the primary. */
export type WorkerMessage =
  | { readonly type: 'ready' }
  | {
      readonly type: 'run'
      readonly id: number
      readonly call: ProxyCall
      readonly hasAbortMatchers: boolean
    }
  | {
      readonly type: 'outcome'
      readonly id: number
      readonly attemptKey: number
      readonly outcome: WireOutcome
    }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'can_repeat'; readonly id: number; readonly call: ProxyCall }
  | { readonly type: 'status'; readonly id: number }
  | { readonly type: 'counts'; readonly counts: WorkerCounts }
  | CredentialsMessage

/** From the primary to a worker. A connection is sent as the handle of a separate message. */
export type PrimaryMessage =
  | { readonly type: 'start'; readonly settings: WorkerSettings }
  | {
      readonly type: 'attempt'
      readonly id: number
      readonly attemptKey: number
      readonly number: number
      readonly member: SerializedMember | undefined
    }
  | { readonly type: 'abort'; readonly id: number; readonly attemptKey: number; readonly reason: WireError }
  /** The call ended with the outcome of the attempt `attemptKey`, or with an error of the guard. */
  | {
      readonly type: 'end'
      readonly id: number
      readonly attemptKey: number | undefined
      readonly error?: WireError
    }
  | { readonly type: 'can_repeat'; readonly id: number; readonly value: boolean }
  | { readonly type: 'status'; readonly id: number; readonly status: ProxyStatus }
  | { readonly type: 'close'; readonly timeout: number }
  | CredentialsMessage

/** Credentials that one worker accepted or rejected, for the throttles of the others. */
interface CredentialsMessage {
  readonly type: 'credentials'
  readonly address: string
  readonly name: string | undefined
  readonly isValid: boolean
}

/** The counts of one worker. */
export interface WorkerCounts extends ProxyCounts {
  /** Connections that were handed to it and are closed. */
  closed: number
  openTunnels: number
}

export const CONNECTION = 'connection'

/** An error as it is sent to another process, with the fields that classification reads. */
export interface WireError {
  readonly kind: 'holdfast' | 'proxy' | 'status' | 'private' | 'type_error' | 'other'
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly cause: WireError | undefined
}

/** The fields of an error that classification and error responses read. */
const FIELDS = ['code', 'errno', 'syscall', 'status', 'statusCode', 'headers', 'retryAfter'] as const
const MAX_CAUSES = 5

function kindOf(error: Error): WireError['kind'] {
  if (isHoldfastError(error)) return 'holdfast'
  if (error instanceof ProxyConnectionError) return 'proxy'
  if (error instanceof StatusFailure) return 'status'
  if (error instanceof PrivateTargetError) return 'private'
  return error instanceof TypeError ? 'type_error' : 'other'
}

/** Converts an error to plain data. */
export function encodeError(input: unknown, depth = 0): WireError {
  const error = input instanceof Error ? input : new Error(String(input))
  const fields: Record<string, unknown> = {}
  for (const name of FIELDS) {
    const value = (error as unknown as Record<string, unknown>)[name]
    if (['string', 'number'].includes(typeof value) || (name === 'headers' && isPlain(value)))
      fields[name] = value
  }
  const { name, message, stack, cause } = error
  return {
    kind: kindOf(error),
    name,
    message,
    stack,
    fields,
    cause: cause === undefined || depth === MAX_CAUSES ? undefined : encodeError(cause, depth + 1),
  }
}

const isPlain = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string')

/** Converts the data back to an error. */
export function decodeError(wire: WireError): Error {
  const { kind, name, message, stack, fields } = wire
  const options = wire.cause === undefined ? {} : { cause: decodeError(wire.cause) }
  const error = createError(kind, message, fields, options)
  if (error.name !== name) Object.defineProperty(error, 'name', { value: name, configurable: true })
  if (stack !== undefined) error.stack = stack
  return Object.assign(error, kind === 'holdfast' || kind === 'status' ? {} : fields)
}

function createError(
  kind: WireError['kind'],
  message: string,
  fields: WireError['fields'],
  options: { cause?: Error },
): Error {
  const { code, status, headers, retryAfter } = fields as {
    code: HoldfastErrorCode
    status: number
    headers: Record<string, string>
    retryAfter: number
  }
  if (kind === 'holdfast') return new HoldfastError(code, message, { ...options, retryAfter, status })
  if (kind === 'proxy') return new ProxyConnectionError(message, { ...options, status, headers })
  if (kind === 'status') return new StatusFailure(status, headers ?? {})
  if (kind === 'private') return new PrivateTargetError(message, options)
  return kind === 'type_error' ? new TypeError(message, options) : new Error(message, options)
}
