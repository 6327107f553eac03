import type { CauseChain } from './cause-chain.js'
import { type Classification, type ErrorLike, PROGRAMMING_ERROR } from './classification.js'
import { byName } from './error-names.js'
import { bySqlState, sqlStateOf } from './sql.js'

/** Whether an error, given with its causes, matches a name. */
export type ChainPredicate = (chain: CauseChain, classification: Classification) => boolean

// @__NO_SIDE_EFFECTS__
export function anyNode(test: (node: ErrorLike) => unknown) {
  return ({ nodes }: CauseChain): boolean => nodes.some(test)
}

// @__NO_SIDE_EFFECTS__
function hasKind(expectedKind: string): ChainPredicate {
  return (_, { kind }) => kind === expectedKind
}

const isSystemError = anyNode(({ code }) => /^E(?!RR_)[A-Z]/.test(`${code}`))
const isProgrammingError = anyNode((node) => byName(node) === PROGRAMMING_ERROR)

/** The name of an HTTP client's error class matches errors that can be retried, not every response that the client throws. */
export const isTransientHttp: ChainPredicate = (_, { httpStatus, category }) =>
  httpStatus !== undefined && category === 'transient'

/** Exceptions of Python and Java, by which retry rules are often written, with the errors that they match here. */
const FOREIGN_ERRORS: readonly (readonly [names: string, ChainPredicate])[] = [
  ['TimeoutError socket.timeout DeadlineExceeded', hasKind('timeout')],
  ['ConnectionError NetworkError SocketException ConnectException EOFException', hasKind('network_error')],
  ['ResourceExhausted', hasKind('rate_limited')],
  ['PermissionError AccessDeniedError', hasKind('access_denied')],
  ['OSError IOError', (chain, { kind }) => kind === 'network_error' || isSystemError(chain)],
  ['SQLException', anyNode((node) => sqlStateOf(node) !== undefined)],
  [
    'SQLTransientConnectionException SQLTimeoutException',
    anyNode((node) => bySqlState(node)?.category === 'transient'),
  ],
  ['SQLIntegrityConstraintViolationException', anyNode((node) => sqlStateOf(node)?.startsWith('23'))],
  ['HttpError APIResponseError', isTransientHttp],
  [
    'IllegalArgumentException',
    (chain, { kind, category }) =>
      kind === 'validation' || (category === 'permanent' && isProgrammingError(chain)),
  ],
]

/** Returns the predicate of an exception's name, with or without its package; undefined where the name is unknown. */
export function foreignNamePredicate(name: string): ChainPredicate | undefined {
  const shortName = name.slice(name.lastIndexOf('.') + 1)
  return FOREIGN_ERRORS.find(([names]) =>
    names.split(' ').some((known) => known === name || known === shortName),
  )?.[1]
}
