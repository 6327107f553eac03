import { type OptionProblem, optionProblem } from '../options.js'
import { readCauseChain } from './cause-chain.js'
import type { Classification, ErrorLike } from './classification.js'
import { anyNode, type ChainPredicate, foreignNamePredicate, isTransientHttp } from './foreign-names.js'
import { grpcStatusOf, isGrpcStatusName } from './grpc.js'
import { sqlStateOf } from './sql.js'

/** An error class, which can be abstract. */
export type ErrorClass = abstract new (...args: never[]) => unknown

/**
 * An entry of `retryOn`, `abortOn` and `failureOn`: an error class, a name or a predicate.
 *
 * A name is a class name (also of an ancestor), an error code that looks like an identifier, a kind, a category,
 * a class of SQLSTATE (`sql:23`), a gRPC status (`grpc:UNAVAILABLE`), or an equivalent exception of Python or Java
 * (`socket.timeout`). Classes and names also match the causes of an error and the members of an AggregateError. A
 * predicate gets the error itself, and matches if it returns `true`.
 *
 * A function counts as a class when it inherits from `Error` or its source begins with `class`; any other is a
 * predicate.
 */
// oxlint-disable-next-line no-explicit-any -- a predicate can declare the type of its errors
export type Matcher = string | ErrorClass | ((error: any) => boolean)

/** Whether an error, classified as given, matches a list. */
export type CompiledMatcher = (error: unknown, classification: Classification) => boolean

const NAME_PATTERN = /^[a-z_$][\w$]*(\.[a-z_$][\w$]*)*$/i
const SQL_PATTERN = /^sql:([\dA-Z]{2,5})$/
const GRPC_PATTERN = /^grpc:([A-Z_]+)$/

export type Predicate = (error: unknown) => boolean

/** Whether a function is a class. */
export const isClass = (value: ErrorClass | Predicate): value is ErrorClass =>
  value === Error ||
  value.prototype instanceof Error ||
  /^class\b/.test(Function.prototype.toString.call(value))

/** Whether an error has that name or code, or its class or one of the class's ancestors has that name. */
function hasNameOrAncestor(node: ErrorLike, name: string): boolean {
  for (let proto = node; proto !== null; proto = Object.getPrototypeOf(proto)) {
    if (proto.constructor?.name === name) return true
  }
  return hasNameOrCode(node, name)
}

const hasNameOrCode = ({ name, code }: ErrorLike, expectedName: string): boolean =>
  name === expectedName || code === expectedName

function createNamePredicate(name: string): ChainPredicate {
  const sqlState = SQL_PATTERN.exec(name)?.[1]
  if (sqlState !== undefined) return anyNode((node) => sqlStateOf(node)?.startsWith(sqlState))
  const grpcStatus = GRPC_PATTERN.exec(name)?.[1]
  if (grpcStatus !== undefined) return anyNode((node) => grpcStatusOf(node) === grpcStatus)
  const foreignPredicate = foreignNamePredicate(name)
  return (chain, classification) => {
    const { kind, category, httpStatus } = classification
    const { nodes, rejection } = chain
    if (
      rejection === undefined &&
      (kind === name || category === name || foreignPredicate?.(chain, classification))
    )
      return true
    if (foreignPredicate === isTransientHttp && httpStatus !== undefined) return false
    return nodes.some((node) => (node === rejection ? hasNameOrCode : hasNameOrAncestor)(node, name))
  }
}

/** Matches a class. A rejection is an Error too, but only a subclass of Error matches it, not Error itself. */
const createClassPredicate =
  (type: ErrorClass): ChainPredicate =>
  ({ nodes, rejection }) =>
    nodes.some((node) => node instanceof type && (node !== rejection || type.prototype instanceof Error))

/** Wraps a predicate so that one that throws, for example on a Proxy, does not match. */
const createSafePredicate =
  (predicate: ChainPredicate, onThrow?: (error: unknown) => void): ChainPredicate =>
  (chain, classification) => {
    try {
      return predicate(chain, classification)
    } catch (thrown) {
      onThrow?.(thrown)
      return false
    }
  }

/**
 * Compiles a list of matchers into one function. A predicate that throws matches nothing and is passed to `onThrow`. The
 * causes of a rejection such as CIRCUIT_OPEN are not inspected, and the rejection itself matches by its code or class only.
 */
export function compileMatchers(
  matchers: readonly Matcher[],
  onThrow?: (error: unknown, predicate: (error: unknown) => boolean) => void,
): CompiledMatcher {
  const predicates = matchers.map((matcher) => {
    if (typeof matcher === 'string') return createSafePredicate(createNamePredicate(matcher))
    if (isClass(matcher)) return createSafePredicate(createClassPredicate(matcher))
    return createSafePredicate(
      ({ error }) => matcher(error) === true,
      (thrown) => onThrow?.(thrown, matcher),
    )
  })
  return (error, classification) => {
    const chain = readCauseChain(error)
    return predicates.some((predicate) => predicate(chain, classification))
  }
}

const MATCHER_FORMAT = "an error class, a predicate or a name such as 'timeout', 'sql:40', 'grpc:ABORTED'"

function isMatcher(value: unknown): boolean {
  if (typeof value !== 'string') return typeof value === 'function'
  const grpcStatus = GRPC_PATTERN.exec(value)?.[1]
  return grpcStatus === undefined
    ? NAME_PATTERN.test(value) || SQL_PATTERN.test(value)
    : isGrpcStatusName(grpcStatus)
}

/** Returns a problem for each entry of a list that is not a matcher. `path` is that of the list. */
export function matcherProblems(path: string, value: unknown): OptionProblem[] {
  if (!Array.isArray(value)) return [optionProblem(path, `an array, each entry ${MATCHER_FORMAT}`, value)]
  return value.flatMap((entry, i) =>
    isMatcher(entry) ? [] : [optionProblem(`${path}[${i}]`, MATCHER_FORMAT, entry)],
  )
}
