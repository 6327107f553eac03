// One guard over three providers: pool, retries, budget, hedge, fallback.
import { guard, Pool, RetryBudget } from 'holdfast'
import type { Provider } from './providers.js'

export interface Models {
  readonly pool: Pool<Provider>
  readonly budget: RetryBudget
  ask(question: string): Promise<string>
  stream(question: string): Promise<AsyncIterable<string>>
}

/** Sends questions to one of the providers, and to the cheap one if all of them fail. */
export function guardModels(providers: Readonly<Record<string, Provider>>, cheap: Provider): Models {
  const pool = new Pool<Provider>({
    id: 'models',
    members: Object.entries(providers).map(([id, value]) => ({ id, value })),
    breaker: { failureThreshold: 3, timeoutDuration: '30s' },
    memberFaults: [401, 403, 429],
  })
  const budget = new RetryBudget({ ratio: 0.2, reservePerSecond: 1, window: '10s' })
  const shared = {
    pool,
    budget,
    retry: { maxAttempts: 3, backoffType: 'immediate' as const },
    timeout: { total: '20s' as const },
    // Longer than a healthy provider takes, even on a busy machine: each hedge costs a second request.
    hedge: { delay: '1s' as const },
  }
  const never = (): AbortSignal => new AbortController().signal
  // The fallback reads the question from the context of the call.
  const answers = guard({
    ...shared,
    fallback: (_error, { context }) => cheap.ask((context as { question: string }).question, never()),
  })
  const streams = guard({
    ...shared,
    fallback: (_error, { context }) => cheap.stream((context as { question: string }).question, never()),
  })
  return {
    pool,
    budget,
    ask: (question) =>
      answers.run(({ member, signal }) => member.value.ask(question, signal), { context: { question } }),
    stream: (question) =>
      streams.run(({ member, signal }) => member.value.stream(question, signal), { context: { question } }),
  }
}
