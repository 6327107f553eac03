import { createProxyFetch } from '@holdfast/proxy'
import { type Clock, type Member, Pool } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { HoldfastLike } from '../runtime-api.js'

/** How often, where the file says nothing, and how long a test may take. */
const PROBE_INTERVAL_MS = 30_000
const PROBE_TIMEOUT_MS = 10_000

/** How many tests run at a time. */
const MAX_CONCURRENT_PROBES = 16

/** Tests that run until they are stopped. */
export interface MemberProbes {
  close(): void
}

/** Asks for a url through one member. True where anything but a fault of the server came back. */
async function isMemberReachable(member: Member, url: string, signal: AbortSignal): Promise<boolean> {
  const probePool = new Pool({ id: 'probe', members: [{ id: member.id, value: member.value }] })
  const get = createProxyFetch(probePool, { retry: false, timeout: { attempt: PROBE_TIMEOUT_MS } })
  const answer = await get(url, { signal, redirect: 'manual' })
  await answer.body?.cancel()
  return answer.status < 500 && answer.status !== 407
}

/**
 * Tests members that were set aside, as `pools.ID.probe` says, so that they come back though no request comes by: each one
 * whose time is up is asked for the url, and its breaker told how that went.
 */
export function startMemberProbes(hf: HoldfastLike, clock: Clock = systemClock): MemberProbes {
  const controller = new AbortController()
  const { signal } = controller
  const timers = new Set<unknown>()

  const round = async (poolId: string, url: string): Promise<void> => {
    const pool = hf.pools.get(poolId)
    const due = pool.members().filter(({ id }) => pool.breaker(id).state !== 'closed')
    const next = async (): Promise<void> => {
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
    await Promise.all(Array.from({ length: MAX_CONCURRENT_PROBES }, next))
  }

  const every = (poolId: string): void => {
    const wait = hf.config.current.pools?.[poolId]?.probe?.interval ?? PROBE_INTERVAL_MS
    const timer = clock.setTimer(() => {
      timers.delete(timer)
      const url = hf.config.current.pools?.[poolId]?.probe?.url
      // A pool that is gone, or has no url any more, is asked again when its time comes: the file may change back.
      const done = url === undefined ? Promise.resolve() : round(poolId, url).catch(() => {})
      void done.then(() => {
        if (!signal.aborted) every(poolId)
      })
    }, wait)
    ;(timer as { unref?(): void } | undefined)?.unref?.()
    timers.add(timer)
  }

  const known = new Set<string>()
  const look = (): void => {
    for (const [id, { probe }] of Object.entries(hf.config.current.pools ?? {})) {
      if (probe === undefined || known.has(id)) continue
      known.add(id)
      every(id)
    }
  }
  look()
  const off = hf.events.on('config_reloaded', look)
  return {
    close() {
      off()
      controller.abort()
      for (const timer of timers) clock.clearTimer(timer)
    },
  }
}
