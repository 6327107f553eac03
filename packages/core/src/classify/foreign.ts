import type { Chain } from './chain.js'
import { byNames } from './names.js'
import { bySql, sqlStateOf } from './sql.js'
import { type Bag, type Classification, MISTAKE } from './verdict.js'

/** Tells whether an error, given with its causes, is meant by a name. */
export type Test = (chain: Chain, classification: Classification) => boolean

export const someNode =
  (test: (node: Bag) => unknown) =>
  ({ nodes }: Chain): boolean =>
    nodes.some(test)

const ofKind =
  (wanted: string): Test =>
  (_, { kind }) =>
    kind === wanted

const isSystem = someNode(({ code }) => /^E(?!RR_)[A-Z]/.test(`${code}`))
const isMistake = someNode((node) => byNames(node) === MISTAKE)

/** A client's error class stands for what is worth another try, not for every answer that the client throws. */
export const isTransientHttp: Test = (_, { httpStatus, category }) =>
  httpStatus !== undefined && category === 'transient'

/** What the exceptions of the other languages that retry rules are written in mean here. */
const TABLE: readonly (readonly [names: string, Test])[] = [
  ['TimeoutError socket.timeout DeadlineExceeded', ofKind('timeout')],
  ['ConnectionError NetworkError SocketException ConnectException EOFException', ofKind('network_error')],
  ['ResourceExhausted', ofKind('rate_limited')],
  ['PermissionError AccessDeniedError', ofKind('access_denied')],
  ['OSError IOError', (chain, { kind }) => kind === 'network_error' || isSystem(chain)],
  ['SQLException', someNode((node) => sqlStateOf(node) !== undefined)],
  [
    'SQLTransientConnectionException SQLTimeoutException',
    someNode((node) => bySql(node)?.category === 'transient'),
  ],
  ['SQLIntegrityConstraintViolationException', someNode((node) => sqlStateOf(node)?.startsWith('23'))],
  ['HttpError APIResponseError', isTransientHttp],
  [
    'IllegalArgumentException',
    (chain, { kind, category }) => kind === 'validation' || (category === 'permanent' && isMistake(chain)),
  ],
]

/** The test behind a name of another language, with or without the path of its package. */
export function foreignTest(name: string): Test | undefined {
  const last = name.slice(name.lastIndexOf('.') + 1)
  return TABLE.find(([names]) => names.split(' ').some((known) => known === name || known === last))?.[1]
}
