import { type ProxyCall, startProxy } from '@holdfast/proxy'
import { Holdfast, toWire } from '@holdfast/runtime'

/** What may be asked of the process that serves, and what it answers. */
export interface Questions {
  /** The ids of the members that are set aside. */
  open(): Promise<string[]>
  /** How often a member that was set aside was taken back. */
  taken(): Promise<number>
  /** Gives a policy to the runtime, as an operator would. */
  put(): Promise<string>
  /** The figures as other systems read them. */
  metrics(): Promise<{ summary: Wired; byProxy: Wired; series: Wired }>
  stop(): Promise<void>
}

export type Wired = Record<string, unknown>

/** What the process that serves says. */
export type Message =
  | { type: 'ready'; proxies: string; spare: string }
  | { type: 'config_reloaded' | 'config_rejected' }
  | { type: 'answer'; number: number; answer: unknown }

/** The process that serves: two pools of one file, each behind a proxy of its own. */
export async function serve(file: string): Promise<void> {
  const say = (message: Message) => process.send?.(message)
  const hf = await Holdfast.open(file)
  const start = (pool: string) =>
    startProxy({
      port: 0,
      pool: hf.pools.get(pool),
      // The place the requests go to is on this machine.
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
        { ...policy, attemptTimeout: 1000 },
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
  // Whoever started it is gone, or has no more to ask.
  process.on('disconnect', () => process.exit())
  say({ type: 'ready', proxies: proxies.url, spare: spare.url })
}
