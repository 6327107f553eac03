import { describe, expect, it } from 'vitest'
import { matcherProblems } from '../../src/classify/index.js'
import { formatProblem } from '../../src/options.js'

const TAKES = "an error class, a predicate or a name such as 'timeout', 'sql:40', 'grpc:ABORTED'"

describe('a list of matchers', () => {
  it('accepts classes, predicates and names', () => {
    const list = [
      Error,
      class Mine {},
      () => true,
      'ECONNRESET',
      'timeout',
      'transient',
      'socket.timeout',
      'java.sql.SQLException',
      '_private',
      '$odd1',
      'sql:23',
      'sql:40P01',
      'grpc:UNAVAILABLE',
      'grpc:OK',
    ]
    expect(matcherProblems('retry.retryOn', list)).toEqual([])
    expect(matcherProblems('retry.retryOn', [])).toEqual([])
  })

  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    ['ECONNRESET', '"ECONNRESET"'],
    [Error, 'a function'],
    [{ 0: 'x' }, 'an object'],
  ])('is not %o', (value, got) => {
    expect(matcherProblems('retry.retryOn', value).map(formatProblem)).toEqual([
      `retry.retryOn: expected an array, each entry ${TAKES}, got ${got}`,
    ])
  })

  it.each([
    '',
    ' ',
    'two words',
    '503',
    '1st',
    'a-b',
    '.a',
    'a.',
    'a..b',
    'a.1',
    'sql:',
    'sql:4',
    'sql:400011',
    'sql:40p01',
    'Xsql:40',
    'grpc:',
    'grpc:NOPE',
    'grpc:unavailable',
    'Xgrpc:ABORTED',
    'grpc:ABORTED ',
    'http:503',
  ])('rejects the entry %j', (entry) => {
    expect(matcherProblems('retry.abortOn', [entry]).map(formatProblem)).toEqual([
      `retry.abortOn[0]: expected ${TAKES}, got ${JSON.stringify(entry)}`,
    ])
  })

  it('reports every invalid entry', () => {
    expect(
      matcherProblems('failureOn', ['ok', 3, null, Error, Symbol('s'), ['x'], {}]).map(formatProblem),
    ).toEqual([
      `failureOn[1]: expected ${TAKES}, got 3`,
      `failureOn[2]: expected ${TAKES}, got null`,
      `failureOn[4]: expected ${TAKES}, got Symbol(s)`,
      `failureOn[5]: expected ${TAKES}, got ["x"]`,
      `failureOn[6]: expected ${TAKES}, got an object`,
    ])
  })

  it('is checked quickly for any contents', () => {
    expect(matcherProblems('x', [`${'a.'.repeat(50_000)}!`])).toHaveLength(1)
  })
})
