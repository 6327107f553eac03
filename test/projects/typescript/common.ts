import { startProxy } from '@holdfast/proxy'
import { Holdfast } from '@holdfast/runtime'
import { CircuitBreaker, guard, sessionOf } from 'holdfast'
import { Retry } from 'holdfast/decorators'
import { createFetch } from 'holdfast/http'
import { openai } from 'holdfast/presets'
import { retry } from 'holdfast/retry'
import { withTransaction } from 'holdfast/sql'
import { instrument } from 'holdfast/telemetry'
import { fakeClock } from 'holdfast/testing'
import { resilience } from 'holdfast/undici'

export const all = [
  Holdfast,
  startProxy,
  Retry,
  createFetch,
  openai,
  withTransaction,
  fakeClock,
  resilience,
  instrument,
]
export const value: Promise<number> = guard({ breaker: new CircuitBreaker({ id: 'a' }) }).run(() => 1)
export const attempts: number | undefined = sessionOf(new Error('x'))?.attempts.length
export const retried: Promise<number> = retry(() => 1)
