import { describe, expect, it } from 'vitest'
import { matcherProblems } from '../../src/classify/index.js'

const TAKES = "an error class, a predicate or a name such as 'timeout', 'sql:40', 'grpc:ABORTED'"

describe('a list of matchers', () => {
  it('is in order with classes, predicates and names', () => {
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
  ])('is no %o', (value, got) => {
    expect(matcherProblems('retry.retryOn', value)).toEqual([
      `retry.retryOn: got ${got}, takes an array, each entry ${TAKES}`,
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
  ])('has no entry %j', (entry) => {
    expect(matcherProblems('retry.abortOn', [entry])).toEqual([
      `retry.abortOn[0]: got ${JSON.stringify(entry)}, takes ${TAKES}`,
    ])
  })

  it('has every wrong entry named', () => {
    expect(matcherProblems('failureOn', ['ok', 3, null, Error, Symbol('s'), ['x'], {}])).toEqual([
      `failureOn[1]: got 3, takes ${TAKES}`,
      `failureOn[2]: got null, takes ${TAKES}`,
      `failureOn[4]: got Symbol(s), takes ${TAKES}`,
      `failureOn[5]: got ["x"], takes ${TAKES}`,
      `failureOn[6]: got an object, takes ${TAKES}`,
    ])
  })

  it('is read quickly, whatever is in it', () => {
    expect(matcherProblems('x', [`${'a.'.repeat(50_000)}!`])).toHaveLength(1)
  })
})
