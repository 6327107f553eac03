import { type ProxyCall, startProxy } from '@holdfast/proxy'
import { Holdfast, toWire } from '@holdfast/runtime'

/** The requests to the server process, and their results. */
export interface Questions {
  /** The ids of the members with an open breaker. */
  open(): Promise<string[]>
  /** How often a breaker has closed again. */
  taken(): Promise<number>
  /** Creates a policy, as an operator does. */
  put(): Promise<string>
  /** The metrics in the wire format. */
  metrics(): Promise<{ summary: Wired; byProxy: Wired; series: Wired }>
  stop(): Promise<void>
}

export type Wired = Record<string, unknown>

/** The messages of the server process. */
export type Message =
  | { type: 'ready'; proxies: string; spare: string }
  | { type: 'config_reloaded' | 'config_rejected' }
  | { type: 'answer'; number: number; answer: unknown }

/** The server process: a forward proxy for each of the two pools of the config file. */
export async function serve(file: string): Promise<void> {
  const say = (message: Message) => process.send?.(message)
  const hf = await Holdfast.open(file)
  const start = (pool: string) =>
    startProxy({
      port: 0,
      pool: hf.pools.get(pool),
      // The target of the requests is on this machine.
      allowPrivateTargets: true,
      guard: ({ policy }: ProxyCall) => hf.guard('collect', { pool, policy }),
    })
  const [proxies, spare] = await Promise.all([start('proxies'), start('spare')])
  let taken = 0
  hf.events.on('circuit_breaker_closed', () => taken++)
  hf.events.on('config_reloaded', () => say({ type: 'config_reloaded' }))
  hf.events.on('config_rejected', () => say({ type: 'config_rejected' }))

  const answers: Questions = {
    open: async () =>
      (await hf.breakers.list({ state: 'open', pool: 'proxies' })).map(({ proxyId }) => proxyId),
    taken: async () => taken,
    put: async () => {
      const policy = {
        id: 'patient',
        name: 'Up to twelve proxies',
        maxAttempts: 12,
        backoffType: 'immediate',
      } as const
      const put = await hf.policies.put(
        { ...policy, attemptTimeout: 3000 },
        { by: 'operator', reason: 'a new crawl' },
      )
      return put.id
    },
    metrics: async () => ({
      summary: toWire(await hf.metrics.summary()) as Wired,
      byProxy: toWire(await hf.metrics.byMember({ hours: 24 })) as Wired,
      series: toWire(await hf.metrics.timeseries({ hours: 24 })) as Wired,
    }),
    stop: async () => {
      await Promise.all([proxies.close(), spare.close()])
      await hf.close()
    },
  }
  process.on('message', ({ number, question }: { number: number; question: keyof Questions }) => {
    void answers[question]().then((answer) => {
      say({ type: 'answer', number, answer })
      if (question === 'stop') process.disconnect()
    })
  })
  // The parent process has ended or disconnected.
  process.on('disconnect', () => process.exit())
  say({ type: 'ready', proxies: proxies.url, spare: spare.url })
}
