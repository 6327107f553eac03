import { describe, expect, it } from 'vitest'
import { check, wrong } from '../read.js'

const config = (pool: string, member: string) => `pools:
  p:
    circuit_breaker: { ${pool} }
    members:
      - url: http://a
        circuit_breaker: { ${member} }
`

describe('the breaker of a member, which has the other settings from its pool', () => {
  it('is checked with the settings of the pool, and the problem has a position', () => {
    const { problems } = check(config('timeout_duration: 300', 'max_timeout_duration: 60'))
    expect(problems).toEqual([
      {
        path: 'pools.p.members[0].circuit_breaker.max_timeout_duration',
        line: 7,
        column: 50,
        message: 'expected at least pools.p.circuit_breaker.timeout_duration (line 4), got 60',
      },
    ])
  })

  it.each([
    [
      'max_timeout_duration: 60',
      'timeout_duration: 300',
      'timeout_duration: expected at most pools.p.circuit_breaker.max_timeout_duration (line 4), got 300',
    ],
    [
      'timeout_duration: 10',
      'timeout_duration: 300, max_timeout_duration: 60',
      'max_timeout_duration: expected at least timeout_duration, got 60',
    ],
    ['', 'max_timeout_duration: 10', 'max_timeout_duration: expected at least timeout_duration, got 10'],
    ['', 'slow_call_rate: 0.5', 'slow_call_rate: expected slow_call_duration beside it, got nothing'],
  ])('is rejected: { %s } in the pool and { %s } in the member', (pool, member, message) => {
    expect(wrong(config(pool, member))).toEqual([`pools.p.members[0].circuit_breaker.${message}`])
  })

  it.each([
    ['timeout_duration: 5', 'max_timeout_duration: 10'],
    ['slow_call_rate: 0.5, slow_call_duration: 2', 'slow_call_rate: 0.9'],
    ['window_type: rolling', 'failure_rate: 0.5'],
  ])('is accepted: { %s } in the pool and { %s } in the member', (pool, member) => {
    expect(wrong(config(pool, member))).toEqual([])
  })

  it.each([
    'timeout_duration: 300, max_timeout_duration: 60',
    'slow_call_rate: 0.5',
    'failure_rate: 0.5, window_type: rolling',
  ])('has no problem that is one of the pool alone: { %s }', (pool) => {
    const problems = wrong(config(pool, 'failure_threshold: 2'))
    expect(problems).toEqual([expect.stringMatching(/^pools\.p\.circuit_breaker\./)])
  })
})
