import { show } from '../options.js'
import { chainOf } from './chain.js'
import { foreignTest, isTransientHttp, someNode, type Test } from './foreign.js'
import { grpcNameOf, isGrpcName } from './grpc.js'
import { sqlStateOf } from './sql.js'
import type { Bag, Classification } from './verdict.js'

/** An error class; an abstract one will do. */
type ErrorClass = abstract new (...args: never[]) => unknown

/**
 * What `retryOn`, `abortOn` and `failureOn` list: an error class, a name or a predicate.
 *
 * A name is the name of a class or of one of its ancestors, an error code that looks like an identifier, a kind, a category, a class of SQLSTATE
 * (`sql:23`), a gRPC status (`grpc:UNAVAILABLE`), or an exception of Python or Java that means the same
 * (`socket.timeout`). Classes and names also match what lies behind an error: its causes, the members of an
 * AggregateError. A predicate is asked about the error itself, and matches when it says `true`.
 *
 * A function counts as a class when it inherits from `Error` or its source begins with `class`; any other is a
 * predicate.
 */
// oxlint-disable-next-line no-explicit-any -- a predicate may know what its errors are
export type Matcher = string | ErrorClass | ((error: any) => boolean)

/** Whether an error, classified as given, matches a list. */
export type Match = (error: unknown, classification: Classification) => boolean

const NAME = /^[a-z_$][\w$]*(\.[a-z_$][\w$]*)*$/i
const SQL = /^sql:([\dA-Z]{2,5})$/
const GRPC = /^grpc:([A-Z_]+)$/

type Predicate = (error: unknown) => boolean

const isClass = (value: ErrorClass | Predicate): value is ErrorClass =>
  value === Error ||
  value.prototype instanceof Error ||
  /^class\b/.test(Function.prototype.toString.call(value))

/** Whether an error has a name or code, or its class or an ancestor of that has the name. */
function isNamed(node: Bag, name: string): boolean {
  for (let proto = node; proto !== null; proto = Object.getPrototypeOf(proto)) {
    if (proto.constructor?.name === name) return true
  }
  return hasName(node, name)
}

const hasName = ({ name, code }: Bag, wanted: string): boolean => name === wanted || code === wanted

function nameTest(name: string): Test {
  const sql = SQL.exec(name)?.[1]
  if (sql !== undefined) return someNode((node) => sqlStateOf(node)?.startsWith(sql))
  const grpc = GRPC.exec(name)?.[1]
  if (grpc !== undefined) return someNode((node) => grpcNameOf(node) === grpc)
  const foreign = foreignTest(name)
  return (chain, classification) => {
    const { kind, category, httpStatus } = classification
    const { nodes, refusal } = chain
    if (refusal === undefined && (kind === name || category === name || foreign?.(chain, classification)))
      return true
    if (foreign === isTransientHttp && httpStatus !== undefined) return false
    return nodes.some((node) => (node === refusal ? hasName : isNamed)(node, name))
  }
}

/** A refusal is an Error too, but only a class that means it asks for it. */
const classTest =
  (type: ErrorClass): Test =>
  ({ nodes, refusal }) =>
    nodes.some((node) => node instanceof type && (node !== refusal || type.prototype instanceof Error))

/** A test that fails on what cannot be looked at says no. */
const safe =
  (test: Test, onThrow?: (error: unknown) => void): Test =>
  (chain, classification) => {
    try {
      return test(chain, classification)
    } catch (thrown) {
      onThrow?.(thrown)
      return false
    }
  }

/**
 * Makes one function of a list of matchers. A predicate that throws matches nothing and is handed to `onThrow`. Behind
 * a refusal such as CIRCUIT_OPEN nothing is looked for, and the refusal itself matches by its code or class only.
 */
export function compileMatchers(
  matchers: readonly Matcher[],
  onThrow?: (error: unknown, predicate: (error: unknown) => boolean) => void,
): Match {
  const tests = matchers.map((matcher) => {
    if (typeof matcher === 'string') return safe(nameTest(matcher))
    if (isClass(matcher)) return safe(classTest(matcher))
    return safe(
      ({ error }) => matcher(error) === true,
      (thrown) => onThrow?.(thrown, matcher),
    )
  })
  return (error, classification) => {
    const chain = chainOf(error)
    return tests.some((test) => test(chain, classification))
  }
}

const TAKES = "an error class, a predicate or a name such as 'timeout', 'sql:40', 'grpc:ABORTED'"

function isMatcher(value: unknown): boolean {
  if (typeof value !== 'string') return typeof value === 'function'
  const grpc = GRPC.exec(value)?.[1]
  return grpc === undefined ? NAME.test(value) || SQL.test(value) : isGrpcName(grpc)
}

/** What is wrong with a list of matchers: a sentence for each entry that is none, naming it by `path`. */
export function matcherProblems(path: string, value: unknown): string[] {
  if (!Array.isArray(value)) return [`${path}: got ${show(value)}, takes an array, each entry ${TAKES}`]
  return value.flatMap((entry, i) =>
    isMatcher(entry) ? [] : [`${path}[${i}]: got ${show(entry)}, takes ${TAKES}`],
  )
}
