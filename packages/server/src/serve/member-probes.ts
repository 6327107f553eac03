import { CONFIG_DEFAULTS } from '@holdfast/config'
import { createProxyFetch } from '@holdfast/proxy'
import { type Clock, type Member, Pool } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { HoldfastLike } from '../runtime-api.js'

/** How long a probe can take. */
const PROBE_TIMEOUT_MS = 10_000

/** How many probes run at a time. */
const MAX_CONCURRENT_PROBES = 16

/** Probes that run until they are closed. */
export interface MemberProbes {
  close(): void
}

/** Requests a URL through one member. True for every response but a server error or a rejected credential. */
async function isMemberReachable(member: Member, url: string, signal: AbortSignal): Promise<boolean> {
  const pool = new Pool({ id: 'probe', members: [{ id: member.id, value: member.value }] })
  const get = createProxyFetch(pool, { retry: false, timeout: { attempt: PROBE_TIMEOUT_MS } })
  const response = await get(url, { signal, redirect: 'manual' })
  await response.body?.cancel()
  return response.status < 500 && response.status !== 407
}

/**
 * Probes members whose breaker is not closed, as configured by `pools.ID.probe`, so that they recover without traffic. The
 * outcome of each probe is recorded by the breaker of the member.
 */
export function startMemberProbes(hf: HoldfastLike, clock: Clock = systemClock): MemberProbes {
  const controller = new AbortController()
  const { signal } = controller
  const timers = new Set<unknown>()

  const probePool = async (poolId: string, url: string): Promise<void> => {
    const pool = hf.pools.get(poolId)
    const due = pool.members().filter(({ id }) => pool.breaker(id).state !== 'closed')
    const probeNext = async (): Promise<void> => {
      for (let member = due.pop(); member !== undefined && !signal.aborted; member = due.pop()) {
        const permit = pool.breaker(member.id).admit()
        if (permit === undefined) continue
        try {
          if (await isMemberReachable(member, url, signal)) permit.success()
          else permit.failure()
        } catch (error) {
          if (signal.aborted) permit.ignore()
          else permit.failure(error)
        }
      }
    }
    await Promise.all(Array.from({ length: MAX_CONCURRENT_PROBES }, probeNext))
  }

  const scheduleRound = (poolId: string): void => {
    const wait = hf.config.current.pools?.[poolId]?.probe?.interval ?? CONFIG_DEFAULTS.pool.probeInterval
    const timer = clock.setTimer(() => {
      timers.delete(timer)
      const url = hf.config.current.pools?.[poolId]?.probe?.url
      // A pool that is gone, or that has no URL any more, keeps its timer, because the file can change back.
      const done = url === undefined ? Promise.resolve() : probePool(poolId, url).catch(() => {})
      void done.then(() => {
        if (!signal.aborted) scheduleRound(poolId)
      })
    }, wait)
    ;(timer as { unref?(): void } | undefined)?.unref?.()
    timers.add(timer)
  }

  const known = new Set<string>()
  const startNewPools = (): void => {
    for (const [id, { probe }] of Object.entries(hf.config.current.pools ?? {})) {
      if (probe === undefined || known.has(id)) continue
      known.add(id)
      scheduleRound(id)
    }
  }
  startNewPools()
  const off = hf.events.on('config_reloaded', startNewPools)
  return {
    close() {
      off()
      controller.abort()
      for (const timer of timers) clock.clearTimer(timer)
    },
  }
}
