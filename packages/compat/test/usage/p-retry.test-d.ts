// Compiled with p-retry and with ours: see tsconfig.json.
import pRetry, { AbortError, makeRetriable, type Options, type RetryContext } from 'p-retry'
import { expectTypeOf } from 'vitest'

interface NamedOptions extends Options {
  name: string
}

const options: NamedOptions = {
  name: 'orders',
  retries: Number.POSITIVE_INFINITY,
  signal: new AbortController().signal,
  unref: true,
  onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
    expectTypeOf([attemptNumber, retriesLeft]).toEqualTypeOf<number[]>()
    if (error instanceof AbortError) throw error.originalError
  },
  shouldRetry: (context: RetryContext) => context.error.name !== 'RangeError',
}
expectTypeOf(pRetry((attempt) => attempt.toFixed(), options)).toEqualTypeOf<Promise<string>>()
expectTypeOf(pRetry(async () => 1)).toEqualTypeOf<Promise<number>>()
expectTypeOf(new AbortError(new Error('x')).name).toEqualTypeOf<'AbortError'>()
expectTypeOf(makeRetriable(async (id: string, depth?: number) => id.length + (depth ?? 0))).toEqualTypeOf<
  (id: string, depth?: number) => Promise<number>
>()
const { ok } = await makeRetriable(fetch, { retries: 5 })('http://localhost')

export { ok }
